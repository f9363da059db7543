"""The section of an exercise in a notebook, and what stands in its place.

A section begins at a text cell whose first line is a heading of the second level (`## …`) and ends before the next such cell. The
section of a graded item is the one that its cell stands in. A variant is one whole section: it begins with such a heading,
holds no other, and its graded cells (check lines, answers in code and in words) have the names of those it replaces, so
that the gradebook has one lab, and what builds on an answer finds it under its name. One check of a section cannot be
varied apart from the others.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from course_lib.checks.definition import Lab
from course_lib.house import notebooks
from course_lib.house.release import mark, release

NUMBER = re.compile(r"\{\{(\w+)\}\}")


def section(cells: Sequence[Any], item: str) -> slice:
    """Where the section of a check or written item is. Raises ValueError when there is no such item, or no heading before it."""
    there = next((i for i, cell in enumerate(cells) if grade_id(cell) in (item, f"check_{item}")), None)
    if there is None:
        raise ValueError(f"the notebook has no check and no written item {item!r}")
    start = next((i for i in range(there, -1, -1) if is_heading(cells[i])), None)
    if start is None:
        raise ValueError(
            f"no heading (## …) stands before the exercise of {item!r}, so it has no section to be replaced"
        )
    end = next((i for i in range(there + 1, len(cells)) if is_heading(cells[i])), len(cells))
    return slice(start, end)


def marked(path: Path, lab: Lab, replaces: Sequence[Any]) -> Any:
    """The notebook of a variant's file, with nbgrader's marks and its answers; `replaces` are the cells of the lab's section.

    Raises ValueError for a file that is not one whole section of the lab.
    """
    variant = notebooks.read(path)
    wanted = sorted(graded(replaces))
    headings = [i for i, cell in enumerate(variant.cells) if is_heading(cell)]
    if headings != [0]:
        raise ValueError(f"{path} must begin with the heading of its section (a text cell, ## …) and hold no other")
    small = Lab(lab.name, lab.title, lab.minutes)
    small.checks = {name: check for name, check in lab.checks.items() if f"check_{name}" in wanted}
    small.written_items = {name: item for name, item in lab.written_items.items() if name in wanted}
    try:
        mark(variant, small)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if (found := sorted(graded(variant.cells))) != wanted:
        raise ValueError(
            f"{path} must have the graded cells of the section that it replaces ({', '.join(wanted)}), has {', '.join(found)}"
        )
    return notebooks.settle(variant)


def handed_out(variant: Any, lab: str) -> list[Any]:
    """The cells of a marked variant as a student gets them, made by nbgrader, as the public ones are."""
    return list(release(variant, lab).cells)


def filled(cells: Sequence[Any], numbers: Mapping[str, Any], file: Path) -> list[Any]:
    """Copies of a variant's cells with a student's numbers in them. Raises ValueError for one that is not drawn."""
    from nbgrader.utils import compute_checksum

    def number(found: re.Match[str]) -> str:
        if found[1] not in numbers:
            raise ValueError(f"{file} has {found[0]}, and the numbers are {', '.join(numbers) or 'none'}")
        return str(numbers[found[1]])

    made = []
    for cell in cells:
        own = copy.deepcopy(cell)
        own.source = NUMBER.sub(number, cell.source)
        if own.source != cell.source and "checksum" in own.metadata.get("nbgrader", {}):
            own.metadata["nbgrader"]["checksum"] = compute_checksum(own)
        made.append(own)
    return made


def replaced(notebook: Any, sections: Mapping[str, Sequence[Any]], course: Mapping[str, Any]) -> Any:
    """A copy of a notebook with other cells for the sections of some items, and `course` in its metadata."""
    made = copy.deepcopy(notebook)
    for item, cells in sections.items():
        made.cells[section(made.cells, item)] = cells
    return notebooks.settle(made, dict(course))


def graded(cells: Sequence[Any]) -> list[str]:
    """The names of the graded cells among some."""
    return [name for cell in cells if (name := grade_id(cell))]


def grade_id(cell: Any) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def is_heading(cell: Any) -> bool:
    return cell.cell_type == "markdown" and cell.source.startswith("## ")
