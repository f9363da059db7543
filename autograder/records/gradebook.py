"""Enters receipts into nbgrader's gradebook, where formgrader, feedback and every export find the points.

A receipt is entered in one transaction, together with a mark that says which receipt it was. So a grader may be killed at
any moment: a receipt whose mark is missing or differs, or whose points are not what the gradebook has, is entered by the next
`reconcile`, and entering one twice changes nothing.

nbgrader shows comments at answers and not at check lines. What a check line could not judge is therefore said at the answer
before it, and what became of the submission as a whole at the first answer. Students read these comments in their feedback, so
no hidden case is ever named in them.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    Gradebook,
    InvalidEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from autograder.evidence import Receipt, State
from autograder.records import entry, lateness, marks, markup, notebooks
from autograder.records.course import Course, known_as, load
from autograder.records.entry import NOBODY_KNOWN, Entered, Person
from autograder.records.receipts import Receipts

BUSY_S = 5.0  # that SQLite itself waits for another writer before it says so
LONGEST_PAUSE_S = 0.5
Result = TypeVar("Result")


class Unusable(ValueError):
    """The gradebook cannot be reached or is not free: no receipt's fault."""


@dataclass(frozen=True)
class Reconciled:
    """The students whose receipts had to be entered, and a line for each thing that a person has to see to."""

    entered: list[str]
    faults: list[str]


class Book:
    """The gradebook of a course, open for a batch. `patience` is how many seconds to wait for others who write in it."""

    def __init__(self, course: Course | Path | str, patience: float = 60.0) -> None:
        self.course = course if isinstance(course, Course) else load(course)
        self._patience = patience
        self._penalties = lateness.Penalties(self.course)
        self._plans: dict[str, entry.Plan] = {}
        self._others_until = 0.0
        try:
            url = make_url(self.course.database)
        except SQLAlchemyError as error:
            raise ValueError(f"the course's db_url cannot be read: {error}") from None
        self._sqlite = url.get_backend_name() == "sqlite"
        if self._sqlite:
            path = Path(url.database or "")
            if url.database and (not path.exists() or not path.stat().st_size):
                raise ValueError(f"there is no gradebook at {path}: run `autograder release` first")
            if "timeout" not in url.query:
                url = url.update_query_dict({"timeout": str(min(patience, BUSY_S))})
        address = url.render_as_string(hide_password=False)
        self._gradebook: Any = None
        self._gradebook = self._patiently(lambda: Gradebook(address, self.course.course_id))
        self._patiently(lambda: marks.prepare(self._gradebook.engine))

    def close(self) -> None:
        self._gradebook.close()

    def __enter__(self) -> "Book":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def introduce(self, people: Mapping[str, Person]) -> None:
        """Enters students, so that one who hands nothing in is there too; names that a person has put right stay."""

        def work() -> None:
            for student, person in people.items():
                self._student(student, person)

        self._patiently(lambda: self._in_one(work))

    def students(self) -> list[str]:
        """Everybody it knows, by the names that nbgrader has for them."""
        return self._patiently(lambda: self._in_one(lambda: list(self._gradebook.db.scalars(select(Student.id)))))

    def enter(
        self,
        receipt: Receipt,
        person: Person = NOBODY_KNOWN,
        submitted: datetime | str | None = None,
        answers: Mapping[str, str] | None = None,
    ) -> Entered:
        """Enters a receipt; `answers` are the texts of its written items. Twice the same changes nothing.

        Raises ValueError when the gradebook does not know the lab, or is locked for longer than `patience`.
        """
        moment = lateness.instant(submitted)
        extension = self._granted(receipt.lab).get(known_as(receipt.student))
        return self._patiently(lambda: self._in_one(lambda: self._enter(receipt, person, moment, extension, answers)))

    def pending(self, receipts: Iterable[Receipt]) -> list[Receipt]:
        """Those of one lab's receipts that the gradebook has not, or not so."""
        receipts = list(receipts)
        return self._patiently(lambda: self._in_one(lambda: self._pending(receipts))) if receipts else []

    def penalise(self, lab: str) -> None:
        """Works every late penalty out again: a person's points, a due date or an extension may have changed."""
        granted = self._granted(lab)

        def work() -> None:
            for submission in self._assignment(lab).submissions:
                entry.extend(submission, granted.get(submission.student_id))
                self._penalise(submission)

        self._patiently(lambda: self._in_one(work))

    def set_due(self, lab: str, due: datetime | str | None) -> None:
        """Sets a lab's due date, for everybody."""
        moment = lateness.instant(due)

        def work() -> None:
            self._assignment(lab).duedate = moment

        self._patiently(lambda: self._in_one(work))
        self.penalise(lab)

    def _granted(self, lab: str) -> dict[str, timedelta]:
        """The extensions for a lab, by the names that nbgrader has for its students."""
        found = lateness.extensions(self.course.folder)
        return {known_as(student): extension for (of, student), extension in found.items() if of == lab}

    # What follows runs inside one transaction.

    def _assignment(self, lab: str) -> Any:
        found = self._gradebook.db.scalar(select(Assignment).where(Assignment.name == lab))
        if found is None or lab not in {notebook.name for notebook in found.notebooks}:
            raise ValueError(
                f"the gradebook of {self.course.folder} does not know {lab}: run `autograder release {lab}` first"
            )
        return found

    def _enter(
        self,
        receipt: Receipt,
        person: Person,
        moment: datetime | None,
        extension: timedelta | None,
        answers: Mapping[str, str] | None,
    ) -> Entered:
        db = self._gradebook.db
        plan = self._plan(receipt.lab)
        student = self._student(receipt.student, person)
        mark = marks.read(db, receipt)
        fresh = mark is None or mark.digest != marks.digest(receipt)
        if receipt.state is State.NOT_SUBMITTED:
            result, new = Entered(receipt.student, 0.0), marks.Mark(marks.digest(receipt))
        else:
            one = entry.Entry(receipt, answers, fresh, mark.answers if mark else None)
            submission = entry.submission_of(db, plan, student)
            if moment is not None and submission.timestamp != moment:
                submission.timestamp = moment
            entry.fill(one, submission, plan)
            db.flush()
            entry.extend(submission, extension)
            late = self._penalise(submission)
            db.refresh(submission, ["score"])
            result = Entered(receipt.student, submission.score, late, tuple(one.notes))
            new = marks.Mark(marks.digest(receipt), one.points, one.digests)
        if new != mark:
            marks.write(db, receipt, new)
        return result

    def _plan(self, lab: str) -> entry.Plan:
        """The lab as the gradebook has it, read once."""
        if lab not in self._plans:
            assignment = self._assignment(lab)
            order = [name for name, _ in notebooks.released_cells(self.course, lab)]
            self._plans[lab] = entry.plan_of(assignment, order)
        return self._plans[lab]

    def _student(self, student: str, person: Person) -> Any:
        db = self._gradebook.db
        name = known_as(student)
        found = db.get(Student, name)
        if found is None:
            found = Student(id=name)
            db.add(found)
        for field in ("first_name", "last_name", "email"):
            if not getattr(found, field) and getattr(person, field):
                # formgrader puts names into its pages as they are.
                setattr(found, field, markup.words(getattr(person, field)))
        return found

    def _penalise(self, submission: Any) -> float | None:
        """Sets the penalty of each notebook of a submission; returns their sum, None when it is not late."""
        late = lateness.seconds_late(submission)
        penalties = []
        for notebook in submission.notebooks:
            penalty = None
            if late:
                self._gradebook.db.refresh(notebook, ["score"])
                penalty = self._penalties.of(submission.student_id, notebook.score, late)
            if notebook.late_submission_penalty != penalty:
                notebook.late_submission_penalty = penalty
            penalties.append(penalty or 0.0)
        return sum(penalties) if late else None

    def _pending(self, receipts: list[Receipt]) -> list[Receipt]:
        db, lab = self._gradebook.db, receipts[0].lab
        self._assignment(lab)
        entered = marks.read_all(db, lab)
        points: dict[str, dict[str, float | None]] = {}
        found = db.execute(
            select(SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, BaseCell.id == Grade.cell_id)
            .where(Assignment.name == lab)
        )
        for student, cell, score in found:
            points.setdefault(student, {})[cell] = score
        return [one for one in receipts if not _is_entered(one, entered, points)]

    def _in_one(self, work: Callable[[], Result]) -> Result:
        """Does `work` in one transaction, which nobody else's writing can come between.

        Others get as much time as it took before the next one: SQLite keeps no queue, and a formgrader that finds the gradebook
        locked whenever it looks gives up.
        """
        db = self._gradebook.db
        time.sleep(max(0.0, self._others_until - time.monotonic()))
        start = time.monotonic()
        try:
            if self._sqlite:
                db.execute(text("BEGIN IMMEDIATE"))
            result = work()
            db.commit()
            return result
        except BaseException:
            db.rollback()
            raise
        finally:
            end = time.monotonic()
            self._others_until = end + min(end - start, LONGEST_PAUSE_S)

    def _patiently(self, work: Callable[[], Result]) -> Result:
        """Tries again while somebody else writes: formgrader, or another grader's shard."""
        end, pause = time.monotonic() + self._patience, 0.02
        while True:
            try:
                return work()
            except ImportError as error:
                raise ValueError(f"the gradebook needs a driver that is not installed: {error.name}") from None
            except (SQLAlchemyError, InvalidEntry) as error:
                if not _is_passing(error) or time.monotonic() > end:
                    address = make_url(self.course.database).render_as_string()
                    said = str(getattr(error, "orig", None) or error)
                    raise Unusable(f"the gradebook {address} cannot be used: {said}") from None
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, 1.0)


