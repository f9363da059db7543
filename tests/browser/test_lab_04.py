"""Lab 04 as a student meets it: a well-known mistake made three times in JupyterLab, then the right answer."""

import shutil
from pathlib import Path

import pytest

from tests.browser import reading
from tests.browser.jupyter import Notebook
from tests.browser.reading import run

NAME = "lab04_speculative_decoding"
LAB = Path(__file__).parents[2] / "labs" / NAME / f"{NAME}.ipynb"
WRONG = "def acceptance_rate(p, q):\n    return np.sum(p * q, axis=-1)"
RIGHT = "def acceptance_rate(p, q):\n    return np.sum(np.minimum(p, q), axis=-1)"


@pytest.fixture(scope="module")
def student(lab) -> Notebook:
    shutil.copy(LAB, lab.root)
    notebook = lab.open(LAB.name)
    for words in ("importlib", "from course_lib.checks import lab"):
        run(notebook, words)
    return notebook


def test_a_known_mistake_is_named_at_the_third_attempt_and_the_right_answer_passes(student):
    run(student, "def acceptance_rate", WRONG)
    reports = [run(student, "check.acceptance_rate(") for _ in range(3)]
    assert "Hint" not in reports[0]
    assert "<b>Hint:</b>" in reports[1]
    assert "known mistake" in reports[2]
    reading.keep(student, "lab04_third", "check.acceptance_rate(")
    run(student, "def acceptance_rate", RIGHT)
    assert "4 / 4 points" in run(student, "check.acceptance_rate(")
    assert "4 / 4" in run(student, "check.progress()")
    reading.keep(student, "lab04_progress", "check.progress()")
    assert student.console == []
