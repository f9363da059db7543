"""Lecture 00's explorer moved in JupyterLab, and a prediction locked before it is measured."""

import shutil
from pathlib import Path

import pytest

from tests.browser import reading
from tests.browser.jupyter import Notebook
from tests.browser.reading import index_of, run_cells

ROOT = Path(__file__).parents[2]
LECTURE = ROOT / "lectures" / "00_start.ipynb"
EXPLORER = "two_walls_explorer(devices"


def keep(notebook: Notebook, name: str, words: str) -> None:
    reading.keep(notebook, f"lecture00_{name}", words)


@pytest.fixture(scope="module")
def lecture(lab) -> Notebook:
    (lab.root / "lectures").mkdir()
    shutil.copy(LECTURE, lab.root / "lectures")
    notebook = lab.open("lectures/00_start.ipynb")
    run_cells(notebook, index_of(notebook, EXPLORER))
    return notebook


def test_an_arrow_key_moves_the_picture_and_the_reading_and_reset_takes_it_back(lecture):
    lecture.cell(index_of(lecture, EXPLORER))
    reading = lecture.page.get_by_role("status").filter(has_text="At 32,768 tokens and batch 8")
    reading.wait_for()
    slider = lecture.slider("context")
    before = lecture.picture(slider).screenshot()
    lecture.press(slider, "ArrowRight")
    lecture.page.get_by_role("status").filter(has_text="At 65,536 tokens and batch 8").wait_for()
    assert lecture.picture(slider).screenshot() != before
    lecture.press(lecture.slider("batch"), "ArrowRight")
    lecture.page.get_by_role("status").filter(has_text="batch 16").wait_for()
    keep(lecture, "explorer_moved", EXPLORER)
    lecture.page.get_by_role("button", name="Reset").last.click()
    reading.wait_for()
    assert lecture.picture(slider).screenshot() == before


def test_another_device_moves_the_picture_and_the_reading(lecture):
    lecture.cell(index_of(lecture, EXPLORER))
    slider = lecture.slider("context")
    before = lecture.picture(slider).screenshot()
    devices = lecture.page.locator(".widget-dropdown", has_text="device").locator("select")
    status = lecture.page.get_by_role("status")
    devices.select_option("one core here")
    status.filter(
        has_text="one core here holds"
    ).wait_for()  # what sets the speed depends on the machine: it was measured
    assert lecture.picture(slider).screenshot() != before
    devices.select_option("H100 SXM")
    status.filter(has_text="H100 SXM holds both").wait_for()
    assert lecture.picture(slider).screenshot() == before


def test_the_reading_says_what_the_library_counts(lecture):
    from course_lib.costs import DEVICES, PRESETS
    from course_lib.explore.two_walls import reading as said

    lecture.cell(index_of(lecture, EXPLORER))
    words = said(PRESETS["Llama-3.1-8B"], 32_768, 8, DEVICES["H100 SXM"])
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
    keep(notebook, "locked", "guess_attention = Prediction(")
    reveal = index_of(notebook, "guess_attention.reveal")
    run_cells(notebook, reveal, start=upto + 1)
    html = "".join(notebook.cells()[reveal]["outputs"][0]["data"]["text/html"])
    assert "predicted (50% confident): 16 times; measured here: " in html
    keep(notebook, "revealed", "guess_attention.reveal")
    assert notebook.errors() == []
