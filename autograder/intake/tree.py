"""The files under a path that an instructor named, be it a folder, an archive, or one file; archives in it are looked into once.

Links are not followed: a student could hand in a link to another's notebook. The path itself may be one, the instructor chose it.
"""

import errno
import os
import stat
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from autograder.intake import Unreadable, archives
from autograder.intake.words import shortened

MOST_FILES = 200_000
MOST_LEVELS = 16
MOST_BYTES = archives.OF_A_STUDENT.member
LITTER = ("__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini", "Icon\r")


@dataclass(frozen=True)
class File:
    """A file that may be read later: where it is on disk, and within which members of which archive."""

    root: Path
    on_disk: tuple[str, ...]
    """The way to it from `root`, or to the archive that holds it."""
    parts: tuple[str, ...]
    """The way to it as a reader sees it, archives unpacked."""
    inside: tuple[int, ...] = ()
    """Member numbers, from the outer archive to the inner one."""
    modified: datetime | None = None
    problem: str = ""
    """Why it cannot be read, "" when it can."""

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def shown(self) -> str:
        """Its path for people."""
        return shortened("/".join(self.parts), 120)

    def read(self) -> bytes:
        """Its bytes. Raises Unreadable with the reason when it cannot be read."""
        if self.problem:
            raise Unreadable(self.problem)
        if not self.inside:
            return _read(self.root, self.on_disk)
        content = archives.read(self.root.joinpath(*self.on_disk), self.inside[0], archives.OF_A_CLASS)
        for number in self.inside[1:]:
            content = archives.read(content, number, archives.OF_A_STUDENT)
        return content


def files(path: Path) -> list[File]:
    """Every file under `path` but litter, in the order of their names; links and what is refused have a `problem`.

    Raises ValueError when there is nothing at `path`, or no archive that can be opened.
    """
    if path.is_dir():
        return sorted(_in_folder(path.absolute()), key=lambda file: file.parts)
    if not path.exists():
        raise ValueError(f"there is no {path}")
    root = path.absolute().parent
    if archives.is_archive(path.name):
        try:
            return _in_archive(File(root, (path.name,), ()), archives.OF_A_CLASS)
        except Unreadable as error:
            raise ValueError(f"{path}: {error}") from None
    return [File(root, (path.name,), (path.name,), modified=_modified(path))]


def _in_folder(root: Path) -> list[File]:
    found: list[File] = []
    refused: list[OSError] = []
    for where, folders, names in os.walk(root, onerror=refused.append):
        here = Path(where).relative_to(root).parts
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        folders[:] = sorted(name for name in folders if not _is_litter(name) and name not in links)
        if len(here) >= MOST_LEVELS:
            folders.clear()
        for name in sorted([*names, *links]):
            if not _is_litter(name):
                found += _looked_into(_on_disk(root, (*here, name)))
        if len(found) > MOST_FILES:
            raise ValueError(f"{root} holds more than {MOST_FILES:,} files: name the folder with what was handed in")
    for error in refused:
        parts = Path(error.filename).relative_to(root).parts
        if not parts:
            raise ValueError(f"{root} cannot be read: {error.strerror}")
        found.append(File(root, parts, parts, problem=f"its folder cannot be read ({error.strerror})"))
    return found


def _on_disk(root: Path, parts: tuple[str, ...]) -> File:
    path = root.joinpath(*parts)
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        return File(root, parts, parts, problem=f"it cannot be read ({error.strerror})")
    problem = ""
    if stat.S_ISLNK(mode):
        problem = f"it is a symbolic link (to {shortened(os.readlink(path), 60)}), and links are not followed"
    elif not stat.S_ISREG(mode):
        problem = "it is a device or the like, not a file"
    return File(root, parts, parts, modified=_modified(path), problem=problem)


def _looked_into(file: File) -> list[File]:
    """The file, or what is in it if it is an archive."""
    if file.problem or not archives.is_archive(file.name):
        return [file]
    try:
        return _in_archive(file, archives.OF_A_CLASS if len(file.parts) == 1 else archives.OF_A_STUDENT)
    except Unreadable as error:
        return [replace(file, problem=f"the archive {shortened(file.name)}: {error}")]


def _in_archive(file: File, limits: archives.Limits) -> list[File]:
    """The files of an archive on disk, with those of the archives in it."""
    found = []
    for inner in _inner(file, archives.members(file.root.joinpath(*file.on_disk), limits)):
        if inner.problem or not archives.is_archive(inner.name):
            found.append(inner)
            continue
        try:
            packed_again = _inner(inner, archives.members(inner.read(), archives.OF_A_STUDENT))
        except Unreadable as error:
            found.append(replace(inner, problem=f"the archive {shortened(inner.name)}: {error}"))
            continue
        deeper = "an archive in an archive in an archive: not opened"
        found += [
            replace(one, problem=one.problem or deeper) if archives.is_archive(one.name) else one
            for one in packed_again
        ]
    return found


def _inner(file: File, members: list[archives.Member]) -> list[File]:
    """The members of an archive as files, without litter."""
    return [
        File(
            file.root,
            file.on_disk,
            (*file.parts, *member.parts),
            (*file.inside, member.number),
            member.modified,
            member.refused,
        )
        for member in members
        if member.parts and not any(_is_litter(part) for part in member.parts)
    ]


def _read(root: Path, parts: tuple[str, ...]) -> bytes:
    """A file on disk, if it is one and no link leads to it."""
    path = root
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise Unreadable("a symbolic link leads to it, and links are not followed")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise Unreadable("it is a device or the like, not a file")
            if about.st_size > MOST_BYTES:
                raise Unreadable(f"it has {about.st_size / 2**20:,.0f} MB; at most {MOST_BYTES / 2**20:,.0f} are read")
            return file.read(MOST_BYTES)
    except OSError as error:
        reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise Unreadable(f"it cannot be read ({reason})") from None


def _modified(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime)
    except (OSError, ValueError, OverflowError):
        return None


def _is_litter(name: str) -> bool:
    return name.startswith((".", "~$")) or name in LITTER
