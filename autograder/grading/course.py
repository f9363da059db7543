"""Grading a batch into a course: what must be graded, in how many processes, and what is kept of it, so that nothing is lost.

A submission whose receipt was made from the same file, lab, environment and sandbox is left alone. Each of the others is
graded in one of several workers, and recorded by this process alone: notebook, receipt, gradebook, in that order. Whatever
stops it, the next run finds what is there and goes on.
"""

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder.evidence import Receipt
from autograder.grading import cluster, scratch, workers
from autograder.grading.batch import Against, Graded, Task
from autograder.grading.grader import Basis, Standards
from autograder.grading.judge import Limits
from autograder.intake import Unreadable
from autograder.intake.found import Submission, look
from autograder.overlay.folder import Overlay, chosen
from autograder.records import notebooks, receipts
from autograder.records.course import Course, load
from autograder.records.gradebook import Book, Person, reconcile
from autograder.records.identity import course_key, key_for, key_of, seed_for
from autograder.sandbox import probe
from autograder.versions import keep, keep_overlay
from course_lib.files import replace_file

KEPT_AS = (".ipynb", ".py")


@dataclass(frozen=True)
class Line:
    """What is said about one submission: its receipt, and whether it was graded now or stood from before."""

    receipt: Receipt
    again: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wish:
    """How a batch is to be graded.

    jobs        how many submissions are graded at once by processes of this machine
    dask        the address of a Dask scheduler, whose workers grade in their place
    shard       (i, n): every n-th submission, from the i-th
    instructor  the folder of private overlays
    as_now      whether every notebook is graded against the lab as it is now, also one that was made for an older version
    """

    jobs: int = 1
    shard: tuple[int, int] = (1, 1)
    trusted: bool = False
    seed: int | None = None
    limits: Limits = field(default_factory=Limits)
    without: tuple[str, ...] = ()
    instructor: Path | None = None
    as_now: bool = False
    dask: str = ""


def grade_course(
    folder: Path,
    course: Path,
    paths: Sequence[Path],
    wish: Wish,
    say: Callable[[str], None] = lambda text: None,
    begin: Callable[[int], None] = lambda number: None,
) -> Generator[Line, None, None]:
    """Grades what is under `paths` for the lab of an author's `folder` into the nbgrader course at `course`.

    Yields a line for each submission, as it is recorded; `begin` is told how many there are to be graded now. Raises ValueError
    when there is nothing to grade, when the sandbox is too weak for what nobody vouches for, when another grader is at work in
    this course, and, once all others are done, for submissions that could not be graded.
    """
    report = probe(without=wish.without)
    if report.level == "D" and not wish.trusted:
        raise ValueError(f"level D: {report.why}. Grade with --trusted only what you would run yourself")
    say(f"level {report.level}: {report.why}")
    found = look(folder.name, paths)
    for note in found.notes:
        say(note)
    mine = found.submissions[wish.shard[0] - 1 :: wish.shard[1]]
    kept, course = load(course), course.resolve()
    overlay = chosen(wish.instructor, folder.name, course)
    instructor = wish.instructor and wish.instructor.resolve()
    basis = Basis(folder, report, wish.limits, course, instructor, wish.as_now)
    standards = Standards(basis)
    with receipts.locked(course):
        scratch.clear()
        for fault in _keep(folder, overlay, course):
            say(fault)
        store = receipts.Receipts(course)
        for fault in reconcile(kept, folder.name).faults:
            say(fault)
        key = course_key(course)
        waiting: dict[str, tuple[Submission, Task]] = {}
        for submission in mine:
            task = task_of(submission, key, folder.name, wish.seed)
            old = _kept(store, folder.name, submission.student)
            if old and key_of(old) == _key(task, standards.of(task)):
                yield Line(old, again=False)
            else:
                waiting[submission.student] = (submission, task)
        begin(len(waiting))
        tasks = [task for _, task in waiting.values()]
        with Book(kept) as book, contextlib.closing(_graded(basis, tasks, wish)) as results:
            for graded in results:
                submission, task = _asked_for(graded.receipt, waiting)
                moment, against = submission.timestamp, standards.of(task)
                if key_of(graded.receipt) != _key(task, against):
                    raise ValueError(
                        f"{task.student} was graded against something else: did the course change? Run again"
                    )
                _collect(kept, folder.name, task)
                left_out = notebooks.write(
                    kept,
                    graded.receipt,
                    graded.notebook,
                    graded.outputs,
                    moment,
                    against.hidden_names,
                    against.released,
                )
                store.write(graded.receipt)
                entered = book.enter(graded.receipt, _person(submission), moment, graded.answers)
                yield Line(
                    graded.receipt,
                    again=True,
                    notes=(*submission.notes, *standards.beside(task), *left_out, *entered.notes),
                )
            book.penalise(folder.name)


