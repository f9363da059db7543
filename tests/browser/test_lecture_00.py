"""Lecture 00 as a reader meets it: run whole in JupyterLab, its explorer moved, a prediction locked before it is measured."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.jupyter import Notebook

ROOT = Path(__file__).parents[2]
LECTURE = ROOT / "lectures" / "00_start.ipynb"


# What a theme could make hard to read: our own outputs, which bring colours, on its background.
OUTPUTS = {
    "a report": "check.softmax(hasty_softmax)",
    "the progress": "check.progress()",
    "a prediction": "guess_attention = Prediction(",
    "the explorer": "two_walls_explorer(devices",
    "the doctor": "doctor.findings()",
}


def keep(notebook: Notebook, name: str, words: str) -> None:
    """Leaves a picture of the cell that holds `words` where SCREENSHOTS says, to be looked at."""
    if folder := os.environ.get("SCREENSHOTS"):
        cell = notebook.cell(index_of(notebook, words))
        notebook.screenshot(Path(folder) / f"lecture00_{name}.png", of=cell)


def index_of(notebook: Notebook, words: str) -> int:
    return next(i for i, cell in enumerate(notebook.cells()) if cell["cell_type"] == "code" and words in cell["source"])


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


def test_formulas_are_set_and_no_dollar_is_left(lecture):
    with_formulas = [
        i for i, cell in enumerate(lecture.cells()) if cell["cell_type"] == "markdown" and "$" in cell["source"]
    ]
    assert len(with_formulas) >= 5
    for index in with_formulas:
        cell = lecture.cell(index)
        cell.locator("mjx-container").first.wait_for(state="attached")
        assert "$" not in cell.locator(".jp-RenderedMarkdown").inner_text()
        assert cell.locator("mjx-merror, mjx-container [style*='color: red']").count() == 0


def test_no_line_of_code_runs_out_of_its_cell(lecture):
    for index, cell in enumerate(lecture.cells()):
        if cell["cell_type"] == "code" and not cell["metadata"].get("jupyter", {}).get("source_hidden"):
            editor = lecture.cell(index).locator(".jp-InputArea-editor .cm-scroller")
            editor.wait_for()
            over = editor.evaluate("editor => editor.scrollWidth - editor.clientWidth")
            assert over <= 0, f"{over} pixels of cell {index} are cut off:\n{cell['source']}"


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_what_is_printed_can_be_read_in_either_theme(lecture, theme):
    lecture.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    light = "true" if theme == "JupyterLab Light" else "false"
    lecture.page.locator(f"body[data-jp-theme-light={light}]").wait_for(state="attached")
    for what, words in OUTPUTS.items():
        area = lecture.cell(index_of(lecture, words)).locator(".jp-Cell-outputArea")
        area.wait_for()
        found = area.evaluate(CONTRASTS)
        assert found, what
        for text, contrast in found:
            # WCAG 2.2: 4.5 to 1 for text (success criterion 1.4.3), 3 to 1 for a mark (1.4.11).
            assert contrast >= (3 if len(text) == 1 else 4.5), f"{what} in {theme}: {text!r} at {contrast:.2f} to 1"
        keep(lecture, f"{what.replace(' ', '_')}_{theme.split()[1]}", words)


def test_an_arrow_key_moves_the_picture_and_the_reading_and_reset_takes_it_back(lecture):
    lecture.cell(index_of(lecture, "two_walls_explorer(devices"))
    reading = lecture.page.get_by_role("status").filter(has_text="At 32,768 tokens and batch 8")
    reading.wait_for()
    slider = lecture.slider("context")
    before = lecture.picture(slider).screenshot()
    lecture.press(slider, "ArrowRight")
    lecture.page.get_by_role("status").filter(has_text="At 65,536 tokens and batch 8").wait_for()
    assert lecture.picture(slider).screenshot() != before
    lecture.press(lecture.slider("batch"), "ArrowRight")
    lecture.page.get_by_role("status").filter(has_text="batch 16").wait_for()
    keep(lecture, "explorer_moved", "two_walls_explorer(devices")
    lecture.page.get_by_role("button", name="Reset").last.click()
    reading.wait_for()
    assert lecture.picture(slider).screenshot() == before


def test_another_device_moves_the_picture_and_the_reading(lecture):
    lecture.cell(index_of(lecture, "two_walls_explorer(devices"))
    slider = lecture.slider("context")
    before = lecture.picture(slider).screenshot()
    devices = lecture.page.locator(".widget-dropdown", has_text="device").locator("select")
    status = lecture.page.get_by_role("status")
    devices.select_option("one core here")
    status.filter(has_text="one core here holds").wait_for()
    status.filter(has_text="Multiplying sets the speed").wait_for()
    assert lecture.picture(slider).screenshot() != before
    devices.select_option("H100 SXM")
    status.filter(has_text="H100 SXM holds both").wait_for()
    assert lecture.picture(slider).screenshot() == before


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
    keep(notebook, "locked", "guess_attention = Prediction(")
    reveal = index_of(notebook, "guess_attention.reveal")
    run_cells(notebook, reveal, start=upto + 1)
    html = "".join(notebook.cells()[reveal]["outputs"][0]["data"]["text/html"])
    assert "predicted (50% confident): 16 times; measured here: " in html
    keep(notebook, "revealed", "guess_attention.reveal")
    assert notebook.errors() == []


# The contrast of each piece of text in an output with what lies behind it, by the formula of WCAG 2.2.
CONTRASTS = """area => {
    const channels = colour => colour.match(/[\\d.]+/g).map(Number);
    const over = ([r, g, b, a = 1], below) => [r, g, b].map((value, i) => a * value + (1 - a) * below[i]);
    const luminance = colour => {
        const [r, g, b] = colour.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = element => element
        ? over(channels(getComputedStyle(element).backgroundColor), behind(element.parentElement))
        : [255, 255, 255];
    const texts = document.createTreeWalker(area, NodeFilter.SHOW_TEXT), found = [];
    while (texts.nextNode()) {
        const text = texts.currentNode.textContent.trim(), element = texts.currentNode.parentElement;
        if (!text || !element.checkVisibility() || element.closest('style, svg, option')) continue;
        const below = behind(element), above = over(channels(getComputedStyle(element).color), below);
        const [low, high] = [luminance(below), luminance(above)].sort((a, b) => a - b);
        found.push([text, (high + 0.05) / (low + 0.05)]);
    }
    return found;
}"""


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
