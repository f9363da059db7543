"""A released lab, a batch that is handed in for it, and what a test looks at: what is kept, and what a grader leaves behind."""

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from unittest import mock

import nbformat

from autograder import release
from autograder.cli import main
from autograder.grading.scratch import PREFIX
from autograder.sandbox import processes
from autograder.sandbox.kernel import PR_SET_CHILD_SUBREAPER, prctl
from course_lib.house import sync
from tests.autograder.records.made_up import points
from tests.autograder.submissions import LAB, RELEASE, ROOT, SOURCE, answers

PATIENCE_S = 90.0
COMMAND = [sys.executable, "-c", "from autograder.cli import main; main()"]
SLOW = "import time\ntime.sleep(0.25)"


def released(course: Path) -> Path:
    """The course as `autograder release` leaves it. Other generated files may be out of date: they are not looked at."""
    with mock.patch.object(sync, "run", return_value=0):
        release.release(SOURCE, course)
    return course


def copied(course: Path, to: Path) -> Path:
    """The same course elsewhere, with the same key."""
    shutil.copytree(course, to)
    config = to / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8").replace(str(course), str(to)), encoding="utf-8")
    return to


def hand_in(folder: Path, number: int, slow: str = SLOW) -> list[str]:
    """Lays so many notebooks into a folder; returns whose they are. Every fourth is unreadable, and every fourth crashes.

    `slow` is run at each one's end.
    """
    folder.mkdir()
    students = [f"student {at:02d}" for at in range(number)]
    for at, student in enumerate(students):
        path = folder / f"{student}.ipynb"
        if at % 4 == 3:
            path.write_text(f"no notebook at all: {student}", encoding="utf-8")
        else:
            path.write_text(nbformat.writes(_notebook(student, at % 4 == 2, slow)), encoding="utf-8")
    return students


def _notebook(student: str, crashes: bool, slow: str) -> nbformat.NotebookNode:
    notebook = nbformat.read(RELEASE, as_version=4)
    texts = answers() | ({"softmax": "def softmax(x):\n    import os\n    os._exit(0)"} if crashes else {})
    for cell in notebook.cells:
        cell.source = texts.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    notebook.cells.append(nbformat.v4.new_code_cell(f"{slow}\nprint({student!r})", id="own"))
    return notebook


def kept(course: Path) -> dict[str, object]:
    """All that a course keeps of a batch, but for times: receipts and notebooks as bytes, points as the gradebook has them."""
    receipts = {path.name: path.read_bytes() for path in sorted((course / "receipts" / LAB).glob("[!.]*.json"))}
    notebooks = {str(path.relative_to(course)): path.read_bytes() for path in (course / "autograded").rglob("*.ipynb")}
    students = [json.loads(text)["student"] for text in receipts.values()]
    return {**receipts, **notebooks, **{student: points(course, student) for student in students}}


@dataclass(frozen=True)
class Place:
    """A folder for temporary files that everybody may enter, and the processes that were there before."""

    temporary: Path
    before: frozenset[int]

    def nothing_left(self, patience_s: float = PATIENCE_S) -> None:
        """Waits until every process that was started here has ended."""
        until(lambda: not left(self.before), f"processes were left: {left(self.before)}", patience_s)


@contextlib.contextmanager
def alone() -> Iterator[Place]:
    """A place in which what loses its parent becomes ours. Fails when a process or a grader's folder is left at its end."""
    folder = Path(os.path.realpath(tempfile.mkdtemp()))
    folder.chmod(0o755)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    place = Place(folder, frozenset(process.pid for process in processes.below(os.getpid())))
    try:
        yield place
        place.nothing_left()
        assert leftovers(folder) == []
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0)
        for pid in left(place.before):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def leftovers(temporary: Path) -> list[str]:
    """The folders of graders."""
    return [path.name for path in temporary.iterdir() if path.name.startswith(PREFIX)]


def left(but: frozenset[int]) -> list[int]:
    """The living processes below this one, but for those; the dead that nobody else waits for are let go."""
    for process in processes._table():
        if process.parent == os.getpid() and process.ended and process.pid not in but:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
    return [process.pid for process in processes.below(os.getpid()) if process.pid not in but]


def until(
    condition: Callable[[], object], otherwise: str = "it did not come to pass", patience_s: float = PATIENCE_S
) -> None:
    """Waits for a condition."""
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)


def started(course: Path, handed_in: Path, *words: str, temporary: Path) -> subprocess.Popen[str]:
    """`autograder grade`, in a process group of its own, as a shell starts it."""
    command = [*COMMAND, "grade", LAB, str(handed_in), "--course", str(course), *words]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


class Copy:
    """`autograder grade` in a copy of this process, which need not import it all again; `said` is what it says."""

    def __init__(self, course: Path, handed_in: Path, *words: str, temporary: Path) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
            _end_with(lambda: main(["grade", LAB, str(handed_in), "--course", str(course), *words]))
        os.close(writing)
        self.said = open(reading, encoding="utf-8")  # noqa: SIM115

    def ended(self, by: signal.Signals | None = None) -> tuple[int, str]:
        """Waits for its end, which a signal may bring; its status, and the rest of what it said."""
        if by is not None:
            os.killpg(self.pid, by)
        with self.said:
            rest = self.said.read() if by is not signal.SIGKILL else ""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), rest


def _end_with(work: Callable[[], object]) -> NoReturn:
    """Does `work` as a program's only one, and ends this process as Python ends it."""
    status: object = 70
    try:
        sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
        try:
            work()
        except SystemExit as ending:
            status = ending.code or 0
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status if isinstance(status, int) else 1)