def _graded(basis: Basis, tasks: list[Task], wish: Wish) -> Generator[Graded, None, None]:
    return (
        cluster.graded(basis, tasks, wish.dask, wish.without) if wish.dask else workers.graded(basis, tasks, wish.jobs)
    )


def _asked_for(receipt: Receipt, waiting: dict[str, tuple[Submission, Task]]) -> tuple[Submission, Task]:
    if receipt.student not in waiting:
        raise ValueError(f"a receipt came for {receipt.student!r}, whom nobody asked about")
    return waiting[receipt.student]


def _keep(folder: Path, overlay: Overlay | None, course: Path) -> list[str]:
    """Keeps what is about to be graded against, so that its receipts can be made again; says why it could not."""
    if overlay is not None:
        keep_overlay(overlay.folder, overlay.digest, course)
    try:
        keep(folder, course)
    except ValueError as error:
        return [f"this version of the lab is not kept: {error}"]
    return []


def collected(course: Course, lab: str, receipt: Receipt) -> Task:
    """The submission behind a receipt, as the course keeps it. Raises ValueError where it is there no more, or another one."""
    where = course.path("submitted", receipt.student, lab)
    files = [where / f"{lab}{suffix}" for suffix in KEPT_AS if (where / f"{lab}{suffix}").is_file()]
    task = Task(receipt.student, files[0].name if files else "", files[0].read_bytes() if files else None, receipt.seed)
    if task.digest != receipt.content:
        raise ValueError(f"{where} does not hold what was graded for {receipt.student}: grade it again from its source")
    return task


def _collect(course: Course, lab: str, task: Task) -> None:
    """Keeps what was handed in where nbgrader keeps it, so that it can be graded again."""
    if task.content is None:
        return
    suffix = Path(task.name).suffix if Path(task.name).suffix in KEPT_AS else KEPT_AS[0]
    where = course.path("submitted", task.student, lab) / f"{lab}{suffix}"
    if not where.is_file() or where.read_bytes() != task.content:
        where.parent.mkdir(parents=True, exist_ok=True)
        replace_file(where, task.content)


def _kept(store: receipts.Receipts, lab: str, student: str) -> Receipt | None:
    """The receipt that is there; a torn or foreign one counts as none, and is made anew."""
    try:
        return store.read(lab, student)
    except ValueError:
        return None


def task_of(submission: Submission, key: bytes, lab: str, seed: int | None) -> Task:
    content: bytes | None = None
    problem = ""
    try:
        content = submission.read()
    except Unreadable as error:
        problem = str(error)
    task = Task(submission.student, submission.name, content, 0, problem)
    own = seed_for(key, lab, submission.student, task.digest) if seed is None else seed
    return replace(task, seed=own)


def _key(task: Task, against: Against) -> str:
    parts = (task.digest, against.version, against.environment, against.level, task.seed)
    return key_for(against.lab.name, task.student, *parts)


def _person(submission: Submission) -> Person:
    first, _, last = submission.student_name.rpartition(" ")
    return Person(first or None, last or None, submission.identifiers.get("email"))
