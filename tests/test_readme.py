"""What README and CONTRIBUTING show can be typed, what they link to is there, and every dependency has its reason."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import autograder.cli
import course_lib.house.cli

ROOT = Path(__file__).parents[1]
TEXTS = ("README.md", "CONTRIBUTING.md", "lectures/00_start.py")
# What stands in a path for a name that the reader chooses, and folders that only a reader has.
PLACE = re.compile(r"[A-Z]{2,}|\bname\b|_name\b|…")
READERS_OWN = {"submitted/", "handouts/"}


def shown(text: str, command: str) -> Iterator[list[str]]:
    """The arguments of each use of `command` in a code block or in backquotes, up to a comment."""
    code = re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL) + re.findall(r"`([^`\n]+)`", text)
    for line in "\n".join(code).splitlines():
        words = shlex.split(re.sub(r"^#? *\.venv/bin/", "", line), comments=True)
        if words[:1] == [command] and words[1:]:
            yield words[1:]


def uses(command: str, *names: str) -> list:
    """A parameter for each use of `command` in these texts."""
    found = {(name, *words) for name in names for words in shown((ROOT / name).read_text("utf-8"), command)}
    return [pytest.param(list(words), id=" ".join([name, command, *words])) for name, *words in sorted(found)]


def targets(makefile: str) -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))


def parse(command: click.Group, words: list[str]) -> None:
    """Reads these words as click would, and does nothing. Raises click's UsageError for a word that is not taken."""
    name, subcommand, rest = command.resolve_command(click.Context(command), words)
    if rest:  # a command's bare name stands in running text
        subcommand.make_context(name, rest)


# Commands


@pytest.mark.parametrize("words", uses("make", *TEXTS))
def test_a_make_line_names_a_target_and_variables_of_the_makefile(words):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = [word for word in words if "=" not in word]
    assert set(named) <= targets(makefile)
    for word in set(words) - set(named):
        assert f"$({word.partition('=')[0]})" in makefile


@pytest.mark.parametrize("words", uses("course", *TEXTS))
def test_a_course_line_is_one_that_the_command_takes(words):
    parse(course_lib.house.cli.main, words)


@pytest.mark.parametrize("words", uses("autograder", *TEXTS))
def test_an_autograder_line_is_one_that_the_command_takes(words):
    parse(autograder.cli.main, words)


@pytest.mark.parametrize("words", uses("nbgrader", *TEXTS))
def test_an_nbgrader_line_is_one_that_nbgrader_takes(words):
    from nbgrader.apps.nbgraderapp import NbGraderApp

    assert words[0] in NbGraderApp.subcommands


@pytest.mark.parametrize("words", uses("python3", *TEXTS))
def test_a_python_line_runs_a_file_that_is_there(words):
    assert (ROOT / words[0]).is_file()


def test_the_readme_shows_every_target_and_command_that_one_needs():
    text = (ROOT / "README.md").read_text("utf-8")
    for_readers = {name for name in targets((ROOT / "Makefile").read_text("utf-8")) if not name.startswith("env")}
    assert for_readers - {word for words in shown(text, "make") for word in words} <= {"help", "clean"}
    assert set(autograder.cli.main.commands) <= {words[0] for words in shown(text, "autograder")}
    assert {"map", "bundle"} <= {words[0] for words in shown(text, "course")}


def test_a_lab_that_the_readme_names_is_there():
    named = set(re.findall(r"\blab\d\d_\w+", (ROOT / "README.md").read_text("utf-8")))
    assert named
    assert named <= {path.name for path in (ROOT / "solutions").iterdir()}


# Links and files


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_what_a_text_links_to_or_names_as_a_file_is_there(name):
    text = (ROOT / name).read_text("utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)]
    named = re.findall(r"`([\w./-]+/[\w.-]*|[\w-]+\.(?:toml|txt|md))`", text)
    assert links or named
    named = [path for path in named if not PLACE.search(path) and path not in READERS_OWN]
    missing = [
        path for path in [*links, *named] if not (ROOT / path).exists() and not any(ROOT.glob(f"solutions/*/{path}"))
    ]
    assert missing == []


def test_the_parts_for_instructors_are_closed():
    marks = re.findall(r"<!-- (/?instructors) -->", (ROOT / "README.md").read_text("utf-8"))
    assert marks == ["instructors", "/instructors"] * (len(marks) // 2)
    assert marks


# Dependencies


def dependencies(table: str = "project") -> set[str]:
    """The packages that a table of pyproject.toml asks for, under any extra."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))[table]
    groups = [settings.get("requires", []), settings.get("dependencies", [])]
    groups += settings.get("optional-dependencies", {}).values()
    return {re.match(r"[\w.-]+", line)[0].lower() for group in groups for line in group}


def test_every_dependency_has_its_reason_and_every_reason_its_dependency():
    asked = {*dependencies(), *dependencies("build-system")}
    _, _, section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Dependencies")
    rows = [re.split(r" *\| *", row.strip("| ")) for row in section.splitlines() if row.startswith("|")][2:]
    explained = [name for row in rows for name in row[0].split(", ")]
    assert sorted(explained) == sorted(asked)
    for packages, what, rivals in rows:
        assert what, f"{packages}: what for?"
        assert rivals, f"{packages}: chosen over what?"


def test_every_dependency_has_one_version():
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), flags=re.MULTILINE)
    assert dependencies() <= {name.lower().replace("_", "-") for name in pins}
