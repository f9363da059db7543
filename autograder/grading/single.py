"""One submission at a time: what Gradescope asks for, and grading again what a course has kept."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.evidence import Receipt
from autograder.grading.course import collected, task_of
from autograder.grading.grader import Basis, Grader
from autograder.grading.pool import ZygoteError
from autograder.intake.found import Submission
from autograder.overlay.folder import chosen
from autograder.records.course import load
from autograder.records.identity import course_key
from autograder.records.receipts import Receipts
from autograder.sandbox import probe


def grade(folder: Path, submission: Submission, course: Path, instructor: Path | None = None) -> Receipt:
    """Grades one submission of the lab in `folder`; `course` is the folder that holds the course's key.

    `instructor` is that of private overlays.

    Raises ValueError where the sandbox is too weak for what nobody vouches for, or could not be put up.
    """
    report = probe()
    if report.level == "D":
        raise ValueError(f"the sandbox is too weak here: {report.why}")
    task = task_of(submission, course_key(course), folder.name, None)
    try:
        with Grader(Basis(folder, report, course=course, instructor=instructor)) as grader:
            return grader.grade(task).receipt
    except ZygoteError as error:
        raise ValueError(str(error)) from None


@contextlib.contextmanager
def regrading(
    folder: Path, course: Path, instructor: Path | None = None, as_now: bool = False
) -> Iterator[Callable[[str], Receipt]]:
    """Gives a function that grades a student's kept submission again, under the seed of its receipt, and records nothing.

    Each is graded against the version of the lab, and with the overlay, that its receipt names; with `as_now`, against the lab
    as it is now, with the overlay as `instructor` holds it.
    """
    report = probe()
    if report.level == "D":
        raise ValueError(f"the sandbox is too weak here: {report.why}")
    kept, store = load(course), Receipts(course)
    if as_now:
        chosen(instructor, folder.name, course)  # which says that one is missing
    with Grader(Basis(folder, report, course=course, instructor=instructor, as_now=as_now)) as grader:

        def again(student: str) -> Receipt:
            old = store.read(folder.name, student)
            if old is None:
                raise ValueError(f"{student} has no receipt for {folder.name}")
            return grader.grade(collected(kept, folder.name, old), "" if as_now else old.version).receipt

        yield again
