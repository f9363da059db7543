"""One zygote for lab 00, and notebooks made of its solution with an answer replaced or cells added."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.grading.judge import Cell, Judged, Limits, judge_notebook
from autograder.grading.pool import Zygote
from autograder.sandbox import NOBODY, probe
from course_lib.checks import labs, variants
from course_lib.house.release import checked

FOLDER = Path(__file__).parents[3] / "solutions" / "lab00_two_walls"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(labs.load(FOLDER), probe()) as started:
        yield started


@pytest.fixture(scope="module")
def run(zygote) -> Callable[..., Judged]:
    """`run(softmax="def softmax…", before=[…], after=[…], seed=3)` judges the solution with these changes."""
    lab = labs.load(FOLDER)
    solution = [cell for cell in variants.solution_cells(FOLDER) if not cell.startswith("# Makes the course")]

    def judged(before: tuple = (), after: tuple = (), seed: int = 3, **answers: str) -> Judged:
        sources = []
        for source in solution:
            named = next((name for name in answers if source.startswith((f"def {name}(", f"class {name}:"))), None)
            sources.append(answers[named] if named else source)
        sources[1:1] = before
        sources += after
        cells = [Cell(i, f"check_{checked(s)}" if checked(s) else "", s) for i, s in enumerate(sources)]
        folder = tempfile.mkdtemp()
        if zygote.uid is not None:
            os.chown(folder, NOBODY, NOBODY)
        try:
            return judge_notebook(zygote, lab, cells, folder, seed, Limits(cell=2, notebook=20, check=2))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return judged


def scores(judged: Judged) -> dict[str, float]:
    return {name: evidence.score for name, evidence in judged.checks.items()}


def texts(judged: Judged) -> str:
    """Everything that the notebook showed."""
    return repr(judged.outputs)
