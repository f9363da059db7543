"""Which receipt each submission's points in the gradebook are from: one row a submission, in a table beside nbgrader's own.

The mark is written in the transaction that writes the points, so the two never disagree; what disagrees later was changed by
somebody else, or was lost with the gradebook.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, MetaData, String, Table, Text, delete, insert, select

from autograder.evidence import Receipt, State
from autograder.records.course import known_as

TABLE = Table(
    "course_receipt",
    MetaData(),
    Column("lab", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("entered", Text, nullable=False),
)

Points = Mapping[str, float | None]


@dataclass(frozen=True)
class Mark:
    """A receipt's digest, the automatic points that were entered for it by cell, and a digest of each written answer."""

    digest: str
    points: dict[str, float | None] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


def prepare(engine: Any) -> None:
    """Makes the table where there is none."""
    TABLE.metadata.create_all(engine)


def digest(receipt: Receipt) -> str:
    """What tells one receipt from another."""
    return hashlib.sha256(receipt.to_json().encode()).hexdigest()


def read(db: Any, receipt: Receipt) -> Mark | None:
    """The mark of a receipt's submission, whichever receipt it was."""
    row = db.execute(select(TABLE).where(*_of(receipt))).one_or_none()
    return None if row is None else Mark(row.digest, **json.loads(row.entered))


def read_all(db: Any, lab: str) -> dict[str, Mark]:
    """The marks of a lab, by the names that nbgrader has for its students."""
    rows = db.execute(select(TABLE).where(TABLE.c.lab == lab))
    return {row.student: Mark(row.digest, **json.loads(row.entered)) for row in rows}


def write(db: Any, receipt: Receipt, mark: Mark) -> None:
    """Sets the mark of a receipt's submission."""
    entered = json.dumps({"points": mark.points, "answers": mark.answers}, sort_keys=True)
    db.execute(delete(TABLE).where(*_of(receipt)))
    values = {"lab": receipt.lab, "student": known_as(receipt.student), "digest": mark.digest, "entered": entered}
    db.execute(insert(TABLE).values(values))


def holds(receipt: Receipt, mark: Mark | None, points: Points | None) -> bool:
    """Whether a receipt is entered, and the gradebook's automatic points are still those that were entered for it."""
    if mark is None or mark.digest != digest(receipt):
        return False
    if receipt.state is State.NOT_SUBMITTED:
        return True
    return points is not None and all(name in points and points[name] == score for name, score in mark.points.items())


def _of(receipt: Receipt) -> tuple[Any, Any]:
    return TABLE.c.lab == receipt.lab, TABLE.c.student == known_as(receipt.student)
