"""A course of its own in a folder, for measuring graders: the library, the grader, one lab, and what a class handed in.

The code is a copy, so that a lab that nobody is taught with can be published in it, and every command is the real one.

The class is the same each time. A quarter of it has everything right, one in twenty ends its process half-way, by an exit or
a segmentation fault in turn, and each of the others made one of the lab's known mistakes. Nobody loops for ever: that would
only say how long a grader waits.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat

from course_lib.checks import labs
from course_lib.house import sync

REPOSITORY = Path(__file__).parents[2]
LIGHT = Path(__file__).parent / "labs" / "light_numpy"
AS_TORCH = {
    "light_numpy": "light_torch",
    "import numpy as xp": "import torch as xp",
    'ARRAYS = "numpy"': 'ARRAYS = "torch"',
}
MARKED = re.compile(
    r"^ *### BEGIN GIVEN\n.*?^ *### END GIVEN\n?|^ *### (?:BEGIN|END) SOLUTION\n?", re.DOTALL | re.MULTILINE
)
ENDS = ("import os\nos._exit(3)", "import ctypes\nctypes.string_at(0)")


@dataclass(frozen=True)
class Student:
    """Who handed in what: `kind` is "right", "wrong" or "ends"."""

    name: str
    kind: str
    notebook: Any


class Course:
    """The folder `root` with one lab in it, generated files and all."""

    def __init__(self, root: Path, lab: str) -> None:
        self.root, self.lab = root, lab
        self.author = root / "solutions" / lab
        for package in ("course_lib", "autograder"):
            shutil.copytree(REPOSITORY / package, root / package, ignore=shutil.ignore_patterns("__pycache__", "cases"))
        shutil.copy(REPOSITORY / "pyproject.toml", root)
        (root / "lectures").mkdir()
        shutil.copy(REPOSITORY / "lectures" / "syllabus.toml", root / "lectures")
        _write_lab(lab, self.author)
        self.run("from course_lib.house.cli import main; main()", "sync")

    def run(self, code: str, *arguments: str, where: Path | None = None) -> subprocess.CompletedProcess:
        """Runs some Python with this course's code, as a process of its own. Raises ValueError where it fails."""
        done = self.start([sys.executable, "-c", code, *arguments], where)
        if done.returncode:
            raise ValueError(f"{' '.join(arguments)} failed: {done.stderr[-2000:] or done.stdout[-2000:]}")
        return done

    def start(self, command: list[str], where: Path | None = None) -> subprocess.CompletedProcess:
        """Runs a command with this course's code and the environment's tools."""
        tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        environment = os.environ | {"PATH": tools, "PYTHONPATH": str(self.root)}
        return subprocess.run(command, cwd=where or self.root, env=environment, capture_output=True, text=True)

    def released(self, name: str, students: list[Student]) -> Path:
        """A fresh nbgrader course in which the lab was released and these students have handed in."""
        course = self.root / name
        self.run("from autograder.cli import main; main()", "release", self.lab, "--course", str(course))
        for student in students:
            path = course / "submitted" / student.name / self.lab / f"{self.lab}.ipynb"
            path.parent.mkdir(parents=True)
            nbformat.write(student.notebook, path)
        return course

    def students(self, count: int) -> list[Student]:
        """A class of so many."""
        wrong = labs.known_wrong(self.author)
        kinds = [_kind(number) for number in range(count)]
        apart = max(1, len(wrong) // max(1, kinds.count("wrong")))
        return [
            Student(f"student{number:03d}", kind, self._notebook(kind, number, wrong[number * apart % len(wrong)]))
            for number, kind in enumerate(kinds)
        ]

    def _notebook(self, kind: str, number: int, wrong: labs.KnownWrong) -> Any:
        """The released notebook, filled in."""
        notebook = nbformat.read(self.root / "labs" / self.lab / f"{self.lab}.ipynb", as_version=4)
        answers = self._answers
        answered = [cell for cell in notebook.cells if name_of(cell) in answers]
        for place, cell in enumerate(answered):
            cell.source = answers[name_of(cell)]
            if kind == "ends" and place == len(answered) // 2:
                cell.source += f"\n{ENDS[number // 20 % 2]}"
            if kind == "wrong" and set(wrong.replaces) & labs.defined_names(cell.source):
                cell.source += f"\n{wrong.code}"
        return notebook

    @cached_property
    def _answers(self) -> dict[str, str]:
        """The author's answers in code, by the name of their cell, as a student would have typed them."""
        _, source = sync.marked_notebook(self.root, self.author)
        cells = [cell for cell in source.cells if "### BEGIN SOLUTION" in cell.source]
        return {name_of(cell): MARKED.sub("", cell.source) for cell in cells}


def name_of(cell: Any) -> str:
    """What nbgrader calls a cell."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _kind(number: int) -> str:
    return "ends" if number % 20 == 5 else "right" if number % 4 == 0 else "wrong"


def _write_lab(lab: str, into: Path) -> None:
    """The author's folder of a lab of the course, or of one of the two light ones."""
    if lab != "light_torch":
        there = LIGHT if lab == LIGHT.name else REPOSITORY / "solutions" / lab
        shutil.copytree(there, into, ignore=shutil.ignore_patterns("__pycache__"))
        return
    for path in LIGHT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for numpy, torch in AS_TORCH.items():
            text = text.replace(numpy, torch)
        sync.write(into / str(path.relative_to(LIGHT)).replace("light_numpy", "light_torch"), text)
