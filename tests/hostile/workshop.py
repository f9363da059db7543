"""Where hostile notebooks are made: from the released notebook of the small lab, with answers put in, cells added or taken."""

import copy
import json
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.house import notebooks, sync
from course_lib.house.release import release
from tests.hostile.entry import Entry, Files
from tests.hostile.ground import Ground

ROOT = Path(__file__).parents[2]
LAB = "lab99_light"
LABS = Path(__file__).parent / "lab"
FOLDER = LABS / LAB
CELLS = {
    LAB: ("softmax", "pairs", "nearly", "seconds", "Tally", "follow"),
    "lab98_legacy": ("weights", "prime", "Stack", "double"),
}
IMPORTS = "check = lab("  # what the lab's own first cell is known by

Notebook = dict[str, Any]
Change = Callable[[Notebook], None]


@cache
def _made(lab: str) -> tuple[str, str]:
    _, marked = sync.marked_notebook(ROOT, LABS / lab)
    out = notebooks.settle(release(copy.deepcopy(marked), lab), marked.metadata["course"])
    return notebooks.text(marked), notebooks.text(out)


def released(lab: str = LAB) -> Notebook:
    """The notebook as it is handed out."""
    return json.loads(_made(lab)[1])


def source(lab: str = LAB) -> Notebook:
    """The author's notebook, answers and all."""
    return json.loads(_made(lab)[0])


@cache
def _answers(lab: str) -> dict[str, str]:
    lines = {name_of(cell): text_of(cell).splitlines() for cell in source(lab)["cells"] if name_of(cell)}
    return {
        name: "\n".join(line for line in _without_given(text) if "### " not in line)
        for name, text in lines.items()
        if not name.startswith("check_")
    }


def _without_given(lines: list[str]) -> list[str]:
    return lines[: lines.index("### BEGIN GIVEN")] if "### BEGIN GIVEN" in lines else lines


def name_of(cell: dict[str, Any]) -> str:
    """What nbgrader calls the cell."""
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def text_of(cell: dict[str, Any]) -> str:
    """A cell's source."""
    return "".join(cell["source"])


def cell_of(notebook: Notebook, name: str) -> dict[str, Any]:
    """The cell that nbgrader calls `name`."""
    return next(cell for cell in notebook["cells"] if name_of(cell) == name)


def new_cell(source: str, kind: str = "code") -> dict[str, Any]:
    """A student's own cell."""
    more = {"outputs": [], "execution_count": None} if kind == "code" else {}
    name = f"own-{abs(hash(source)) % 10**9}"
    return {"cell_type": kind, "id": name, "metadata": {}, "source": textwrap.dedent(source).strip("\n")} | more


def solved(lab: str = LAB, **answers: str) -> Notebook:
    """The released notebook, filled in by an honest student, but for these answers."""
    notebook = released(lab)
    for cell in notebook["cells"]:
        if name_of(cell) in _answers(lab):
            answer = answers.pop(name_of(cell), _answers(lab)[name_of(cell)])
            cell["source"] = textwrap.dedent(answer).strip("\n")
    if answers:
        raise ValueError(f"the lab has no answers {', '.join(answers)}")
    return notebook


def after_imports(notebook: Notebook, source: str) -> None:
    """Adds a cell below the one that imports."""
    at = next(at for at, cell in enumerate(notebook["cells"]) if IMPORTS in text_of(cell))
    notebook["cells"].insert(at + 1, new_cell(source))


def after(notebook: Notebook, name: str, source: str) -> None:
    """Adds a cell below the one that nbgrader calls `name`."""
    notebook["cells"].insert(notebook["cells"].index(cell_of(notebook, name)) + 1, new_cell(source))


def packed(notebook: Notebook) -> bytes:
    """The notebook as it lies on a disk."""
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode()


def handed_in(notebook: Notebook | bytes, lab: str = LAB) -> Files:
    """A student's folder with that notebook and nothing else."""
    return {f"{lab}.ipynb": notebook if isinstance(notebook, bytes) else packed(notebook)}


def answering(name: str, code: str = "", lab: str = LAB, **expected: Any) -> Entry:
    """An entry with other answers, and code before them. Answers are given by the name of their cell, the rest is the entry's.

    Code may hold {outside}, {course}, {tcp}, {udp}, {abstract}, {judge} and {marker}: see the ground.
    """
    answers = {cell: expected.pop(cell) for cell in CELLS[lab] if cell in expected}

    def files(ground: Ground) -> Files:
        notebook = solved(lab, **{cell: ground.filled(text) for cell, text in answers.items()})
        if code:
            after_imports(notebook, ground.filled(textwrap.dedent(code)))
        return handed_in(notebook, lab)

    return Entry(name, files, lab=lab, **expected)


def changed(name: str, change: Change, **expected: Any) -> Entry:
    """An entry with a solved notebook to which something was done."""

    def files(ground: Ground) -> Files:
        notebook = solved()
        change(notebook)
        return handed_in(notebook)

    return Entry(name, files, **expected)
