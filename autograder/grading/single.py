"""One submission at a time: what Gradescope asks for, and grading again what a course has kept."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.evidence import Receipt
from autograder.grading.course import collected, task_of
from autograder.grading.grader import Basis, Grader
from autograder.grading.pool import ZygoteError
from autograder.intake.found import Submission
from autograder.records.course import load
from autograder.records.identity import course_key
from autograder.records.receipts import Receipts
from autograder.sandbox import probe


def grade(folder: Path, submission: Submission, course: Path) -> Receipt:
    """Grades one submission of the lab in `folder`; `course` is the folder that holds the course's key.

    Raises ValueError where the sandbox is too weak for what nobody vouches for, or could not be put up.
    """
    report = probe()
    if report.level == "D":
        raise ValueError(f"the sandbox is too weak here: {report.why}")
    task = task_of(submission, course_key(course), folder.name, None)
    try:
        with Grader(Basis(folder, report)) as grader:
            return grader.grade(task).receipt
    except ZygoteError as error:
        raise ValueError(str(error)) from None


@contextlib.contextmanager
def regrading(folder: Path, course: Path) -> Iterator[Callable[[str], Receipt]]:
    """Gives a function that grades a student's kept submission again, under the seed of its receipt, and records nothing."""
    report = probe()
    if report.level == "D":
        raise ValueError(f"the sandbox is too weak here: {report.why}")
    kept, store = load(course), Receipts(course)
    with Grader(Basis(folder, report)) as grader:

        def again(student: str) -> Receipt:
            old = store.read(folder.name, student)
            if old is None:
                raise ValueError(f"{student} has no receipt for {folder.name}")
            return grader.grade(collected(kept, folder.name, old)).receipt

        yield again
