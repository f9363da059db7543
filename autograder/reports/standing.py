"""Where each student stands in a lab: the state from the receipt and the points from the gradebook, put together once.

A person's points, extra credit and late penalties are in the gradebook alone; how a submission ended is in its receipt alone.
Points are final only when something was handed in and nobody is waited for. Until then there are none: a zero would be read
as a grade.
"""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.evidence import Receipt, State, Verdict
from autograder.records import lateness
from autograder.records.course import Course, known_as, load
from autograder.records.receipts import Receipts
from autograder.records.remarks import check_remark, state_remark
from autograder.reports.words import listed, number

QUIET = (Verdict.JUDGED, Verdict.NOT_REACHED)  # what has no remark of its own here


@dataclass(frozen=True)
class Item:
    """One graded cell in the gradebook."""

    score: float
    most: float
    by_hand: bool = False
    waiting: bool = False


@dataclass(frozen=True)
class Standing:
    """One student in one lab; `points` is None while they are not final."""

    student: str
    """As the receipt has it, or else as the gradebook does."""
    state: State
    most: float
    raw: float | None = None
    """Before the late penalty."""
    penalty: float = 0.0
    items: dict[str, Item] = field(default_factory=dict)
    receipt: Receipt | None = None
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    due: datetime | None = None
    submitted: datetime | None = None
    seconds_late: float = 0.0

    @property
    def waiting(self) -> list[str]:
        """The cells that a person has still to grade."""
        return [name for name, item in self.items.items() if item.waiting]

    @property
    def points(self) -> float | None:
        if self.state is State.NOT_SUBMITTED or self.waiting or self.raw is None:
            return None
        return max(0.0, self.raw - self.penalty)

    @property
    def comment(self) -> str:
        """The state and its reasons in words that a student may read; no hidden case is named."""
        said = [str(self.state)]
        if self.receipt is not None and self.state is not State.NOT_SUBMITTED:
            said += _reasons(self.receipt, self.state)
        if self.waiting:
            said.append(f"a person has still to grade {listed(self.waiting)}")
        if self.penalty:
            said.append(f"late: {number(self.penalty)} points taken off")
        return "; ".join(said)


def _reasons(receipt: Receipt, state: State) -> list[str]:
    """Why a submission is in its state, in words that a student may read."""
    remark = state_remark(receipt) if state is receipt.state else ""
    said = [remark.removeprefix(f"{state}: ")] if remark else []
    if state is State.UNREADABLE:
        return said
    said += [check_remark(check) for check in receipt.checks if check.verdict not in QUIET]
    not_reached = [f"check_{check.name}" for check in receipt.checks if check.verdict is Verdict.NOT_REACHED]
    return said + ([f"not reached: {listed(not_reached)}"] if not_reached else [])


def standings(course: Course | Path | str, lab: str) -> list[Standing]:
    """Every student of the gradebook, by name, with late penalties worked out again.

    Raises ValueError when a receipt cannot be trusted, or is not in the gradebook yet.
    """
    from autograder.records.gradebook import Book

    course = course if isinstance(course, Course) else load(course)
    found = Receipts(course.folder).all(lab)
    if found.faults:
        raise ValueError("; ".join(found.faults))
    with Book(course) as book:
        if pending := book.pending(found.receipts.values()):
            names = listed(receipt.student for receipt in pending)
            raise ValueError(f"the gradebook has not what was graded for {names}: run `autograder grade {lab}` again")
        book.penalise(lab)
    return _read(course, lab, {known_as(student): receipt for student, receipt in found.receipts.items()})


def _read(course: Course, lab: str, receipts: dict[str, Receipt]) -> list[Standing]:
    from nbgrader.api import Gradebook, SubmittedAssignment, SubmittedNotebook
    from sqlalchemy import select
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.orm import selectinload

    everything = selectinload(SubmittedAssignment.notebooks).selectinload(SubmittedNotebook.grades)
    try:
        with Gradebook(course.database, course.course_id) as gradebook:
            assignment = gradebook.find_assignment(lab)
            wanted = select(SubmittedAssignment).where(SubmittedAssignment.assignment_id == assignment.id)
            handed_in = {one.student_id: one for one in gradebook.db.scalars(wanted.options(everything))}
            cells = {
                cell.id: (cell.name, float(cell.max_score))
                for notebook in assignment.notebooks
                for cell in [*notebook.grade_cells, *notebook.task_cells]
            }
            return [
                _standing(student, assignment, handed_in.get(student.id), receipts.get(student.id), cells)
                for student in gradebook.students
            ]
    except SQLAlchemyError as error:
        raise ValueError(f"the gradebook cannot be read: {getattr(error, 'orig', None) or error}") from None


def _standing(
    student: Any, assignment: Any, submission: Any, receipt: Receipt | None, cells: dict[str, tuple[str, float]]
) -> Standing:
    """A student's standing; `cells` says by the gradebook's keys what each graded cell is called and worth."""
    person = {
        "student": receipt.student if receipt else student.id,
        "first_name": student.first_name or "",
        "last_name": student.last_name or "",
        "email": student.email or "",
        "receipt": receipt,
        "due": assignment.duedate,
        "most": sum(most for _, most in cells.values()),
    }
    if submission is None:
        return Standing(**person, state=State.NOT_SUBMITTED)
    items, raw = {}, 0.0
    for grade in (grade for notebook in submission.notebooks for grade in notebook.grades):
        name, most = cells[grade.cell_id]
        by_hand = grade.manual_score is not None or bool(grade.extra_credit)
        items[name] = Item(float(grade.score or 0.0), most, by_hand, bool(grade.needs_manual_grade))
        raw += items[name].score
    return Standing(
        **person | {"due": submission.duedate},
        state=_state(receipt, any(item.waiting for item in items.values())),
        raw=raw,
        penalty=sum(float(notebook.late_submission_penalty or 0.0) for notebook in submission.notebooks),
        items=items,
        submitted=submission.timestamp,
        seconds_late=lateness.seconds_late(submission),
    )


def _state(receipt: Receipt | None, waiting: bool) -> State:
    """A submission that ran through is graded once nobody is waited for; one that did not keeps its state."""
    ran = (State.GRADED, State.NEEDS_A_PERSON, State.NOT_SUBMITTED)
    if receipt is None or receipt.state in ran:
        return State.NEEDS_A_PERSON if waiting else State.GRADED
    return receipt.state
