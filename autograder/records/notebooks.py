"""The notebook as it ran, where formgrader and `nbgrader generate_feedback` look for it.

    <course>/autograded/STUDENT/LAB/LAB.ipynb      the aligned cells, their outputs, what each check earned
    <course>/autograded/STUDENT/LAB/timestamp.txt  when it was handed in

Which cells are graded, for how much, and what stands in the locked ones is taken from the lab as it was released, never from
the student. What a student wrote or showed is made fit to be shown first (`showing`).
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat

from autograder.evidence import Receipt, State
from autograder.records import lateness, markup, remarks, showing
from autograder.records.course import Course, load
from course_lib.house import notebooks as house
from course_lib.house import sync

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
WIDTH = 100  # characters of a line: formgrader and feedback wrap none


@dataclass(frozen=True)
class Kept:
    """What an autograded notebook keeps for later: when it was handed in, and the texts of its written answers."""

    submitted: datetime | None
    answers: dict[str, str] | None


def write(
    course: Course | Path | str,
    receipt: Receipt,
    notebook: Mapping[str, Any] | None,
    outputs: Mapping[int, Sequence[Mapping[str, Any]]] = {},
    submitted: datetime | str | None = None,
    hidden: frozenset[str] = frozenset(),
    handed_out: Any = None,
) -> list[str]:
    """Writes the notebook that was graded; returns what was left out of it, for the instructor.

    notebook   the aligned notebook (nbformat 4, with nbgrader's names in its graded cells); None when it could not be read
    outputs    what each cell showed, by its position in `notebook`
    hidden     names that no output may hold, beside those of the receipt's hidden cases
    handed_out the notebook that the student was given, where it is another than the course's release: a variant, say
    """
    course = course if isinstance(course, Course) else load(course)
    released = _released(course, receipt.lab)
    given = released if handed_out is None else handed_out
    beside = remarks.shown_names(receipt)
    shown = showing.Shown((hidden | remarks.hidden_names(receipt)) - beside, beside)
    made = _unread(released, receipt) if notebook is None else _graded(released, given, notebook, outputs, shown)
    _say_what_was_earned(made, receipt)
    nbformat.validate(made)
    folder = course.path("autograded", receipt.student, receipt.lab)
    moment = lateness.instant(submitted)
    for half in folder.glob(".*.*.*"):  # left by a grader that was killed; nbgrader would copy it into the feedback
        half.unlink()
    if moment is not None:
        sync.write(folder / "timestamp.txt", lateness.stamp(moment))
    else:
        (folder / "timestamp.txt").unlink(missing_ok=True)
    sync.write(folder / f"{receipt.lab}.ipynb", house.text(made))
    return shown.notes


def kept(course: Course, lab: str, student: str) -> Kept:
    """What can be read back of a submission; nothing of what was never written."""
    folder = course.path("autograded", student, lab)
    try:
        submitted = lateness.instant((folder / "timestamp.txt").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        submitted = None
    try:
        answers = answers_of(json.loads((folder / f"{lab}.ipynb").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        answers = None
    return Kept(submitted, answers)


def answers_of(notebook: Any) -> dict[str, str]:
    """The texts of a notebook's written answers, by name."""
    found = {}
    for cell in notebook["cells"]:
        name = _grade_id(cell)
        if cell["cell_type"] != "code" and name and cell["metadata"]["nbgrader"].get("solution"):
            found[name] = showing.text_of(cell["source"])
    return found


def released_cells(course: Course, lab: str) -> list[tuple[str, Any]]:
    """A lab's graded cells from top to bottom, by name, as they were released."""
    return list(_named(_released(course, lab)))


def _released(course: Course, lab: str) -> Any:
    path = course.path("release", ".", lab) / f"{lab}.ipynb"
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({error}): run `autograder release {lab}`") from None


def _named(notebook: Any) -> Iterator[tuple[str, Any]]:
    return ((name, cell) for cell in notebook.cells if (name := _grade_id(cell)))


def _grade_id(cell: Mapping[str, Any]) -> str:
    """nbgrader's name of a cell, "" for none; its metadata may be a student's."""
    match cell["metadata"]:
        case {"nbgrader": {"grade_id": str(name)}}:
            return name
    return ""


def _graded(
    released: Any,
    given: Any,
    notebook: Mapping[str, Any],
    outputs: Mapping[int, Sequence[Mapping[str, Any]]],
    shown: showing.Shown,
) -> Any:
    """The student's cells under the release's metadata, with what they showed.

    Which cells are graded follows from the release, as in the gradebook; what stands in them, from what the student was given.
    """
    own = dict(_named(given))
    wanted = {
        name: own[name] if name in own and own[name].cell_type == cell.cell_type else cell
        for name, cell in _named(released)
    }
    handed_out = {cell.source for cell in given.cells}
    form = {"nbformat": 4, "nbformat_minor": 5, "cells": []}
    made = nbformat.from_dict({**form, "metadata": deepcopy(dict(released.metadata))})
    count = 0
    for number, cell in enumerate(notebook["cells"]):
        name = _grade_id(cell)
        master = wanted.pop(name, None)
        kind = master.cell_type if master is not None else cell["cell_type"]
        source = showing.text_of(cell["source"])
        new = _cell(kind, source if kind == "code" or source in handed_out else markup.markdown(source))
        if master is not None:
            _as_released(new, name, master)
        else:
            new.id = cell.get("id", "")
        if kind == "code" and number in outputs:
            count += 1
            new.execution_count = count
            new.outputs = [
                nbformat.from_dict(one) for one in shown.outputs(outputs[number], name or f"cell {number + 1}")
            ]
            for output in new.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
        made.cells.append(new)
    for name, master in wanted.items():
        _put_back(made, released, name, master)
    _name_cells(made)
    return made


def _cell(kind: str, source: str) -> Any:
    """A cell without an id; `nbformat.v4`'s own would each be validated, and they all are together in the end."""
    kind = kind if kind in ("code", "raw") else "markdown"
    more: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return nbformat.from_dict({"cell_type": kind, "id": "", "metadata": {}, "source": source, **more})


def _as_released(cell: Any, name: str, master: Any) -> None:
    """Gives a graded cell its released metadata, and its source where that is locked."""
    from nbgrader.utils import compute_checksum, is_locked

    cell.metadata = deepcopy(master.metadata)
    cell.id = master.get("id", "")
    if is_locked(master):
        cell.source = master.source
        if compute_checksum(cell) != master.metadata.nbgrader.get("checksum"):
            raise ValueError(
                f"the released cell {name!r} is not what nbgrader released: run `autograder release` again"
            )


def _put_back(made: Any, released: Any, name: str, master: Any) -> None:
    """Puts a graded cell that is missing behind the one that it followed in the release, without outputs."""
    order = [other for other, _ in _named(released)]
    before = set(order[: order.index(name)])
    places = [place for place, cell in enumerate(made.cells) if _grade_id(cell) in before]
    new = _cell(master.cell_type, master.source)
    _as_released(new, name, master)
    made.cells.insert(places[-1] + 1 if places else 0, new)


def _name_cells(notebook: Any) -> None:
    """Gives every cell an id of its own, as the format wants it; graded cells come first to theirs."""
    taken: set[str] = set()
    graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader")]
    for cell in [*graded, *(cell for cell in notebook.cells if not cell.metadata.get("nbgrader"))]:
        name = cell.id if isinstance(cell.id, str) and ID.fullmatch(cell.id) else "cell"
        number, unique = 1, name
        while unique in taken:
            number += 1
            unique = f"{name[:56]}-{number}"
        taken.add(unique)
        cell.id = unique


def _unread(released: Any, receipt: Receipt) -> Any:
    """What stands in for a submission that could not be read: the lab as it was handed out, and why."""
    made = nbformat.from_dict(deepcopy(dict(released)))
    reasons = remarks.safe(receipt, receipt.notes)
    said = remarks.state_remark(receipt) if receipt.state is State.UNREADABLE else f"{receipt.state}: not run"
    lines = [f"**{markup.markdown(said)}**"]
    lines += [f"- {markup.markdown(reason)}" for reason in reasons if reason not in said]
    made.cells.insert(0, _cell("markdown", "\n".join(lines)))
    _name_cells(made)
    return made


def _say_what_was_earned(notebook: Any, receipt: Receipt) -> None:
    """Ends each check line's outputs with what it earned when it was graded."""
    checks = {f"check_{check.name}": check for check in receipt.checks}
    for name, cell in _named(notebook):
        if name in checks and cell.cell_type == "code":
            lines = remarks.safe(receipt, [remarks.earned(checks[name]), checks[name].mistake])
            text = "\nThis answer looks like one that makes a known mistake: ".join(lines)
            wrapped = "\n".join(textwrap.fill(line, WIDTH, break_on_hyphens=False) for line in text.splitlines())
            output = {"output_type": "display_data", "data": {"text/plain": wrapped}, "metadata": {}}
            cell.outputs.append(nbformat.from_dict(output))
