"""Lecture 00 as a reader meets it: run whole in JupyterLab, its explorer moved, a prediction locked before it is measured."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.jupyter import Notebook

ROOT = Path(__file__).parents[2]
LECTURE = ROOT / "lectures" / "00_start.ipynb"


def keep(notebook: Notebook, name: str) -> None:
    """Leaves a screenshot where SCREENSHOTS says, to be looked at."""
    if folder := os.environ.get("SCREENSHOTS"):
        notebook.screenshot(Path(folder) / f"lecture00_{name}.png")


def index_of(notebook: Notebook, words: str) -> int:
    return next(i for i, cell in enumerate(notebook.cells()) if words in cell["source"])


@pytest.fixture(scope="module")
def lecture(lab) -> Notebook:
    (lab.root / "lectures").mkdir()
    shutil.copy(LECTURE, lab.root / "lectures")
    notebook = lab.open("lectures/00_start.ipynb")
    notebook.run_all(seconds=240)
    return notebook


def test_it_runs_whole_and_the_console_stays_clean(lecture):
    assert lecture.errors() == []
    assert lecture.console == []


def test_every_cell_with_a_picture_shows_it_with_words_for_those_who_cannot_see_it(lecture):
    pictures = [
        output["data"]
        for cell in lecture.cells()
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) >= 5
    for data in pictures:
        html = "".join(data.get("text/html", ""))
        assert 'alt="' in html
        assert 'alt=""' not in html


def test_an_arrow_key_moves_the_picture_and_the_reading_and_reset_takes_it_back(lecture):
    lecture.cell(index_of(lecture, "two_walls_explorer(devices"))
    reading = lecture.page.get_by_role("status").filter(has_text="At 32,768 tokens and batch 8")
    reading.wait_for()
    keep(lecture, "explorer")
    slider = lecture.slider("context")
    before = lecture.picture(slider).screenshot()
    lecture.press(slider, "ArrowRight")
    lecture.page.get_by_role("status").filter(has_text="At 65,536 tokens and batch 8").wait_for()
    assert lecture.picture(slider).screenshot() != before
    lecture.press(lecture.slider("batch"), "ArrowRight")
    lecture.page.get_by_role("status").filter(has_text="batch 16").wait_for()
    keep(lecture, "explorer_moved")
    lecture.page.get_by_role("button", name="Reset").last.click()
    reading.wait_for()


def test_the_reading_says_what_the_library_counts(lecture):
    from course_lib.costs import DEVICES, PRESETS
    from course_lib.explore.two_walls import reading

    lecture.cell(index_of(lecture, "two_walls_explorer(devices"))
    words = reading(PRESETS["Llama-3.1-8B"], 32_768, 8, DEVICES["H100 SXM"])
    assert lecture.page.get_by_role("status").filter(has_text=words).count() == 1


def test_a_prediction_is_locked_in_its_form_before_the_measurement_and_shown_beside_it(lab):
    (lab.root / "again").mkdir()
    shutil.copy(LECTURE, lab.root / "again")
    notebook = lab.open("again/00_start.ipynb")
    upto = index_of(notebook, "guess_attention = Prediction(")
    run_cells(notebook, upto)
    notebook.cell(upto)
    notebook.page.get_by_placeholder("from 1 to 256 times").fill("16")
    notebook.page.get_by_role("button", name="Lock").first.click()
    notebook.page.get_by_text("Locked: 16 times").wait_for()
    keep(notebook, "locked")
    reveal = index_of(notebook, "guess_attention.reveal")
    run_cells(notebook, reveal, start=upto + 1)
    html = "".join(notebook.cells()[reveal]["outputs"][0]["data"]["text/html"])
    assert "16 times" in html
    notebook.cell(reveal)
    keep(notebook, "revealed")
    assert notebook.errors() == []


def run_cells(notebook: Notebook, last: int, start: int = 0) -> None:
    """Runs the cells up to `last`, one by one, as a reader does with Shift+Enter."""
    notebook.page.evaluate(
        """async ([start, last]) => {
            const content = jupyterapp.shell.currentWidget.content;
            for (let i = start; i <= last; i++) {
                content.activeCellIndex = i;
                await jupyterapp.commands.execute('notebook:run-cell');
            }
        }""",
        [start, last],
    )
