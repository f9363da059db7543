"""Receipts that nothing was graded for, and what a test reads back of a course."""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook

from autograder.evidence import CaseEvidence, CheckEvidence, Receipt, State, Verdict
from tests.autograder.submissions import FULL, LAB, RELEASE

HIDDEN = "rows of −1e4 in float16"


def receipt(
    student: str = "ada",
    state: State = State.GRADED,
    scores: Mapping[str, float] = {},
    verdicts: Mapping[str, Verdict] = {},
    answered: bool = True,
    **changed: Any,
) -> Receipt:
    """A receipt of lab 00 with full points, but for what is given by check."""
    checks = []
    for cell, points in FULL.items():
        name = cell.removeprefix("check_")
        verdict = verdicts.get(name, Verdict.JUDGED)
        score = scores.get(name, float(points) if verdict is Verdict.JUDGED else 0.0)
        cases = (
            CaseEvidence("the example", True),
            CaseEvidence(HIDDEN, score == points, "" if score == points else "nan in 3 places", hidden=True),
        )
        checks.append(CheckEvidence(name, points, score, verdict, cases if verdict is Verdict.JUDGED else ()))
    made = Receipt(LAB, student, "v1", "c0", "e1", 7, "A", state, tuple(checks), {"which_wall": answered})
    return replace(made, **changed)


def unreadable(student: str = "ira") -> Receipt:
    """A receipt of a file that is no notebook."""
    return receipt(student, State.UNREADABLE, checks=(), written={}, notes=("it is empty",))


def database(course: Path) -> str:
    return f"sqlite:///{course / 'gradebook.db'}"


def rows(course: Path) -> list[str]:
    """Everything in the gradebook, as text."""
    connection = sqlite3.connect(course / "gradebook.db")
    try:
        return sorted(connection.iterdump())
    finally:
        connection.close()


def points(course: Path, student: str = "ada") -> dict[str, float | None]:
    """The automatic points of a student, by cell."""
    with Gradebook(database(course)) as gradebook:
        return {grade.name: grade.auto_score for grade in gradebook.find_submission(LAB, student).notebooks[0].grades}


def waiting(course: Path, student: str = "ada") -> set[str]:
    """The cells that a person is asked to look at."""
    with Gradebook(database(course)) as gradebook:
        grades = gradebook.find_submission(LAB, student).notebooks[0].grades
        return {grade.name for grade in grades if grade.needs_manual_grade}


def comments(course: Path, student: str = "ada") -> dict[str, str]:
    """What is said to a student, by cell."""
    with Gradebook(database(course)) as gradebook:
        found = gradebook.find_submission(LAB, student).notebooks[0].comments
        return {comment.name: comment.comment for comment in found if comment.comment}


def by_hand(course: Path, cell: str, student: str = "ada", **given: Any) -> None:
    """Does what formgrader does when a person grades a cell."""
    with Gradebook(database(course)) as gradebook:
        grade = gradebook.find_grade(cell, LAB, LAB, student)
        grade.manual_score = given.get("score")
        grade.extra_credit = given.get("extra")
        grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
        if "comment" in given:
            gradebook.find_comment(cell, LAB, LAB, student).manual_comment = given["comment"]
        gradebook.db.commit()


def notebook(written: str = "The compute wall, since 5 > 3.") -> Any:
    """The released notebook with its written answer filled in."""
    made = nbformat.read(RELEASE, as_version=4)
    for cell in made.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "which_wall":
            cell.source = written
    return made


def at(made: Any, name: str) -> int:
    """Where a graded cell stands."""
    return next(i for i, cell in enumerate(made.cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
