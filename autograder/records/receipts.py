"""The receipts of a course: one file a submission, replaced whole, under one lock.

    <course>/receipts/<lab>/<student>.json

A student's name becomes a file name that no name can lead astray and from which it can be read back. A file that was torn,
edited into nonsense or put there for somebody else is reported and not trusted. One grader writes at a time; its lock falls
when it ends, however it ends.
"""

import contextlib
import hashlib
import math
import os
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from autograder.evidence import CaseEvidence, CheckEvidence, Receipt
from course_lib.house import sync

FOLDER = "receipts"
LONGEST = 200  # bytes of a file's name, of the 255 that file systems allow
ROUNDING = 1e-9

_held: set[str] = set()


@dataclass(frozen=True)
class Found:
    """The receipts of a lab by student, and a line for each file that is none."""

    receipts: dict[str, Receipt] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


class Receipts:
    """The receipts of the course in `course`. Whoever writes holds `locked(course)`."""

    def __init__(self, course: Path | str) -> None:
        self.folder = Path(course) / FOLDER

    def path(self, lab: str, student: str) -> Path:
        return self.folder / _lab(lab) / file_name(student)

    def check(self, receipt: Receipt) -> Path:
        """Where a receipt would be kept. Raises ValueError when it cannot be: it is unsound, or the place is somebody else's."""
        if wrong := unsound(receipt):
            raise ValueError(f"the receipt of {receipt.student!r} cannot be kept: {wrong}")
        path = self.path(receipt.lab, receipt.student)
        other = None
        with contextlib.suppress(ValueError):
            other = _read(path).student if path.is_file() else None
        if other not in (None, receipt.student):
            raise ValueError(f"{path} is {other!r}'s, whose name differs from {receipt.student!r} in case alone")
        return path

    def write(self, receipt: Receipt) -> Path:
        """Keeps a receipt in place of the student's last one."""
        path = self.check(receipt)
        _make(self.folder)
        sync.write(path, receipt.to_json())
        return path

    def read(self, lab: str, student: str) -> Receipt | None:
        """A student's receipt, or None. Raises ValueError for a file that is none, or is somebody else's."""
        path = self.path(lab, student)
        return _own(path, lab) if os.path.lexists(path) else None

    def all(self, lab: str) -> Found:
        """Every receipt of a lab, in the order of their students' names."""
        found = Found()
        folder = self.folder / _lab(lab)
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in paths:
            if path.name.startswith("."):  # half of a file that was never put in place
                continue
            try:
                receipt = _own(path, lab)
            except ValueError as error:
                found.faults.append(str(error))
            else:
                found.receipts[receipt.student] = receipt
        return Found(dict(sorted(found.receipts.items())), found.faults)

    def sweep(self, lab: str) -> None:
        """Removes what a killed grader left half-written; only under the lock, or it may be another's work."""
        for path in (self.folder / _lab(lab)).glob(".*.json.*"):
            path.unlink(missing_ok=True)


def file_name(student: str) -> str:
    """A student's name as a file's: letters, digits and `@+-_.` stand for themselves, all else as `%2C` and the like.

    A name too long for a file keeps its beginning, and a digest tells it from others.
    """
    if not student:
        raise ValueError("a student's name needs at least one character")
    name = quote(student, safe="@+", errors="surrogatepass").replace("~", "%7E")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > LONGEST:
        digest = hashlib.sha256(student.encode(errors="surrogatepass")).hexdigest()
        name = re.sub(r"%.?$", "", name[: LONGEST - len(digest) - 1]) + "~" + digest
    return name + ".json"


def student_of(path: Path) -> str:
    """The student whose receipt a file is named for; only the beginning of a name that was too long."""
    return unquote(path.name.removesuffix(".json").partition("~")[0], errors="replace")


@contextlib.contextmanager
def locked(course: Path | str, wait: float = 0.0) -> Iterator[None]:
    """Holds the course for one grader. Raises ValueError, naming the other, when it is still held after `wait` seconds.

    The lock belongs to this process: a child that outlives it does not keep it.
    """
    import fcntl  # Unix alone has it, and reading receipts needs none

    folder = Path(course) / FOLDER
    _make(folder)
    path = folder.resolve() / ".lock"
    if str(path) in _held:
        raise ValueError(f"this process already grades in {course}")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= end:
                    other = os.read(descriptor, 200).decode(errors="replace").strip() or "unknown"
                    raise ValueError(
                        f"another grader ({other}) is at work in {course}: wait until it has ended, or stop it"
                    ) from None
                time.sleep(0.05)
            except OSError as error:
                raise ValueError(
                    f"{path} cannot be locked ({error.strerror}): keep the course on a local disk"
                ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        _held.add(str(path))
        try:
            yield
        finally:
            _held.discard(str(path))
    finally:
        os.close(descriptor)


def unsound(receipt: Receipt) -> str:
    """What is wrong with a receipt's values, or ""; a file may hold anything under the right keys."""
    texts = [receipt.lab, receipt.student, receipt.version, receipt.content, receipt.environment, receipt.level]
    if not all(isinstance(text, str) for text in [*texts, *receipt.notes]):
        return "what must be a text is none"
    if type(receipt.seed) is not int or receipt.seed < 0:
        return f"the seed is {receipt.seed!r}"
    if not isinstance(receipt.written, dict) or not all(
        isinstance(name, str) and isinstance(answered, bool) for name, answered in receipt.written.items()
    ):
        return "its written items are not names and whether they were answered"
    if len({check.name for check in receipt.checks}) < len(receipt.checks):
        return "it has two checks of one name"
    return next((wrong for check in receipt.checks if (wrong := _unsound_check(check))), "")


def _unsound_check(check: CheckEvidence) -> str:
    if not isinstance(check.name, str) or not isinstance(check.mistake, str):
        return "what must be a text is none"
    if not all(type(number) in (int, float) and math.isfinite(number) for number in (check.points, check.score)):
        return f"{check.name} has {check.score!r} of {check.points!r} points"
    if not 0 <= check.score <= check.points + ROUNDING:
        return f"{check.name} has {check.score:g} of {check.points:g} points"
    if not all(map(_is_case, check.cases)):
        return f"a case of {check.name} is none"
    if not isinstance(check.shared, bool):
        return f"{check.name} does not say whether it was judged in the student's own process"
    return ""


def _is_case(case: CaseEvidence) -> bool:
    flags = isinstance(case.passed, bool) and isinstance(case.hidden, bool)
    return flags and all(isinstance(text, str) for text in (case.name, case.said, case.group))


def _own(path: Path, lab: str) -> Receipt:
    """The receipt in a file, which must be of the lab and the student that the file is named for."""
    receipt = _read(path)
    if receipt.lab != lab or file_name(receipt.student) != path.name:
        raise ValueError(f"{path} is not trusted: it is the receipt of {receipt.student!r} for {receipt.lab}")
    return receipt


def _read(path: Path) -> Receipt:
    try:
        if path.is_symlink() or not path.is_file():
            raise ValueError("it is no plain file")
        receipt = Receipt.from_json(path.read_text(encoding="utf-8"))
        if wrong := unsound(receipt):
            raise ValueError(wrong)
        return receipt
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} (of {student_of(path)}) is not trusted: {error}; grade it again") from None


def _lab(lab: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", lab):
        raise ValueError(f"a lab's name is letters, digits and underscores, got {lab!r}")
    return lab


def _make(folder: Path) -> None:
    """Receipts hold hidden cases: nobody else on the machine needs to read them."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
