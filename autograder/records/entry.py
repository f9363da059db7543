"""One receipt as rows of nbgrader's gradebook: a submission, a grade for each graded cell, a comment for each answer.

What a person gave is theirs: manual points, comments and extra credit stay as they are. They are asked to look again when
what they graded has changed: the text of a written answer, or the automatic points that they had overruled.

    wanted   the automatic points of a graded cell; None for what a person grades
    fresh    whether this receipt is another than the last one; only then is anybody asked to look again
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from nbgrader.api import Comment, Grade, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from autograder.evidence import Receipt, State
from autograder.records import markup
from autograder.records.remarks import NO_RESPONSE, check_remark, shared_remark, state_remark

WITHOUT_POINTS = (State.UNREADABLE, State.CRASHED, State.TIMED_OUT, State.TAMPERED)
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Person:
    """What is known of a student beside the name that they are graded under."""

    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None


NOBODY_KNOWN = Person()


@dataclass(frozen=True)
class Entered:
    """What became of an entry: the points now in the gradebook, and what a person has to look at, in words."""

    student: str
    score: float
    late: float | None = None
    notes: tuple[str, ...] = ()


@dataclass
class Entry:
    """What is entered for one receipt. `before` holds the digests of the written answers that were entered last."""

    receipt: Receipt
    answers: Mapping[str, str] | None
    fresh: bool
    before: Mapping[str, str] | None
    notes: list[str] = field(default_factory=list)
    points: dict[str, float | None] = field(default_factory=dict)
    """What was wanted, by cell."""

    @property
    def digests(self) -> dict[str, str]:
        return answer_digests(self.receipt, self.answers)

    def wanted(self, cell: str, most: float) -> float | None:
        """The automatic points of a graded cell that is worth `most`; None when a person has to say."""
        checks = {check.name: check for check in self.receipt.checks}
        check = checks.get(cell.removeprefix("check_"))
        if check is not None:
            if abs(check.points - most) > TOLERANCE:
                self.notes.append(f"{cell} is worth {most:g} points now and was graded out of {check.points:g}")
                return None
            return float(check.score)
        if cell in self.receipt.written:
            return None if self.receipt.written[cell] else 0.0
        if self.receipt.state in WITHOUT_POINTS:
            return 0.0
        self.notes.append(f"{cell} is not in the version of the lab that was graded")
        return None

    def grade(self, row: Any, name: str, most: float) -> None:
        """Sets what is automatic in the grade of a cell, and whether a person should look."""
        self.points[name] = wanted = self.wanted(name, most)
        if row.auto_score == wanted and row.needs_manual_grade is not None and not self.fresh:
            return
        waiting = bool(row.needs_manual_grade)
        if row.manual_score is None:
            flag = wanted is None
        elif name in self.receipt.written or (self.before and name in self.before):
            flag = waiting or self.answer_changed(name)
        else:
            flag = waiting or row.auto_score != wanted
        if row.manual_score is not None and flag and not waiting:
            self.notes.append(f"{name} has changed since a person graded it")
        if row.auto_score != wanted:
            row.auto_score = wanted
        if row.needs_manual_grade != flag:
            row.needs_manual_grade = flag

    def answer_changed(self, name: str) -> bool:
        """Whether a written answer is another than the one that was entered last, as far as that is known."""
        return self.before is None or self.before.get(name) != self.digests.get(name)

    def comments(self, order: Sequence[str], answers: Sequence[str]) -> dict[str, str]:
        """The automatic comment of each answer cell. `order` names the lab's graded cells from top to bottom."""
        said: dict[str, list[str]] = {name: [] for name in answers}
        code = [name for name in order if name in said and name not in self.receipt.written] or list(answers)
        if code and (remark := state_remark(self.receipt)):
            said[code[0]].append(remark)
        for check in self.receipt.checks:
            remark, cell = "; ".join(filter(None, [check_remark(check), shared_remark(check)])), f"check_{check.name}"
            if remark and code:
                above = order[: order.index(cell)] if cell in order else []
                said[next((name for name in reversed(above) if name in code), code[0])].append(remark)
        for name, answered in self.receipt.written.items():
            if name in said and not answered and self.receipt.state is not State.UNREADABLE:
                said[name].append(NO_RESPONSE)
        return {name: "\n\n".join(lines) for name, lines in said.items()}


