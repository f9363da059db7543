"""A class of eight, made up: one student in each state, and one whose name is a formula with a comma."""

from dataclasses import replace
from pathlib import Path

from autograder.evidence import CheckEvidence, Receipt, State, Verdict
from autograder.records.gradebook import Book, Person
from autograder.records.receipts import Receipts
from tests.autograder.records.made_up import by_hand, receipt, unreadable
from tests.autograder.submissions import FULL

MISTAKE = "The maximum is not subtracted."
FORMULA = '=HYPERLINK("http://example.org","Müller, Jr")'
STATES = {
    "ada": State.GRADED,
    "ben": State.CRASHED,
    "cleo": State.TIMED_OUT,
    "dan": State.NEEDS_A_PERSON,
    "eve": State.TAMPERED,
    "fay": State.GRADED,
    "ira": State.UNREADABLE,
    "nora": State.NOT_SUBMITTED,
}
PEOPLE = {student: Person(student.title(), "Example", f"{student}@example.org") for student in STATES} | {
    "ben": Person("Ben", "Smith, Jr", "ben@example.org"),
    "fay": Person("+Fay", FORMULA, "fay@example.org"),
}
POINTS = {"ada": 20, "ben": 16, "cleo": 13, "dan": None, "eve": 15, "fay": 15.86, "ira": 0, "nora": None}
"""Of 20; the written answer is worth 2."""

NOTHING = tuple(
    CheckEvidence(cell.removeprefix("check_"), points, 0.0, Verdict.NOT_REACHED) for cell, points in FULL.items()
)
"""The checks of a notebook that could not be read."""


def the_receipts() -> list[Receipt]:
    """What grading left."""
    wrong = receipt("fay", scores={"softmax": 2.86}, answered=False)
    softmax, *others = wrong.checks
    checks = (replace(softmax, mistake=MISTAKE), *others)
    return [
        receipt("ada"),
        receipt("ben", State.CRASHED, verdicts={"generate": Verdict.CRASHED}, answered=False),
        receipt("cleo", State.TIMED_OUT, verdicts={"softmax": Verdict.TIMED_OUT}, answered=False),
        receipt("dan"),
        receipt("eve", State.TAMPERED, verdicts={"score_entries": Verdict.TAMPERED}, answered=False),
        replace(wrong, checks=checks, notes=("2 cells were put back in order",)),
        replace(unreadable("ira"), checks=NOTHING, written={"which_wall": False}),
    ]


def enter_class(course: Path) -> None:
    """Keeps and enters the receipts; a person gives Ada the points of her written answer."""
    with Book(course) as book:
        for one in the_receipts():
            Receipts(course).write(one)
            book.enter(one, PEOPLE[one.student], "2026-11-30 12:00 Europe/Berlin")
        book.introduce({"nora": PEOPLE["nora"]})
    by_hand(course, "which_wall", "ada", score=2)
