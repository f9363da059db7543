"""The versions of a lab that a course keeps, so that a notebook is graded against the checks that it was made for.

    <course>/versions/<lab>/<version>/<lab>/     the author's definitions, hidden cases too; the solution is not needed
    <course>/versions/<lab>/<version>/<lab>.ipynb    the notebook that was handed out
    <course>/versions/<lab>/<version>/<lab>.json     the visible cases as published, with what known mistakes give
    <course>/versions/<lab>/+<digest>/<lab>/     a private overlay (`autograder.overlay`) that submissions were graded with

A version is written whole, under another name first, and never changed afterwards. Its owner alone can read it.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from course_lib.checks import frozen, labs
from course_lib.checks.definition import Mistake

FOLDER = "versions"
VERSION = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class Edition:
    """A lab at one version: the author's `folder`, the notebook that was handed out, and the folder of the frozen cases."""

    folder: Path
    release: Path
    cases: Path
    version: str

    @property
    def lab(self) -> str:
        return self.folder.name

    @cached_property
    def released(self) -> Any:
        """The notebook that was handed out."""
        import nbformat

        return nbformat.read(self.release, as_version=4)

    @cached_property
    def mistakes(self) -> tuple[Mistake, ...]:
        """What known mistakes give on the visible cases."""
        return tuple(frozen.load(self.lab, self.cases).mistakes)


def current(folder: Path) -> Edition:
    """The lab of an author's `folder` as it is now."""
    root = folder.parents[1]
    release = root / "labs" / folder.name / f"{folder.name}.ipynb"
    return Edition(folder, release, root / "course_lib/checks/cases", labs.version(folder))


def keep(folder: Path, course: Path) -> Edition:
    """Keeps the lab of an author's `folder` as it is now, if the course does not have it yet.

    Raises ValueError when the released notebook or the frozen cases are of another version.
    """
    now = current(folder)
    if (found := find(course, now.lab, now.version)) is not None:
        return found
    frozen_cases = now.cases / f"{now.lab}.json"
    made_from = {_version_in(now.release, "metadata", "course"), _version_in(frozen_cases)}
    if made_from != {now.version}:
        raise ValueError(f"{now.lab} is not what its checks say: run `course sync` first")
    files = {f"{now.lab}/{path.name}": path for path in labs.definitions(folder)}
    files |= {now.release.name: now.release, frozen_cases.name: frozen_cases}
    _keep(_place(course, now.lab, now.version), files)
    return _edition(course, now.lab, now.version)


def find(course: Path, lab: str, version: str) -> Edition | None:
    """A version that the course keeps; None for any other text.

    Raises ValueError when what is kept is not what it was.
    """
    if not VERSION.fullmatch(version) or not _place(course, lab, version).is_dir():
        return None
    found = _edition(course, lab, version)
    if labs.version(found.folder) != version:
        raise ValueError(
            f"{found.folder.parent} was changed: restore it, or remove it to grade against the lab as it is"
        )
    return found


def keep_overlay(folder: Path, digest: str, course: Path) -> Path:
    """Keeps a private overlay of the lab that its folder is named for; returns the folder of the copy."""
    place = _place(course, folder.name, f"+{digest}")
    if not place.is_dir():
        files = {f"{folder.name}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*.py")}
        _keep(place, files)
    return place / folder.name


def find_overlay(course: Path, lab: str, digest: str) -> Path | None:
    """The folder of an overlay that the course keeps."""
    place = _place(course, lab, f"+{digest}") / lab
    return place if VERSION.fullmatch(digest) and place.is_dir() else None


def overlays(course: Path, lab: str) -> list[Path]:
    """The folders of every overlay of a lab that the course keeps."""
    return sorted(course.joinpath(FOLDER, lab).glob(f"+*/{lab}"))


def _place(course: Path, lab: str, name: str) -> Path:
    return Path(course) / FOLDER / lab / name


def _edition(course: Path, lab: str, version: str) -> Edition:
    place = _place(course, lab, version)
    return Edition(place / lab, place / f"{lab}.ipynb", place, version)


def _keep(place: Path, files: Mapping[str, Path]) -> None:
    """Copies files into a new folder `place`; of two processes that do so at once, the first one's stays."""
    course = place.parents[2]
    for folder in (course / FOLDER, place.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=place.parent, prefix=".new."))  # which nobody else can enter
    try:
        for name, path in files.items():
            copy = scratch / name
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o600)
        _settled([scratch, *scratch.rglob("*")])
        try:
            os.rename(scratch, place)
        except OSError:
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _settled(paths: Iterable[Path]) -> None:
    """Returns when these files and folders are on the disk: a name that is there must not stand for half of what it names."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _version_in(path: Path, *where: str) -> str:
    """The version that a generated file says it was made from, "" for none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        for key in where:
            found = found[key]
        return str(found["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