def reconcile(course: Course | Path | str, lab: str, patience: float = 60.0) -> Reconciled:
    """Enters every receipt of a lab that the gradebook has not, or not so: what a killed grader left undone.

    Whoever calls it holds the course's lock (`receipts.locked`). What it says of a person's receipt stops nobody else's.
    """
    course = course if isinstance(course, Course) else load(course)
    receipts = Receipts(course.folder)
    receipts.sweep(lab)
    found = receipts.all(lab)
    entered, faults = [], list(found.faults)
    with Book(course, patience) as book:
        for receipt in book.pending(found.receipts.values()):
            try:
                kept = notebooks.kept(course, lab, receipt.student)
                done = book.enter(receipt, submitted=kept.submitted, answers=kept.answers)
            except Unusable:
                raise
            except ValueError as error:
                faults.append(f"{receipt.student[:40]}: {error}")
            else:
                entered.append(receipt.student)
                faults += [f"{receipt.student}: {note}" for note in done.notes]
    return Reconciled(entered, faults)


def _is_entered(
    receipt: Receipt, entered: Mapping[str, marks.Mark], points: Mapping[str, Mapping[str, float | None]]
) -> bool:
    try:
        name = known_as(receipt.student)
    except ValueError:  # which entering it will say
        return False
    return marks.holds(receipt, entered.get(name), points.get(name))


def _is_passing(error: Exception) -> bool:
    """Whether an error is one that somebody else's writing gives, and that another try may not meet."""
    if isinstance(error, IntegrityError):  # two graders entered one student at once
        return True
    said = str(error).lower()
    busy = "locked" in said or "busy" in said or "deadlock" in said or "serializ" in said
    return busy and isinstance(error, OperationalError | InvalidEntry)
