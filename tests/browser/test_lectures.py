"""Every lecture as a reader meets it: run whole in JupyterLab, and then looked at, formula by formula and cell by cell."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.jupyter import Notebook

LECTURES = sorted((Path(__file__).parents[2] / "lectures").glob("*.ipynb"))


@pytest.fixture(scope="module", params=LECTURES, ids=lambda path: path.stem)
def lecture(request, lab) -> Notebook:
    (lab.root / "lectures").mkdir(exist_ok=True)
    shutil.copy(request.param, lab.root / "lectures")
    notebook = lab.open(f"lectures/{request.param.name}")
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
def test_what_is_printed_can_be_read_in_either_theme(lecture, theme, request):
    lecture.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    light = "true" if theme == "JupyterLab Light" else "false"
    lecture.page.locator(f"body[data-jp-theme-light={light}]").wait_for(state="attached")
    printing = [i for i, cell in enumerate(lecture.cells()) if cell.get("outputs")]
    assert len(printing) >= 5
    for index in printing:
        area = lecture.cell(index).locator(".jp-Cell-outputArea")
        area.wait_for()
        for text, contrast in area.evaluate(CONTRASTS):
            # WCAG 2.2: 4.5 to 1 for text (success criterion 1.4.3), 3 to 1 for a mark (1.4.11).
            assert contrast >= (3 if len(text) == 1 else 4.5), (
                f"cell {index} in {theme}: {text!r} at {contrast:.2f} to 1"
            )
        if folder := os.environ.get("SCREENSHOTS"):
            name = f"{request.node.callspec.params['lecture'].stem}_{index:02}_{theme.split()[1]}.png"
            lecture.screenshot(Path(folder) / name, of=lecture.cell(index))


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
