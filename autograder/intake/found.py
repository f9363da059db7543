"""What was handed in for a lab, student by student, wherever the instructor points: nbgrader's tree, a folder, a download.

The shape is recognised by its names and said. A student has one submission: of several attempts the latest, of several files
the one that is the lab's. Whatever cannot be read is a submission all the same, with the reason.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from autograder.intake import Unreadable
from autograder.intake.shapes import HandIn, Source, canvas_file, recognised
from autograder.intake.tree import File, files
from autograder.intake.words import counted, listed, shortened

LOOKED_FOR = (
    "nbgrader's submitted/STUDENT/{lab}/{lab}.ipynb",
    "a folder with STUDENT.ipynb or STUDENT/anything.ipynb",
    "a download of Canvas, Moodle or Gradescope, zipped or unpacked",
)
NOT_AN_ANSWER = re.compile(
    r"\.(?:ya?ml|csv|md|log|pkl|npy|npz|png|jpe?g|gif|svg)$|^timestamp\.txt$|^onlinetext", re.IGNORECASE
)


@dataclass(frozen=True)
class Submission:
    """What one student handed in for one lab. `read` gives its bytes, or raises Unreadable with the reason."""

    student: str
    """The id under which the student's grades are kept."""
    file: File | None
    """None when there was nothing among the student's files that could be a notebook."""
    name: str
    """The file's name, as it was handed in."""
    timestamp: datetime | None
    """When it was handed in, in UTC, where the source says so."""
    source: Source
    student_name: str = ""
    identifiers: dict[str, str] = field(default_factory=dict)
    """The student in the gradebook of the platform: canvas_id, moodle_id, sid, email …"""
    notes: tuple[str, ...] = ()
    late: bool = False
    """Whether Canvas calls it late; nbgrader's lateness follows from the timestamp."""
    problem: str = ""

    def read(self) -> bytes:
        if self.file is None or self.problem:
            raise Unreadable(self.problem or "no notebook was handed in")
        return self.file.read()


@dataclass(frozen=True)
class Found:
    """All submissions, by student; `notes` says what was recognised where, and what belongs to nobody."""

    submissions: list[Submission]
    notes: list[str]


def find(lab: str, paths: Sequence[Path]) -> list[Submission]:
    """The submissions for `lab` under the paths, by student.

    Raises ValueError when there are none, when a path cannot be read, and when two students have the same id.
    """
    return look(lab, paths).submissions


def look(lab: str, paths: Sequence[Path]) -> Found:
    """The same, with what there is to say about the paths as a whole."""
    by_student: dict[str, list[tuple[HandIn, Source]]] = {}
    seen: set[tuple] = set()
    notes: list[str] = []
    for path in map(Path, paths):
        new = [file for file in files(path) if _identity(file) not in seen]
        seen |= {_identity(file) for file in new}
        source, hand_ins, others = recognised(new, lab)
        for hand_in in hand_ins:
            by_student.setdefault(hand_in.student, []).append((hand_in, source))
        if hand_ins:
            notes.append(f"{path}: {_shape(source)}, {counted(len(hand_ins), 'submission')}")
        notes += [f"{file.shown}: refused, {file.problem}" for file in others if file.problem]
        if strangers := [file.shown for file in others if not file.problem and file.name.endswith(".ipynb")]:
            notes.append(f"{path}: {counted(len(strangers), 'notebook')} of nobody: {listed(strangers, most=5)}")
    if not by_student:
        wanted = "; ".join(shape.format(lab=lab) for shape in LOOKED_FOR)
        where = listed([str(path) for path in paths]) or "no path"
        raise ValueError(f"nothing was handed in for {lab} at {where}. Looked for: {wanted}")
    return Found([_submission(lab, attempts) for _, attempts in sorted(by_student.items())], notes)


def _identity(file: File) -> tuple:
    return file.root.joinpath(*file.on_disk), file.inside


def _shape(source: Source) -> str:
    names = {"nbgrader": "nbgrader's tree", "folder": "a folder"}
    return names.get(source, f"a download of {source.capitalize()}")


def _submission(lab: str, attempts: list[tuple[HandIn, Source]]) -> Submission:
    names = {hand_in.student_name for hand_in, _ in attempts if hand_in.student_name}
    student = attempts[0][0].student
    if len({" ".join(name.casefold().split()) for name in names}) > 1:
        who = " and ".join(repr(name) for name in sorted(names))
        raise ValueError(f"two students have the id {student!r}: {who}; give them different ones, or grade them apart")
    choices = [(_choice(lab, hand_in), hand_in, source) for hand_in, source in attempts]
    (file, notes), hand_in, source = max(choices, key=lambda choice: _lateness(choice[0][0], choice[1]))
    notes = [*hand_in.notes, *notes]
    if len(attempts) > 1:
        shown = f"{file.shown}" if file else "the latest"
        notes.append(f"{len(attempts)} attempts were handed in; the latest is graded: {shown}")
    problem = file.problem if file else _nothing(hand_in.files)
    return Submission(
        student,
        file,
        file.name if file else "",
        hand_in.timestamp,
        source,
        hand_in.student_name,
        hand_in.identifiers,
        tuple(notes),
        hand_in.late,
        problem,
    )


def _lateness(file: File | None, hand_in: HandIn) -> tuple:
    """What makes one attempt later than another: when it was handed in, Canvas's number, when the file was written."""
    time = hand_in.timestamp.timestamp() if hand_in.timestamp else 0.0
    return file is not None, time, canvas_file(file) if file else 0, _age(file)


def _age(file: File | None) -> float:
    try:
        return file.modified.timestamp() if file and file.modified else 0.0
    except (OverflowError, OSError, ValueError):
        return 0.0


def _choice(lab: str, hand_in: HandIn) -> tuple[File | None, list[str]]:
    """The file that is the lab's, and what became of the others."""
    ranked = [(rank, file) for file in hand_in.files if (rank := _rank(lab, file)) is not None]
    if any(not file.problem for _, file in ranked):
        notes = [f"{file.shown}: refused, {file.problem}" for _, file in ranked if file.problem]
        ranked = [(rank, file) for rank, file in ranked if not file.problem]
    else:
        notes = []
    if not ranked:
        return None, notes
    best = min(rank for rank, _ in ranked)
    likely = [file for rank, file in ranked if rank == best]
    if len(likely) > 1 and len(about := [file for file in likely if _mentions(file, lab)]) > 0:
        likely = about
    chosen = max(likely, key=lambda file: (canvas_file(file), _age(file), file.parts))
    others = [file.shown for _, file in ranked if file is not chosen and file.name.lower().endswith(".ipynb")]
    if others:
        notes.append(f"{chosen.shown} is graded, and not {listed(others, most=5)}")
    return chosen, notes


def _rank(lab: str, file: File) -> int | None:
    """How likely the file is the lab's notebook: 0 for the likeliest, None for what cannot be."""
    name = file.name.lower()
    if name.endswith(".ipynb"):
        return 0 if file.name == f"{lab}.ipynb" else 1
    if ".ipynb" in name:
        return 2
    if file.problem:
        return 3
    return None if NOT_AN_ANSWER.search(file.name) else 4 if name.endswith((".py", ".json")) else 5


def _mentions(file: File, lab: str) -> bool:
    try:
        return lab.encode() in file.read()
    except Unreadable:
        return False


def _nothing(others: Iterable[File]) -> str:
    names = [shortened(file.name) for file in others]
    return f"no notebook was handed in, only {listed(names, most=5)}" if names else "no notebook was handed in"
