"""An nbgrader course on disk: its configuration, its gradebook's address and its folders, as nbgrader itself reads them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST_NAME = 128  # of a student, in nbgrader's gradebook
LONGEST_FILE = 255  # bytes of a file's name
MARKS = frozenset('/\\~%?#&<>"')


@dataclass(frozen=True)
class Course:
    """`folder` holds `nbgrader_config.py`; `database` is an SQLAlchemy URL; `config` is what traitlets read."""

    folder: Path
    database: str
    course_id: str
    config: Any
    directory: Any

    def path(self, step: str, student: str, lab: str) -> Path:
        """The folder of a lab in one of nbgrader's steps ("release", "autograded", …); the student of a release is "."."""
        name = getattr(self.directory, f"{step}_directory")
        return Path(self.directory.format_path(name, student if student == "." else known_as(student), lab))


def load(folder: Path | str) -> Course:
    """The course in `folder`. Raises ValueError when there is none, or its configuration is of another place."""
    from nbgrader.coursedir import CourseDirectory
    from traitlets import TraitError
    from traitlets.config import PyFileConfigLoader

    folder = Path(folder).resolve()
    path = folder / "nbgrader_config.py"
    if not path.is_file():
        raise ValueError(
            f"{folder} is no nbgrader course (nbgrader_config.py is missing): run `autograder release` first"
        )
    try:
        config = PyFileConfigLoader(path.name, path=str(folder)).load_config()
        if not config.CourseDirectory.root:
            config.CourseDirectory.root = str(folder)
        directory = CourseDirectory(config=config)
        root = Path(directory.root).resolve()
    except (Exception, TraitError) as error:  # the file is Python, and may raise anything
        raise ValueError(f"{path} cannot be read: {type(error).__name__}: {error}") from None
    if root != folder:
        raise ValueError(
            f"{path} says that the course's root is {root}: it was moved or copied; write {str(folder)!r} there"
        )
    database = _within(folder, directory.db_url)
    return Course(folder, database, directory.course_id or "default_course", config, directory)


def known_as(student: str) -> str:
    """The name under which nbgrader knows a student: their own, unless that cannot be the name of a folder.

    nbgrader finds a student's files in a folder of that name, and formgrader puts it into pages and addresses as it is. What
    would lead elsewhere, hide the folder, end a line or begin a tag is written as `~2F` and the like; so is `~`, so that no two
    students share a name. One that is too long keeps its beginning, and a digest tells it from others.

    Raises ValueError for a name without a letter.
    """
    if not student:
        raise ValueError("a student's name needs at least one character")
    name = "".join(letter if _fits(letter) else _in_hexadecimals(letter) for letter in student)
    name = _in_hexadecimals(".") + name[1:] if name.startswith(".") else name
    if len(name) > LONGEST_NAME or len(name.encode()) > LONGEST_FILE:
        digest = hashlib.sha256(student.encode(errors="surrogatepass")).hexdigest()[:16]
        name = f"{name.encode()[: LONGEST_NAME - len(digest) - 2].decode(errors='ignore')}~~{digest}"
    return name


def _fits(letter: str) -> bool:
    return letter.isprintable() and letter not in MARKS


def _in_hexadecimals(letter: str) -> str:
    return "".join(f"~{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))


def _within(folder: Path, address: str) -> str:
    """A gradebook's address; a file's path is read from the course's folder, in which nbgrader is run."""
    prefix, path = "sqlite:///", address.removeprefix("sqlite:///")
    if not address.startswith(prefix) or not path or path.startswith((":memory:", "file:")):
        return address
    return prefix + str(folder / path)
