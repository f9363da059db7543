"""Solved notebooks of the labs, and what happens to a notebook on its way: marks lost, cells copied, moved, split, retyped."""

import ast
import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autograder.intake.align import Aligned
from autograder.intake.cells.code import bound_names, parsed
from course_lib.house import sync

ROOT = Path(__file__).parents[3]
LABS = sorted(path.stem for path in (ROOT / "labs").glob("*/*.ipynb") if (ROOT / "solutions" / path.stem).is_dir())
LAB = "lab00_two_walls"


def released(lab: str = LAB) -> dict[str, Any]:
    """The notebook that students get."""
    return json.loads(_released_text(lab))


@cache
def _released_text(lab: str) -> str:
    return (ROOT / "labs" / lab / f"{lab}.ipynb").read_text(encoding="utf-8")


@cache
def answers(lab: str = LAB) -> dict[str, str]:
    """The author's answers, in code and in words, by the name of their cell."""
    _, notebook = sync.marked_notebook(ROOT, ROOT / "solutions" / lab)
    marked = ((cell.metadata.get("nbgrader", {}), cell.source) for cell in notebook.cells)
    return {about["grade_id"]: source for about, source in marked if about.get("solution")}


def solved(lab: str = LAB) -> dict[str, Any]:
    """The released notebook with the author's answers in it."""
    notebook = released(lab)
    for cell in notebook["cells"]:
        cell["source"] = answers(lab).get(name_of(cell), source_of(cell))
    return notebook


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def name_of(cell: dict[str, Any]) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def find(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """The cell that nbgrader calls `name`."""
    return next(cell for cell in notebook["cells"] if name_of(cell) == name)


def new_cell(kind: str, source: str, **fields: Any) -> dict[str, Any]:
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return (
        {"cell_type": kind, "id": f"new-{abs(hash(source)) % 10**8}", "metadata": {}, "source": source} | code | fields
    )


@dataclass
class Hazards:
    """Things that happen to a notebook; each takes a notebook apart by the random numbers it is given."""

    lab: str
    draw: random.Random

    def strip_marks(self, notebook: dict[str, Any]) -> None:
        for cell in notebook["cells"]:
            cell["metadata"] = {}
            cell.pop("id", None)

    def rename_ids(self, notebook: dict[str, Any]) -> None:
        for number, cell in enumerate(notebook["cells"]):
            cell["id"] = f"x{number}"
            if "nbgrader" in cell["metadata"]:
                cell["metadata"]["nbgrader"]["grade_id"] = f"cell-{number}"

    def swap_marks(self, notebook: dict[str, Any]) -> None:
        marked = [cell for cell in notebook["cells"] if name_of(cell) and name_of(cell) in self._code_answers()]
        one, other = self.draw.sample(marked, 2) if len(marked) > 1 else notebook["cells"][:2]
        one["metadata"], other["metadata"] = other["metadata"], one["metadata"]
        one["id"], other["id"] = other.get("id", "a"), one.get("id", "b")

    def copy_untouched(self, notebook: dict[str, Any]) -> None:
        """An empty copy of a cell for an answer, anywhere."""
        name = self.draw.choice(self._code_answers())
        stub = copy.deepcopy(find(released(self.lab), name)) | {
            "id": f"copy-{self.draw.random()}"[:20].replace(".", "")
        }
        self._insert(notebook, stub)

    def copy_check(self, notebook: dict[str, Any]) -> None:
        checks = [cell for cell in notebook["cells"] if source_of(cell).startswith("check.") and "(" in source_of(cell)]
        if checks:
            self._insert(notebook, copy.deepcopy(self.draw.choice(checks)))

    def shuffle(self, notebook: dict[str, Any]) -> None:
        self.draw.shuffle(notebook["cells"])

    def move_one(self, notebook: dict[str, Any]) -> None:
        cells = notebook["cells"]
        self._insert(notebook, cells.pop(self.draw.randrange(len(cells))))

    def split(self, notebook: dict[str, Any]) -> None:
        """An answer is cut in two between two of its statements; both keep the marks, as in JupyterLab."""
        cells = notebook["cells"]
        fits = [at for at, cell in enumerate(cells) if len(self._cuts(cell)) > 0]
        if not fits:
            return
        at = self.draw.choice(fits)
        lines = source_of(cells[at]).split("\n")
        cut = self.draw.choice(self._cuts(cells[at]))
        upper, lower = copy.deepcopy(cells[at]), copy.deepcopy(cells[at])
        upper["source"], lower["source"] = "\n".join(lines[:cut]), "\n".join(lines[cut:])
        lower.pop("id", None)
        cells[at : at + 1] = [upper, lower]

    def _cuts(self, cell: dict[str, Any]) -> list[int]:
        tree = parsed(source_of(cell))
        names = {name for source in self._sources() for name in bound_names(source)}
        if cell["cell_type"] != "code" or tree is None or not bound_names(source_of(cell)) & names:
            return []
        return [node.end_lineno for node in tree.body[:-1]]

    def retype(self, notebook: dict[str, Any]) -> None:
        cell = self.draw.choice([cell for cell in notebook["cells"] if source_of(cell).strip()])
        cell["cell_type"] = self.draw.choice(
            [kind for kind in ("code", "raw", "markdown") if kind != cell["cell_type"]]
        )

    def delete_check(self, notebook: dict[str, Any]) -> None:
        checks = [cell for cell in notebook["cells"] if source_of(cell).startswith("check.")]
        if checks:
            notebook["cells"].remove(self.draw.choice(checks))

    def edit_check(self, notebook: dict[str, Any]) -> None:
        checks = [cell for cell in notebook["cells"] if source_of(cell).startswith("check.") and "(" in source_of(cell)]
        if checks:
            cell = self.draw.choice(checks)
            cell["source"] = source_of(cell).replace("(", "(lambda *_: 1) or (", 1)

    def scribble(self, notebook: dict[str, Any]) -> None:
        kind, text = self.draw.choice(
            [("code", "1 + 1"), ("markdown", "Why?"), ("code", "import math"), ("raw", "a b")]
        )
        self._insert(notebook, new_cell(kind, text))

    def delete_text(self, notebook: dict[str, Any]) -> None:
        texts = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown" and not self._is_answer(cell)]
        if texts:
            notebook["cells"].remove(self.draw.choice(texts))

    def _is_answer(self, cell: dict[str, Any]) -> bool:
        return any(source_of(cell) == answer for answer in answers(self.lab).values())

    def _code_answers(self) -> list[str]:
        kinds = {name_of(cell): cell["cell_type"] for cell in released(self.lab)["cells"]}
        return [name for name in answers(self.lab) if kinds[name] == "code"]

    def _sources(self) -> list[str]:
        return [answers(self.lab)[name] for name in self._code_answers()]

    def _insert(self, notebook: dict[str, Any], cell: dict[str, Any]) -> None:
        notebook["cells"].insert(self.draw.randrange(len(notebook["cells"]) + 1), cell)


HAZARDS: dict[str, Callable[[Hazards, dict[str, Any]], None]] = {
    name: function for name, function in vars(Hazards).items() if callable(function) and not name.startswith("_")
}


def lost(aligned: Aligned, lab: str) -> list[str]:
    """The names of graded cells that were not recovered: none for a notebook that holds every answer.

    A check must be there once, as released, in its place; before it, the last statement that binds each name of an answer
    must be the author's; an answer in words must be the author's text.
    """
    places = [cell for cell in released(lab)["cells"] if name_of(cell)]
    order = [name_of(cell) for cell in places]
    found = [cell for cell in aligned.cells if cell.name]
    faults = [] if [cell.name for cell in found] == order else ["the order of the graded cells"]
    bound: dict[str, str] = {}
    for cell in aligned.cells:
        if cell.kind in ("code", "solution", "setup"):
            bound |= definitions(cell.source)
        elif cell.kind == "check":
            wanted = next(place for place in places if name_of(place) == cell.name)
            if cell.source != source_of(wanted):
                faults.append(cell.name)
            faults += [f"{name}, before {cell.name}" for name in _used(cell.source) if _wrong(name, bound, lab)]
        elif cell.kind == "written" and (cell.source != answers(lab)[cell.name] or not cell.answered):
            faults.append(cell.name)
    return faults + [f"{name}, missing" for name in aligned.missing]


def definitions(source: str) -> dict[str, str]:
    """Each name that a cell binds, with the statement that does so last."""
    tree = parsed(source)
    nodes = tree.body if tree is not None else []
    return {name: ast.dump(node) for node in nodes for name in bound_names(ast.unparse(node))}


def _wrong(name: str, bound: dict[str, str], lab: str) -> bool:
    return name in _wanted(lab) and bound.get(name) != _wanted(lab)[name]


@cache
def _wanted(lab: str) -> dict[str, str]:
    return {key: form for answer in answers(lab).values() for key, form in definitions(answer).items()}


def _used(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
