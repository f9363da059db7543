"""Lab 00 as a student meets it: the released notebook in JupyterLab, a wrong answer three times, then the right one."""

import shutil
from pathlib import Path

import pytest

from tests.browser import reading
from tests.browser.jupyter import Notebook
from tests.browser.reading import run

ROOT = Path(__file__).parents[2]
LAB = ROOT / "labs" / "lab00_two_walls" / "lab00_two_walls.ipynb"
WRONG = "def softmax(x):\n    e = np.exp(x)\n    return e / e.sum(axis=-1, keepdims=True)"
RIGHT = """def softmax(x):
    top = x.max(axis=-1, keepdims=True)
    e = np.exp(x - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)"""


@pytest.fixture(scope="module")
def student(lab) -> Notebook:
    shutil.copy(LAB, lab.root)
    notebook = lab.open(LAB.name)
    for words in ("importlib", "from course_lib.checks import lab", "def softmax"):
        run(notebook, words)
    return notebook


def keep(notebook: Notebook, name: str, words: str) -> None:
    reading.keep(notebook, f"lab00_{name}", words)


def test_the_ladder_of_help_and_then_the_points(student):
    untouched = run(student, "check.softmax(")
    assert "not written yet" in untouched
    assert "0 / 5 points" in untouched
    run(student, "def softmax", WRONG)
    first = run(student, "check.softmax(")  # looking at the untouched lab was no attempt
    assert "nan in" in first
    assert "Hint" not in first
    second = run(student, "check.softmax(")
    assert "<b>Hint:</b>" in second
    assert "known mistake" not in second
    third = run(student, "check.softmax(")
    assert "known mistake" in third
    keep(student, "third", "check.softmax(")
    run(student, "def softmax", RIGHT)
    passed = run(student, "check.softmax(")
    assert "7 of 7 cases, 5 / 5 points" in passed
    assert "Hint" not in passed
    assert "5 / 5" in run(student, "check.progress()")
    keep(student, "passed", "check.progress()")


def test_a_report_is_shown_in_the_page_and_not_only_in_the_file(student):
    index = next(i for i, cell in enumerate(student.cells()) if cell["source"] == "check.softmax(softmax)")
    cell = student.cell(index)
    assert "softmax (passed: 7 of 7 cases, 5 / 5 points)" in cell.inner_text().replace("\n", " ")
    assert student.console == []
