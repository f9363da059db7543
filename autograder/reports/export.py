"""Writes a lab's grades for those who read them elsewhere: nbgrader's own columns, Gradescope's, Canvas or Moodle.

A state stays what it is. What was not handed in, or waits for a person, has an empty grade and never 0.0; what crashed or ran
out of time has its points and says so. Where a platform's sheet has no room for that, the states are written beside it.
Nothing is written unless every student with something to enter has a place.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.evidence import State
from autograder.records.course import Course
from autograder.reports.filling import platforms, sheets
from autograder.reports.filling.sheets import Sheet
from autograder.reports.standing import Standing, standings
from autograder.reports.words import number

FORMATS = ("csv", "gradescope", "canvas", "moodle")
NBGRADER = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


@dataclass(frozen=True)
class Exported:
    """What was written, how many students are in which state, and what an instructor should know."""

    paths: list[Path]
    states: dict[State, int]
    notes: list[str] = field(default_factory=list)


def export(
    course: Course | Path | str,
    lab: str,
    format: str,
    into: Path | str,
    sheet: Path | str | None = None,
    column: str = "",
) -> Exported:
    """Writes the lab's grades into the file `into`.

    Args:
        format: "csv" (nbgrader's columns and a state), "gradescope", "canvas" or "moodle".
        sheet: what Canvas or Moodle exported just now; it is read, and left as it is unless `into` names it.
        column: the lab's column in a Canvas sheet, where it is not called like the lab.

    Raises:
        ValueError: a receipt cannot be trusted, the gradebook or the sheet is not the lab's, or a student is not in the sheet.
    """
    into = Path(into)
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if (sheet is None) == (format in ("canvas", "moodle")):
        needs = f"the sheet that {format.capitalize()} exported" if sheet is None else "no sheet"
        raise ValueError(f"an export to {format} needs {needs}")
    given = sheets.read(Path(sheet)) if sheet is not None else None
    all_of_them = standings(course, lab)
    states = Counter(one.state for one in all_of_them)
    counted = {state: states[state] for state in State if states[state]}
    if given is None:
        made = nbgrader_columns(lab, all_of_them) if format == "csv" else gradescope_columns(all_of_them)
        made.write(into)
        return Exported([into], counted)
    if format == "canvas":
        filled = platforms.canvas(given, all_of_them, lab, column)
    else:
        filled = platforms.moodle(given, all_of_them, lab)
    paths = [into]
    if not filled.states:
        beside = into.with_name(f"{into.stem}.states.csv")
        state_columns(all_of_them).write(beside)
        paths.append(beside)
    filled.sheet.write(into)
    return Exported(paths, counted, filled.notes)


def nbgrader_columns(lab: str, all_of_them: Sequence[Standing]) -> Sheet:
    """As `nbgrader export` writes them, with the state behind."""
    rows = []
    for one in all_of_them:
        final = one.points is not None
        rows.append(
            [
                lab,
                str(one.due or ""),
                str(one.submitted or ""),
                one.student,
                one.last_name,
                one.first_name,
                one.email,
                _points(one.raw if final else None),
                _points(one.penalty if final else None),
                _points(one.points),
                _points(one.most),
                one.state,
            ]
        )
    return sheets.table([*NBGRADER, "state"], rows)


def gradescope_columns(all_of_them: Sequence[Standing]) -> Sheet:
    """As Gradescope's own export of an assignment: a student a line, a column for each graded cell; state and reasons behind."""
    questions = list(dict.fromkeys(name for one in all_of_them for name in one.items))
    worth = {name: item.most for one in all_of_them for name, item in one.items.items()}
    titles = [f"{place}: {name} ({number(worth[name])} pts)" for place, name in enumerate(questions, 1)]
    rows = []
    for one in all_of_them:
        ungraded = "Missing" if one.state is State.NOT_SUBMITTED else "Ungraded"
        rows.append(
            [
                one.first_name,
                one.last_name,
                one.student,
                one.email,
                "" if one.points is None else number(one.points),
                number(one.most),
                ungraded if one.points is None else "Graded",
                str(one.submitted or ""),
                _duration(one.seconds_late) if one.submitted else "",
                *[_question(one, name) for name in questions],
                one.state,
                one.comment,
            ]
        )
    header = ["First Name", "Last Name", "SID", "Email", "Total Score", "Max Points", "Status"]
    return sheets.table([*header, "Submission Time", "Lateness (H:M:S)", *titles, "State", "Comment"], rows)


def state_columns(all_of_them: Sequence[Standing]) -> Sheet:
    """Who is in which state, for a sheet that has no room for it."""
    header = ["student_id", "last_name", "first_name", "email", "score", "max_score", "state", "comment"]
    rows = [
        [
            one.student,
            one.last_name,
            one.first_name,
            one.email,
            "" if one.points is None else number(one.points),
            number(one.most),
            one.state,
            one.comment,
        ]
        for one in all_of_them
    ]
    return sheets.table(header, rows)


def _points(points: float | None) -> str:
    return "" if points is None else str(round(points, 6))


def _question(one: Standing, name: str) -> str:
    item = one.items.get(name)
    return "" if item is None or item.waiting else number(item.score)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest:02d}"
