"""One submission at a time: what Gradescope asks for, and grading again what a course has kept."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.evidence import Receipt
from autograder.grading.batch import grade as grade_task
from autograder.grading.course import against, collected, task_of
from autograder.grading.judge import Limits
from autograder.grading.pool import Zygote, ZygoteError
from autograder.intake.found import Submission
from autograder.records.course import load
from autograder.records.identity import course_key
from autograder.records.receipts import Receipts
from autograder.sandbox import make_undumpable, probe


def grade(folder: Path, submission: Submission, course: Path) -> Receipt:
    """Grades one submission of the lab in `folder`; `course` is the folder that holds the course's key.

    Raises ValueError where the sandbox is too weak for what nobody vouches for, or could not be put up.
    """
    report = probe()
    if report.level == "D":
        raise ValueError(f"the sandbox is too weak here: {report.why}")
    make_undumpable()
    facts = against(folder, report, Limits())
    try:
        with Zygote(facts.lab, report) as zygote:
            return grade_task(task_of(submission, course_key(course), folder.name, None), facts, zygote).receipt
    except ZygoteError as error:
        raise ValueError(str(error)) from None


@contextlib.contextmanager
def regrading(folder: Path, course: Path) -> Iterator[Callable[[str], Receipt]]:
    """Gives a function that grades a student's kept submission again, under the seed of its receipt, and records nothing."""
    report = probe()
    if report.level == "D":
        raise ValueError(f"the sandbox is too weak here: {report.why}")
    make_undumpable()
    kept, store = load(course), Receipts(course)
    facts = against(folder, report, Limits())
    with Zygote(facts.lab, report) as zygote:

        def again(student: str) -> Receipt:
            old = store.read(folder.name, student)
            if old is None:
                raise ValueError(f"{student} has no receipt for {folder.name}")
            return grade_task(collected(kept, folder.name, old), facts, zygote).receipt

        yield again
