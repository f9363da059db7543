"""Lateness as nbgrader has it: a due date, an extension for one student, and the penalty that its plugin sets.

nbgrader keeps an extension with the submission, so that it has none to keep before there is one. What is granted earlier
stands in `extensions.csv` in the course's folder, and is entered with the submission:

    lab,student,extension
    lab00_two_walls,ada,3 days
    lab00_two_walls,ben,36 hours

Times are compared in UTC, without a zone, which is how nbgrader keeps them. A time that names its zone is converted; one that
names none is taken as UTC; one that names a zone that nobody knows is refused, and not taken as UTC in silence.
"""

import csv
import io
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from autograder.records.course import Course
from course_lib.house import sync

FILE = "extensions.csv"
COLUMNS = ("lab", "student", "extension")
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(week|day|hour|minute)s?", re.IGNORECASE)

Extensions = dict[tuple[str, str], timedelta]


def instant(moment: str | datetime | None) -> datetime | None:
    """A moment as nbgrader keeps it: UTC without a zone. Texts are "2026-11-30 18:00 Europe/Berlin", ISO 8601 and the like."""
    from dateutil import parser, tz
    from nbgrader.utils import parse_utc

    try:
        if isinstance(moment, str):
            moment = moment.strip()
            zone = re.fullmatch(r"\S+ \S+ ([A-Za-z][\w/+-]*)", moment)
            if zone and zone[1].upper() in ("AM", "PM"):  # which nbgrader would take for a zone
                moment = parser.parse(moment)
            elif zone and zone[1] != "Z" and tz.gettz(zone[1]) is None:
                raise ValueError(f"the time zone {zone[1]} is unknown here")
        return parse_utc(moment) if moment else None
    except (ValueError, OverflowError, TypeError) as error:
        raise ValueError(
            f"{moment!r} is no date and time ({error}): write it as 2026-11-30 18:00 Europe/Berlin or with +01:00"
        ) from None


def stamp(moment: datetime) -> str:
    """A moment as `timestamp.txt` holds it."""
    return f"{instant(moment):%Y-%m-%d %H:%M:%S.%f} UTC\n"


def amount(text: str) -> timedelta:
    """A length of time in words: "3 days", "36 hours", "1 week 2 days"."""
    parts = AMOUNT.findall(text)
    if not parts or AMOUNT.sub("", text).strip(" ,+"):
        raise ValueError(f"an extension is a number of weeks, days, hours or minutes, got {text!r}")
    return sum((timedelta(**{unit.lower() + "s": float(number)}) for number, unit in parts), timedelta())


def extensions(folder: Path | str) -> Extensions:
    """What `extensions.csv` grants, by lab and student; nothing where there is no such file."""
    path = Path(folder) / FILE
    if not path.exists():
        return {}
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))
    if missing := [name for name in COLUMNS if name not in (rows.fieldnames or [])]:
        raise ValueError(f"{path} needs the columns {','.join(COLUMNS)}; it lacks {missing[0]}")
    granted: Extensions = {}
    for row in rows:
        try:
            granted[row["lab"].strip(), row["student"]] = amount(row["extension"] or "")
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"{path}, line {rows.line_num}: {error}") from None
    return granted


def grant(folder: Path | str, lab: str, student: str, extension: str) -> None:
    """Writes an extension into `extensions.csv`, in place of the student's last one for that lab; "" takes it back."""
    granted = {key: _words(value) for key, value in extensions(folder).items()}
    granted.pop((lab, student), None)
    if extension:
        granted[lab, student] = _words(amount(extension))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([*key, words] for key, words in sorted(granted.items()))
    sync.write(Path(folder) / FILE, text.getvalue())


def seconds_late(submission: Any) -> float:
    """How late an nbgrader submission is, its extension counted. A lab without a due date is never late."""
    return 0.0 if submission.assignment.duedate is None else submission.total_seconds_late


class Penalties:
    """The penalty of a late submission, by the plugin that the course's configuration names."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._plugin: Any = None

    def of(self, student: str, score: float, late: float) -> float | None:
        """The points to take off `score` for `late` seconds, from 0 to the score; None for none."""
        if late <= 0:
            return None
        try:
            self._plugin = self._plugin or self._load()
            penalty = self._plugin.late_submission_penalty(student, score, late)
        except Exception as error:  # the plugin may be the instructor's own
            raise ValueError(f"the course's late penalty cannot be had: {type(error).__name__}: {error}") from None
        return None if penalty is None else min(max(float(penalty), 0.0), score)

    def _load(self) -> Any:
        from nbgrader.preprocessors import AssignLatePenalties

        sys.path.insert(0, str(self._course.folder))  # where nbgrader's manual has an instructor put the plugin
        try:
            step = AssignLatePenalties(config=self._course.config)
            step.init_plugin()
        finally:
            sys.path.remove(str(self._course.folder))
        return step.plugin_inst


def _words(extension: timedelta) -> str:
    """The shortest words for a length of time."""
    minutes = extension.total_seconds() / 60
    for unit, length in (("weeks", 10080), ("days", 1440), ("hours", 60)):
        if minutes and minutes % length == 0:
            return f"{minutes / length:g} {unit}"
    return f"{minutes:g} minutes"
