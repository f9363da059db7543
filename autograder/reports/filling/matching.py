"""Finds a sheet's row for each student, by number, login or address: never by a name, which two students may share."""

from collections.abc import Sequence

from autograder.evidence import State
from autograder.records.course import known_as
from autograder.reports.filling.sheets import Sheet
from autograder.reports.standing import Standing
from autograder.reports.words import listed


def rows_of(sheet: Sheet, columns: Sequence[Sequence[str]], standings: Sequence[Standing]) -> dict[int, Standing]:
    """Each student by the number of their row; `columns` holds ways to know a student, each with a key for every row.

    A student is looked for in the column that knows most of them, then in the others. Students who handed nothing in may be
    missing from the sheet, and a sheet may hold others who did not.

    Raises ValueError, with names, for a student with something to enter and no row, and for a row that two could be.
    """
    keys = [[key.strip().casefold() for key in column] for column in columns]
    known = {one.student: _names(one) for one in standings}
    anyone = set().union(*known.values()) if known else set()
    keys.sort(key=lambda column: -sum(key in anyone for key in column))
    matched: dict[int, list[Standing]] = {}
    lost: list[str] = []
    for one in standings:
        rows = next((found for column in keys if (found := _rows(column, known[one.student]))), [])
        if len(rows) > 1:
            raise ValueError(f"the sheet has {len(rows)} rows that could be {listed([one.student])}: export it afresh")
        if rows:
            matched.setdefault(rows[0], []).append(one)
        elif one.state is not State.NOT_SUBMITTED:
            lost.append(one.student)
    if lost:
        are = "students who handed in are" if len(lost) > 1 else "student who handed in is"
        raise ValueError(f"{len(lost)} {are} not in the sheet: {listed(lost)}. Is it an export of this course?")
    for number, ones in matched.items():
        if len(ones) > 1:
            names = listed(one.student for one in ones)
            raise ValueError(f"one row of the sheet ({listed([sheet.rows[number][0]])}) could be any of {names}")
    return {number: ones[0] for number, ones in matched.items()}


def _names(one: Standing) -> set[str]:
    return {name.strip().casefold() for name in (one.student, known_as(one.student), one.email) if name.strip()}


def _rows(column: Sequence[str], names: set[str]) -> list[int]:
    return [number for number, key in enumerate(column) if key and key in names]
