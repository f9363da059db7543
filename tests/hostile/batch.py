"""Grades the corpus as one batch, and says of each entry whether the grade, the state and the world are as they must be.

The submissions lie in an nbgrader course, and go the whole way: found, read, repaired, aligned, run, judged, and saved as the
notebook that formgrader shows. After each one the ground is looked over, and nothing of it may be left.
"""

import contextlib
import ctypes
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.evidence import Receipt
from autograder.grading.batch import Against, Graded, Task, grade
from autograder.grading.judge import Limits
from autograder.grading.pool import DEFAULT, Zygote
from autograder.intake import Unreadable
from autograder.intake.found import Submission, find
from autograder.records import notebooks
from autograder.records.course import Course, load
from autograder.sandbox import Report, make_undumpable
from course_lib.checks import labs
from tests.hostile.entry import Entry, Link
from tests.hostile.ground import Ground, ground, remove
from tests.hostile.rows import Row
from tests.hostile.workshop import LABS, packed, released, source

LIMITS = Limits(cell=2.0, notebook=8.0, check=2.0)
MOST_SECONDS = LIMITS.notebook + 6 * LIMITS.check
"""More than this a notebook of six checks cannot take, if deadlines hold."""
MOST_MEMORY = 512
"""MB that the judge may take for one submission: what is sent to it is capped, and it is to keep no more than a few copies."""
POLICY = replace(DEFAULT, memory_bytes=3 << 30, total_bytes=3 << 29)
SEED = 20_261_130
PR_SET_CHILD_SUBREAPER = 36
CONFIG = "c = get_config()\nc.CourseDirectory.root = {root!r}\n"


def run(entries: Sequence[Entry], report: Report) -> Iterator[Row]:
    """Grades the entries behind the sandbox of `report`, one by one, lab by lab. For a process that does nothing else."""
    for lab in dict.fromkeys(entry.lab for entry in entries):
        yield from _run([entry for entry in entries if entry.lab == lab], lab, report)


def _run(entries: Sequence[Entry], lab: str, report: Report) -> Iterator[Row]:
    make_undumpable()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what detaches itself is found below this process
    against = _against(lab, report)
    with ground(packed(source(lab)), lab) as here, _temporary_files() as elsewhere:
        course = _course(here, lab)
        students = _hand_in(entries, here)
        found = {submission.student: submission for submission in find(lab, [here.course / "submitted"])}
        waiting = list(zip(entries, students, strict=True))[::-1]
        while waiting:
            with Zygote(against.lab, report, POLICY) as zygote:
                watch = Watch(here, elsewhere)
                while waiting:
                    entry, student = waiting.pop()
                    start = time.perf_counter()
                    try:
                        graded = grade(_task(found[student]), against, zygote)
                    except Exception as error:
                        # A submission that does this ends a real batch: the worst that it can do.
                        wrong = [f"the grader failed: {type(error).__name__}: {error}"[:200]]
                        yield _row(entry, 0.0, "none", report.level, 0.0, wrong=wrong)
                        break
                    seconds = time.perf_counter() - start
                    traces = watch.faults()
                    shown, saving = _saved(course, graded, student)
                    leaks = [f"the {thing} was leaked" for thing in here.leaks(shown)]
                    here.settle()
                    got = graded.receipt
                    yield _row(
                        entry,
                        got.score,
                        str(got.state),
                        got.level,
                        seconds,
                        wrong=[*saving, *_faults(entry, got, shown)],
                        leaks=leaks
                        + [f"its notebook shows {text!r}" for text in _hidden(entry, against) if text in shown],
                        traces=traces,
                        late=[f"took {seconds:.1f} s"] if seconds > MOST_SECONDS else [],
                    )


def _row(entry: Entry, got: float, state: str, level: str, seconds: float, **faults: list[str]) -> Row:
    states = " or ".join(map(str, entry.states))
    return Row(entry.name, entry.total, got, state, states, level, seconds, entry.honest, **faults)


class Watch:
    """Sees what a submission leaves behind: processes, files, and memory that the judge had to take."""

    def __init__(self, here: Ground, elsewhere: Path) -> None:
        self._here, self._elsewhere = here, elsewhere
        self._processes, self._files, self._memory = below(os.getpid()), _files(elsewhere), _most_memory()

    def faults(self) -> list[str]:
        """What is new since the last time."""
        faults = [f"a process was left: {one}" for one in left(self._processes)]
        files, memory = _files(self._elsewhere), _most_memory()
        faults += [f"{path.name.rpartition('-')[0]}-… was left" for path in files - self._files]
        if memory - self._memory > MOST_MEMORY:
            faults.append(f"the judge took {memory - self._memory} MB")
        self._files, self._memory = files, memory
        return [*faults, *self._here.trespasses()]