@dataclass(frozen=True)
class Sheet:
    """A notebook of a lab in the gradebook: what its cells are called and worth, by the gradebook's own keys."""

    key: str
    name: str
    graded: dict[str, tuple[str, float]]
    answers: dict[str, str]
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A lab in the gradebook, read once for a batch. `order` names its graded cells from top to bottom."""

    key: str
    sheets: tuple[Sheet, ...]
    order: tuple[str, ...]


def plan_of(assignment: Any, order: Sequence[str]) -> Plan:
    """The plan of an nbgrader assignment."""
    sheets = [
        Sheet(
            notebook.id,
            notebook.name,
            {cell.id: (cell.name, cell.max_score) for cell in notebook.grade_cells},
            {cell.id: cell.name for cell in notebook.solution_cells},
            tuple(cell.id for cell in notebook.task_cells),
        )
        for notebook in assignment.notebooks
    ]
    return Plan(assignment.id, tuple(sheets), tuple(order))


def submission_of(db: Any, plan: Plan, student: Any) -> Any:
    """A student's submission of a lab with a row for each cell of its notebooks, made where they are missing."""
    db.flush()
    found = db.scalar(
        select(SubmittedAssignment).where(
            SubmittedAssignment.assignment_id == plan.key, SubmittedAssignment.student_id == student.id
        )
    )
    if found is None:
        found = SubmittedAssignment(assignment_id=plan.key, student_id=student.id, notebooks=[])
        db.add(found)
    there = {notebook.notebook_id: notebook for notebook in found.notebooks}
    for sheet in plan.sheets:
        if sheet.key not in there:
            there[sheet.key] = SubmittedNotebook(notebook_id=sheet.key, grades=[], comments=[])
            found.notebooks.append(there[sheet.key])
        notebook = there[sheet.key]
        graded = {grade.cell_id for grade in notebook.grades}
        for cell in [*sheet.graded, *sheet.tasks]:
            if cell not in graded:
                notebook.grades.append(Grade(cell_id=cell))
        commented = {comment.cell_id for comment in notebook.comments}
        for cell in [*sheet.answers, *sheet.tasks]:
            if cell not in commented:
                notebook.comments.append(Comment(cell_id=cell))
    return found


def fill(entry: Entry, submission: Any, plan: Plan) -> None:
    """Sets the automatic parts of a submission's grades and comments."""
    sheet = next(sheet for sheet in plan.sheets if sheet.name == entry.receipt.lab)
    notebook = next(one for one in submission.notebooks if one.notebook_id == sheet.key)
    for row in notebook.grades:
        if row.cell_id in sheet.graded:
            entry.grade(row, *sheet.graded[row.cell_id])
    known = {name for name, _ in sheet.graded.values()}
    for check in entry.receipt.checks:
        if f"check_{check.name}" not in known:
            entry.notes.append(f"check_{check.name} ({check.points:g} points) is no longer in the gradebook")
    rows = {sheet.answers[row.cell_id]: row for row in notebook.comments if row.cell_id in sheet.answers}
    for name, said in entry.comments(plan.order, [name for name in plan.order if name in rows] or sorted(rows)).items():
        if (rows[name].auto_comment or "") != said:
            rows[name].auto_comment = said or None


def extend(submission: Any, extension: timedelta | None) -> None:
    """Gives a submission its extension. Without a due date nbgrader cannot add one to it, and there is nothing to extend."""
    if extension is not None and submission.assignment.duedate is not None and submission.extension != extension:
        submission.extension = extension


def answer_digests(receipt: Receipt, answers: Mapping[str, str] | None) -> dict[str, str]:
    """What tells one text of a written answer from another; the whole file's digest where the texts are not known."""
    if answers is None:
        return {name: receipt.content for name in receipt.written}
    return {
        # As it is kept in the autograded notebook, from which it may have to be read back.
        name: hashlib.sha256(markup.markdown(answers.get(name, "")).strip().encode(errors="replace")).hexdigest()
        for name in receipt.written
    }
