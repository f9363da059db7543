"""Ten notebooks that students hand in: right, partly right, untouched, broken, each with the points it must get.

Plain nbgrader runs the notebook's own check lines, so the points are those of the visible cases.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from course_lib.checks import labs, variants

ROOT = Path(__file__).parents[2]
LAB = "lab00_two_walls"
SOURCE = ROOT / "solutions" / LAB
RELEASE = ROOT / "labs" / LAB / f"{LAB}.ipynb"
FULL = {
    "check_softmax": 5,
    "check_score_entries": 3,
    "check_cache_by_hand": 3,
    "check_generate": 2,
    "check_prediction": 2,
    "check_cache_bug": 3,
}
NOTHING = dict.fromkeys(FULL, 0)


@dataclass(frozen=True)
class Submission:
    """A student's notebook; `points` by test cell, or None when nbgrader cannot read the file at all."""

    student: str
    text: str
    points: dict[str, float] | None
    answered: bool = False  # the written item


def all_ten() -> list[Submission]:
    """The notebooks, ready to be written to disk."""
    no_maximum = visible_share("softmax_without_maximum", "softmax")
    half_entries = visible_share("entries_half_of_the_square", "score_entries")
    return [
        right("ada"),
        right("ben", written=False, softmax=known("softmax_without_maximum"), points={"check_softmax": no_maximum}),
        right("cleo", score_entries=known("entries_half_of_the_square"), points={"check_score_entries": half_entries}),
        _made("dan", lambda notebook: None, NOTHING),
        right("eve", softmax="def softmax(x:\n    return x", points={"check_softmax": 0}),
        right("finn", setup='raise RuntimeError("no idea")', points={}),
        right("gus", softmax=None, points={"check_softmax": 0}),
        right("hua", softmax=_loud(), points={}),
        Submission("ira", '{"cells": [', None),
        right(
            "jo",
            check_softmax="5.0",
            softmax="import scipy.special\nsoftmax = scipy.special.softmax",
            points={"check_softmax": 0},
        ),
    ]


def visible_share(known_wrong: str, check: str) -> float:
    """What a known-wrong answer scores on the visible cases of a check."""
    wrong = {answer.name: answer for answer in labs.known_wrong(SOURCE)}[known_wrong]
    lab = labs.load(SOURCE)
    cells = variants.replaced(variants.solution_cells(SOURCE), wrong)
    return variants.run(cells, lab, lambda one: one.visible_cases())[check].score


def answers() -> dict[str, str]:
    """The author's answers by the name of the cell."""
    from course_lib.house import sync

    _, notebook = sync.marked_notebook(ROOT, SOURCE)
    cells = (cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution"))
    return {cell.metadata["nbgrader"]["grade_id"]: cell.source for cell in cells}


def right(
    student: str, written: bool = True, points: dict[str, float] | None = None, **replaced: str | None
) -> Submission:
    """The author's answers, some of them replaced (None: the cell is deleted; "setup": put into the first code cell)."""

    def edit(notebook: Any) -> None:
        texts = answers() | {name: text for name, text in replaced.items() if text is not None}
        if not written:
            del texts["which_wall"]
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in texts:
                cell.source = texts[name]
        gone = {name for name, text in replaced.items() if text is None}
        notebook.cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in gone]
        if "setup" in replaced:
            first = next(cell for cell in notebook.cells if cell.cell_type == "code")
            first.source = f"{replaced['setup']}\n{first.source}"

    return _made(student, edit, FULL | (points or {}), written)


def _made(student: str, edit: Callable[[Any], None], points: dict[str, float], answered: bool = False) -> Submission:
    notebook = nbformat.read(RELEASE, as_version=4)
    edit(notebook)
    return Submission(student, nbformat.writes(notebook), points, answered)


def known(name: str) -> str:
    return next(answer.code for answer in labs.known_wrong(SOURCE) if answer.name == name)


def _loud() -> str:
    """A right answer that warns and prints to both streams."""
    right = answers()["softmax"]
    noise = '    import sys, warnings\n    warnings.warn("careful")\n    print("hello", x.shape, file=sys.stderr)\n'
    return right.replace("    ### BEGIN SOLUTION\n", "    ### BEGIN SOLUTION\n" + noise)
