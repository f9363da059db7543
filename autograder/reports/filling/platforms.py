"""Fills in what Canvas and Moodle exported, for them to import again.

canvas  the columns that say who a student is, and the lab's own column; Canvas leaves the others as they are. It has no room
        for a state and empties a grade where a cell is empty, so the states stand in a file beside it, and an excuse stays
moodle  every column as it was; the state stands in the feedback comment, and Moodle leaves a grade alone where a cell is empty
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.evidence import State
from autograder.reports.filling.matching import rows_of
from autograder.reports.filling.sheets import Sheet
from autograder.reports.standing import Standing
from autograder.reports.words import line, listed, number

CANVAS_KEYS = ("ID", "SIS User ID", "SIS Login ID", "Integration ID")
CANVAS_WHO = ("Student", "LastName", "FirstName", *CANVAS_KEYS, "Root Account", "Section")
CANVAS_TEST = "Student, Test"
CANVAS_COLUMN = re.compile(r"(?P<name>.*\S)\s*\((?P<id>\d+)\)\s*")
EXCUSED = "EX"
MOODLE_KEYS = (("Email address", "Email"), ("ID number",), ("Username",))
OURS = "autograder: "
BREAK = "<br />"


@dataclass
class Filled:
    """A sheet ready to be imported, what there is to say about it, and whether the states found room in it."""

    sheet: Sheet
    notes: list[str] = field(default_factory=list)
    states: bool = True


def canvas(sheet: Sheet, standings: Sequence[Standing], lab: str, column: str = "") -> Filled:
    """A Canvas gradebook export with the lab's column filled in; `column` names it where the lab's name does not."""
    who = sheet.column("ID")
    if who is None or sheet.column("Student", "LastName") is None:
        raise ValueError(f"the sheet is no Canvas gradebook export: its columns are {listed(sheet.header)}")
    at = _canvas_column(sheet, lab, column)
    possible = [number for number, row in enumerate(sheet.rows) if "points possible" in row[0].casefold()]
    if possible:
        _same_most(standings, sheet.rows[possible[0]][at], "Points Possible", lab)
    students = [number for number, row in enumerate(sheet.rows) if row[who].strip()]
    keys = [
        [row[index] if row[who].strip() else "" for row in sheet.rows]
        for name in CANVAS_KEYS
        if (index := sheet.column(name)) is not None
    ]
    matched = rows_of(sheet, keys, standings)
    filled = Filled(sheet, states=False)
    kept = [index for index, name in enumerate(sheet.header) if name.strip() in CANVAS_WHO]
    emptied, excused = [], []
    rows = []
    for place, row in enumerate(sheet.rows):
        cell = row[at]
        if place in students:
            old, cell = cell.strip(), _grade(matched.get(place))
            if old.upper() == EXCUSED:
                cell = EXCUSED
                excused.append(row[0])
            elif old not in ("", "-") and not cell:
                emptied.append(row[0])
        rows.append([row[index] for index in kept] + [cell])
    filled.sheet = Sheet(
        [sheet.header[index] for index in [*kept, at]], rows, sheet.mark, sheet.delimiter, sheet.newline
    )
    if excused:
        filled.notes.append(f"excused in Canvas, and left so: {listed(excused)}")
    if emptied:
        filled.notes.append(f"Canvas has a grade that this sheet empties: {listed(emptied)}")
    people = [place for place in students if sheet.rows[place][0].strip() != CANVAS_TEST]
    return _with_strangers(filled, sheet, matched, people)


def moodle(sheet: Sheet, standings: Sequence[Standing], lab: str) -> Filled:
    """A Moodle grading worksheet with grades and feedback comments filled in."""
    grade, identifier = sheet.column("Grade"), sheet.column("Identifier")
    keys = [[row[index] for row in sheet.rows] for names in MOODLE_KEYS if (index := sheet.column(*names)) is not None]
    if identifier is not None:
        keys += [[row[identifier] for row in sheet.rows], [_participant(row[identifier]) for row in sheet.rows]]
    if grade is None or not keys:
        raise ValueError(
            f"the sheet is no Moodle grading worksheet: it needs the columns Identifier and Grade and has "
            f"{listed(sheet.header)}; download it with Moodle's language set to English"
        )
    most, comment = sheet.column("Maximum Grade"), sheet.column("Feedback comments")
    matched = rows_of(sheet, keys, standings)
    filled = Filled(sheet, states=comment is not None)
    locked, above = [], []
    rows = [list(row) for row in sheet.rows]
    changeable = sheet.column("Grade can be changed")
    for place, row in enumerate(rows):
        one = matched.get(place)
        if most is not None:
            _same_most([one] if one else [], row[most], "Maximum Grade", lab)
        if changeable is not None and row[changeable].strip().casefold() == "no" and _grade(one):
            locked.append(_who(sheet, row))
        if one is not None and one.points is not None and one.points > one.most:
            above.append(_who(sheet, row))
        row[grade] = _grade(one)
        if comment is not None:
            row[comment] = _with_state(row[comment], one)
    filled.sheet = Sheet(sheet.header, rows, sheet.mark, sheet.delimiter, sheet.newline)
    if locked:
        filled.notes.append(f"Moodle says that these grades cannot be changed: {listed(locked)}")
    if above:
        filled.notes.append(f"more points than Moodle's maximum, which it will not take: {listed(above)}")
    if comment is None:
        filled.notes.append("the worksheet has no column Feedback comments: switch it on in the assignment's settings")
    if sheet.delimiter != ",":
        filled.notes.append(f"the worksheet is separated by {sheet.delimiter!r}: say so when you upload it")
    return _with_strangers(filled, sheet, matched, range(len(rows)))


def _canvas_column(sheet: Sheet, lab: str, column: str) -> int:
    named = {
        index: match["name"] for index, name in enumerate(sheet.header) if (match := CANVAS_COLUMN.fullmatch(name))
    }
    wanted = _bare(column or lab)
    found = [index for index, name in named.items() if wanted in (_bare(name), _bare(sheet.header[index]))]
    if len(found) != 1:
        raise ValueError(
            f"the sheet has {len(found) or 'no'} columns that could be {column or lab}: name one of {listed(named.values())}"
        )
    return found[0]


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _grade(one: Standing | None) -> str:
    return "" if one is None or one.points is None else number(one.points)


def _same_most(standings: Sequence[Standing], cell: str, name: str, lab: str) -> None:
    """Refuses a sheet that grades the lab out of something else: 18 of 20 points are not 18 of 100."""
    try:
        most = float(cell.strip().replace(",", "."))
    except ValueError:
        return
    if standings and abs(most - standings[0].most) > 0.005:
        raise ValueError(
            f"{name} in the sheet is {number(most)}, and {lab} is worth {number(standings[0].most)}: "
            "change it there and export the sheet afresh"
        )


def _participant(identifier: str) -> str:
    """Moodle's own number of a student in this assignment: the digits of "Participant 4711"."""
    found = re.search(r"(\d+)\s*$", identifier)
    return found[1] if found else ""


def _who(sheet: Sheet, row: Sequence[str]) -> str:
    index = sheet.column("Full name")
    return row[0 if index is None else index]


def _with_state(old: str, one: Standing | None) -> str:
    """A feedback comment with what we have to say in place of what we said last; what a person wrote stays."""
    said = [part for part in old.split(BREAK) if not part.lstrip("'").startswith(OURS)]
    text = str(State.NOT_SUBMITTED) if one is None else "" if one.comment == State.GRADED else one.comment
    return BREAK.join(
        [part for part in said if part.strip()] + ([OURS + html.escape(line(text, 2_000))] if text else [])
    )


def _with_strangers(filled: Filled, sheet: Sheet, matched: dict[int, Standing], students: Sequence[int]) -> Filled:
    if strangers := [_who(sheet, sheet.rows[place]) for place in students if place not in matched]:
        filled.notes.append(f"in the sheet and not in the gradebook, so without a grade: {listed(strangers)}")
    return filled