def _files(elsewhere: Path) -> set[Path]:
    """What lies there, and in the folders of graders."""
    return {*elsewhere.iterdir(), *elsewhere.glob("course-grading-*/*")}


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _against(lab: str, report: Report) -> Against:
    folder = LABS / lab
    return Against(labs.load(folder), released(lab), labs.version(folder), "any", report.level, limits=LIMITS)


def _task(submission: Submission) -> Task:
    try:
        return Task(submission.student, submission.name, submission.read(), SEED, notes=submission.notes)
    except Unreadable as reason:
        return Task(submission.student, submission.name, None, SEED, str(reason), submission.notes)


def _hidden(entry: Entry, against: Against) -> list[str]:
    """What the saved notebook must not show."""
    return [*entry.never, *(case.name for check in against.lab.checks.values() for case in check.hidden_cases(SEED))]


def _faults(entry: Entry, receipt: Receipt, shown: str) -> list[str]:
    scores = {check.name: check for check in receipt.checks}
    faults = []
    for name, points in entry.points.items():
        check = scores[name]
        if check.score > points or (check.score < points and not entry.at_most):
            said = next((case.said for case in check.cases if not case.passed), "")
            faults.append(f"{name} scores {check.score:g} and not {points:g} ({check.verdict}{said and ': '}{said})")
    if receipt.state not in entry.states:
        wanted = " or ".join(repr(str(state)) for state in entry.states)
        faults.append(f"its state is {str(receipt.state)!r} and not {wanted} {receipt.notes[-1:] or ''}")
    return faults + [f"its notebook does not show {text!r}" for text in entry.shows if text not in shown]


def _saved(course: Course, graded: Graded, student: str) -> tuple[str, list[str]]:
    """What the notebook shows as it is saved, and what went wrong when records were made of it."""
    try:
        text = graded.receipt.to_json().encode().decode()
        faults = [] if Receipt.from_json(text) == graded.receipt else ["its receipt is read back as another"]
        notebooks.write(course, graded.receipt, graded.notebook, graded.outputs)
    except Exception as error:
        return "", [f"no records could be made of it: {type(error).__name__}: {error}"]
    lab = graded.receipt.lab
    saved = json.loads((course.path("autograded", student, lab) / f"{lab}.ipynb").read_text(encoding="utf-8"))
    return json.dumps([cell.get("outputs") for cell in saved["cells"]], ensure_ascii=False), faults


def _course(here: Ground, lab: str) -> Course:
    (here.course / "nbgrader_config.py").write_text(CONFIG.format(root=str(here.course)), encoding="utf-8")
    (here.course / "release" / lab / f"{lab}.ipynb").write_bytes(packed(released(lab)))
    return load(here.course)


def _hand_in(entries: Iterable[Entry], here: Ground) -> list[str]:
    """Lays the submissions into the course; returns whose each is."""
    students = []
    for entry in entries:
        folder = here.course / "submitted" / entry.known_as / entry.lab
        folder.mkdir(parents=True)
        students.append(entry.known_as)
        for name, content in entry.files(here).items():
            if isinstance(content, Link):
                folder.joinpath(name).symlink_to(content.target)
            else:
                folder.joinpath(name).write_bytes(content)
    here.settle()
    return students


@contextlib.contextmanager
def _temporary_files() -> Iterator[Path]:
    """A folder of this process's own for all temporary files, so that what is left of them is seen."""
    before = tempfile.tempdir
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="hostile-")))
    folder.chmod(0o755)
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        remove(folder)


def left(known: set[int]) -> list[str]:
    """The processes below this one that were not there before, if they are still there after a moment."""
    until = time.monotonic() + 1
    while (more := below(os.getpid()) - known) and time.monotonic() < until:
        for pid in more:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)
    return [f"{pid} {_command(pid)}" for pid in sorted(more)]


def below(pid: int) -> set[int]:
    """All processes that descend from this one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    found = {pid}
    while new := {child for child, parent in parents.items() if parent in found} - found:
        found |= new
    return found - {pid}


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:80]
    except OSError:
        return ""
