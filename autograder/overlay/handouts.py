"""Each student's notebook of a lab under an overlay, ready to be given out, and the list of students that it is made for.

    <course>/handouts/<lab>/<student>/<lab>.ipynb   with their numbers and variants in place
    <course>/handouts/<lab>/<student>/<lab>.json    the visible cases of their checks, which the notebook finds beside it

Neither holds an answer or a hidden case: both are made as the public notebook and the public cases are.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.overlay.folder import HANDOUTS
from autograder.overlay.personal import Overlaid
from autograder.records.course import known_as
from autograder.records.identity import course_key, seed_for
from course_lib.house import notebooks, sync

COLUMNS = ("student_id", "id")


def hand_out(overlaid: Overlaid, course: Path, students: Iterable[str]) -> Iterator[Path]:
    """Writes each student's notebook and visible cases, and yields the notebook's path."""
    key, lab = course_key(course), overlaid.lab.name
    for student in students:
        drawn = overlaid.drawn(seed_for(key, lab, student, ""))
        folder = course / HANDOUTS / lab / known_as(student)
        # The cases first: a notebook without them would be checked against the public ones.
        sync.write(folder / f"{lab}.json", overlaid.frozen_of(drawn))
        sync.write(folder / f"{lab}.ipynb", notebooks.text(overlaid.release_of(drawn)))
        yield folder / f"{lab}.ipynb"


def students_in(path: Path) -> list[str]:
    """The students of a text file, one id a line, or of a CSV with a column `student_id` or `id`; each once.

    Raises ValueError when there are none, or a CSV has no such column.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as a list of students: {error}") from None
    if path.suffix.lower() == ".csv":
        rows = csv.DictReader(lines)
        column = next((name for name in COLUMNS if name in (rows.fieldnames or ())), None)
        if column is None:
            raise ValueError(
                f"{path} needs a column {' or '.join(COLUMNS)}, has {', '.join(rows.fieldnames or ()) or 'none'}"
            )
        lines = [row[column] or "" for row in rows]
    found = list(dict.fromkeys(name for line in lines if (name := line.strip())))
    if not found:
        raise ValueError(f"{path} names no student")
    return found


def students_of(course: Path) -> list[str]:
    """The students that the course's gradebook knows.

    Raises ValueError when it knows none, and when it knows one by another name than the one that they are graded under.
    """
    from autograder.records.gradebook import Book

    with Book(course) as book:
        found = sorted(book.students())
    if renamed := [name for name in found if known_as(name) != name]:
        raise ValueError(f"the gradebook has {renamed[0]!r} for another name: list the students by --students FILE")
    if not found:
        raise ValueError(f"the gradebook of {course} knows no student: list them by --students FILE")
    return found
