"""The student bundle: what is published, and where the badges of every notebook point.

It holds the lectures, the students' form of the labs, the figures, the library with the visible cases of its checks, and
what Binder and `make start` need. Answers, hidden cases, known-wrong answers, the grader and the tests stay in the
repository; before anything is written to its place, the bundle is searched for them.
"""

import ast
import json
import os
import re
import shutil
import stat
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course_lib.house import notebooks, sync
from course_lib.house.paths import root as course_root

# What is published, as patterns under the course's folder; a pattern may match nothing.
PUBLISHED = (
    ".gitignore",
    "LICENSE*",
    "Makefile",
    "README.md",
    "constraints.txt",
    "pyproject.toml",
    "binder/**/*",
    "course_lib/**/*",
    "figures/**/*.svg",
    "labs/**/*",
    "lectures/**/*",
)
LITTER = re.compile(r"^\.(?!gitignore$)|^__pycache__$|\.pyc$|\.egg-info$|~$")
PRIVATE = re.compile(r"(^|/)(solutions|autograder|tests|known_wrong|\.ci)(/|$)|(^|/)hidden\.py$|^labs/.*\.py$")
FOR_INSTRUCTORS = re.compile(r"<!-- instructors -->.*?<!-- /instructors -->\n*", re.DOTALL)
# A shorter line may stand anywhere ("return total"); a longer one that turns up is no accident.
TELLING = 16
EARLIEST = (1980, 1, 1, 0, 0, 0)


def make(target: Path | str, root: Path | None = None) -> None:
    """Writes the bundle to `target`, a folder or, when its name ends in .zip, an archive with one folder inside.

    Nothing is left at `target` unless all went well, and the same course gives the same bytes.

    Raises ValueError when `target` is there and not an empty folder, when a generated file is out of date, and when the bundle
    would give an answer away.
    """
    root = root or course_root()
    if root is None or not (root / "solutions").is_dir():
        raise ValueError("course bundle needs the course's own repository, with its solutions/")
    root, target = Path(root).resolve(), Path(target).absolute()
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise ValueError(f"target must be new or an empty folder, and {target} is not")
    if late := sync.run(root, check=True):
        raise ValueError(f"{late} generated file{'s' if late > 1 else ''} out of date: run `course sync` first")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
        folder = Path(scratch, target.stem if target.suffix == ".zip" else target.name)
        _fill(folder, root)
        if found := leaks(folder, root):
            raise ValueError("the bundle would give something away:\n" + "\n".join(found))
        if target.suffix == ".zip":
            folder = _zipped(folder)
        elif target.exists():
            target.rmdir()
        os.replace(folder, target)


def leaks(folder: Path, root: Path) -> list[str]:
    """What the bundle in `folder` gives away of the answers in `root`: one line for each, none for a clean bundle.

    A line of an answer or of a known-wrong answer counts when it is long enough to tell and the release does not show it
    anyway. The library's own code is open to read and may hold such a line; a run of three lines of a known-wrong answer
    or of hidden cases may not.
    """
    secrets = [secret for lab in sorted((root / "solutions").glob("*/checks.py")) for secret in _secrets(lab.parent)]
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if PRIVATE.search(name):
            found.append(f"{name}: a private file")
        lines = _lines(path)
        library = name.startswith("course_lib/") and path.suffix == ".py"
        if not library and any("### BEGIN SOLUTION" in line for line in lines):
            found.append(f"{name}: a solution's markers")
        for secret in secrets:
            line = secret.run_in(lines) if library else secret.line_in(lines)
            if line:
                found.append(f"{name}: {secret.kind} of {secret.lab}: {line}")
    return found


@dataclass(frozen=True)
class Secret:
    """Lines that must not be published, stripped and without empty ones; `shown` is text that students see anyway."""

    kind: Literal["answer", "known-wrong answer", "hidden asserts", "hidden cases", "name of a hidden case", "rubric"]
    lab: str
    lines: tuple[str, ...]
    shown: str = ""

    def line_in(self, lines: Sequence[str]) -> str | None:
        """The first line that `lines` give away: any telling one; of names, also a short one that is a whole line."""
        text = "\n".join(lines)
        whole = lines if self.kind == "name of a hidden case" else ()
        return next((line for line in self.lines if line in whole or (self._tells(line) and line in text)), None)

    def run_in(self, lines: Sequence[str]) -> str | None:
        """The first telling line of three in a row that stand so in `lines`; for the library's code."""
        if self.kind == "answer":
            return None
        there = {tuple(lines[i : i + 3]) for i in range(len(lines) - 2)}
        runs = [run for i in range(len(self.lines) - 2) if (run := self.lines[i : i + 3]) in there]
        return next((line for run in runs for line in run if self._tells(line)), None)

    def _tells(self, line: str) -> bool:
        return len(line) >= TELLING and not line.startswith(("import ", "from ")) and line not in self.shown


def _fill(folder: Path, root: Path) -> None:
    """Copies what is published from `root` into the new `folder`."""
    for path in _published(root):
        copy = folder / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        os.chmod(copy, 0o755 if os.access(path, os.X_OK) else 0o644)
    (folder / "pyproject.toml").write_text(_pyproject(root), encoding="utf-8", newline="\n")
    readme = FOR_INSTRUCTORS.sub("", (root / "README.md").read_text(encoding="utf-8"))
    badges = notebooks.home(root).badges("lectures/00_start.ipynb")
    readme = notebooks.BADGES.sub(lambda _: badges, readme)
    (folder / "README.md").write_text(readme, encoding="utf-8", newline="\n")


def _published(root: Path) -> list[Path]:
    found = {path for pattern in PUBLISHED for path in root.glob(pattern) if path.is_file()}
    sources = set((root / "lectures").glob("*.py"))
    return sorted(
        path for path in found - sources if not any(LITTER.search(part) for part in path.relative_to(root).parts)
    )


def _pyproject(root: Path) -> str:
    """The bundle's pyproject.toml: the library alone, without the extras and settings of authors."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project, tool = settings["project"], settings["tool"]
    for extra in ("grade", "dask", "test"):
        project["optional-dependencies"].pop(extra, None)
    project["scripts"].pop("autograder", None)
    tool["hatch"]["build"]["targets"].pop("sdist", None)
    tool["hatch"]["build"]["targets"]["wheel"]["packages"] = ["course_lib"]
    kept = {"build-system": settings["build-system"], "project": project}
    return "\n".join(_toml({**kept, "tool": {name: tool[name] for name in ("course", "hatch")}})).lstrip("\n") + "\n"


def _toml(table: dict, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Lines of TOML for nested tables of strings, booleans and lists of strings."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    if plain:
        yield from ("", f"[{'.'.join(_key(part) for part in path)}]")
    for key, value in plain.items():
        # A JSON string, list of strings or boolean is written the same way in TOML.
        yield f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}"
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _toml(value, (*path, key))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)


def _zipped(folder: Path) -> Path:
    """An archive of `folder`, beside it, with the dates left out, so that it depends on the content alone."""
    archive = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, which keeps the permission to execute
            entry.external_attr = (stat.S_IFREG | path.stat().st_mode & 0o777) << 16
            file.writestr(entry, path.read_bytes())
    return archive


def _secrets(folder: Path) -> Iterator[Secret]:
    """Everything in a lab's folder that students must find out themselves."""
    from course_lib.checks import labs
    from course_lib.checks.legacy.cell import Asserts
    from course_lib.house.release import SOLUTION, show_given

    lab = labs.load(folder)
    answers, public = [], []
    for cell in notebooks.read(folder / f"{lab.name}.py").cells:
        inside = SOLUTION.findall(cell.source)
        if "written" in cell.metadata and not inside:
            answers.append(cell.source)
        else:
            answers += inside
            public.append(show_given(SOLUTION.sub("", Asserts(cell.source).shown)))
    shown = "\n".join(public)
    for answer in answers:
        yield Secret("answer", lab.name, _stripped(answer), shown)
    for path in sorted((folder / "known_wrong").glob("*.py")):
        yield Secret("known-wrong answer", lab.name, _code(path), shown)
    if (folder / "hidden.py").exists():
        yield Secret("hidden cases", lab.name, _code(folder / "hidden.py"), (folder / "checks.py").read_text("utf-8"))
    for item in lab.written_items.values():
        yield Secret("rubric", lab.name, tuple(item.rubric), shown)
    for check in lab.checks.values():
        seen = {case.name for case in check.visible_cases()}
        names = (case.name for case in check.hidden_cases(seed=0) if case.name not in seen)
        yield Secret("name of a hidden case", lab.name, tuple(names))
        if check.asserts is not None:
            yield Secret("hidden asserts", lab.name, _stripped(check.asserts.not_shown), shown)


def _code(path: Path) -> tuple[str, ...]:
    """The lines of a file without its docstring, which names a mistake and is published with the cases."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    documented = ast.get_docstring(tree) is not None
    return _stripped("\n".join(source.splitlines()[tree.body[0].end_lineno if documented else 0 :]))


def _lines(path: Path) -> list[str]:
    """The lines of text in a file; of a JSON file, those of every string in it."""
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    if path.suffix in (".ipynb", ".json"):
        content = "\n".join(_strings(json.loads(content)))
    return list(_stripped(content))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def _stripped(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
