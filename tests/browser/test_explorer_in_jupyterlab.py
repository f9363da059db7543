"""An explorer and a prediction, moved by keys in a real JupyterLab."""

import os
import re
import statistics
import urllib.request
from pathlib import Path

import nbformat
import pytest

from tests.browser.jupyter import Lab, Notebook, NotebookError

WAVE = """
import numpy as np
from course_lib.explore import Choice, Explorer, Prediction, Slider, style

x = np.linspace(0, 10, 400)

def build(figure):
    left, right = figure.subplots(1, 2)
    left.set(xlim=(0, 10), ylim=(-1.2, 1.2), xlabel="time (s)", ylabel="voltage (V)", title="one wave")
    right.set(ylim=(0, 8), ylabel="energy (J)", title="what it carries")
    wave, = left.plot(x, 0 * x, label="voltage")
    left.legend(loc="upper right")
    return {"wave": wave, "bars": right.bar(["now", "at 1 Hz"], [0, 1], color=[style.COLOURS["blue"], style.COLOURS["sky"]])}

def update(artists, frequency, shape):
    height = np.sin(frequency * x)
    artists["wave"].set_ydata(np.sign(height) if shape == "square" else height)
    artists["bars"][0].set_height(frequency)
    if frequency > 7:
        raise ValueError("the wire melts")
    return f"At {frequency:g} Hz a {shape} wave carries {frequency:.2f} J."

Explorer(
    [
        Slider("frequency", "frequency", (0.5, 8, 0.25), start=1, unit="Hz"),
        Choice("shape", "shape of the wave", ["sine", "square"], "sine"),
    ],
    build,
    update,
    alt="Voltage over time, and the energy as a bar.",
)
"""


def put(lab, name: str, *cells: str) -> str:
    """Writes a notebook of code cells under the lab's root."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, lab.root / name)
    return name


@pytest.fixture(scope="module")
def wave(lab) -> Notebook:
    notebook = lab.open(put(lab, "wave.ipynb", WAVE, 'Prediction("wave", "How many?", "J", low=1, high=1e4, log=True)'))
    notebook.run_all()
    return notebook


def reading(notebook: Notebook) -> str:
    return notebook.page.locator("[role=status]").first.inner_text()


def wait_for_reading(notebook: Notebook, words: str) -> None:
    notebook.page.locator("[role=status]", has_text=words).first.wait_for(timeout=20_000)


def keep(notebook: Notebook, name: str) -> None:
    """Leaves a screenshot where SCREENSHOTS says, to be looked at."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        notebook.screenshot(Path(folder) / f"{name}.png")


def test_an_arrow_key_moves_the_picture_and_its_reading(wave):
    wave.page.get_by_role("button", name="Reset").click()
    wait_for_reading(wave, "At 1 Hz a sine")
    before = wave.picture(wave.slider("frequency")).screenshot()
    (milliseconds,) = wave.time_keys(wave.slider("frequency"), "ArrowRight", events=1)
    wait_for_reading(wave, "At 1.25 Hz a sine wave carries 1.25 J.")
    assert milliseconds > 0
    assert wave.picture(wave.slider("frequency")).screenshot() != before
    keep(wave, "moved")


def test_the_keys_stay_with_the_slider(wave):
    wave.press(wave.slider("frequency"), "Home")
    wait_for_reading(wave, "At 0.5 Hz")
    for key, words in [("ArrowUp", "At 0.75 Hz"), ("ArrowDown", "At 0.5 Hz"), ("ArrowRight", "At 0.75 Hz")]:
        wave.page.keyboard.press(key)  # no new focus: the last key must not have taken it away
        wait_for_reading(wave, words)


def test_a_choice_is_made_by_keyboard_and_reset_is_reached_by_tab(wave):
    wave.page.get_by_role("button", name="Reset").click()
    wait_for_reading(wave, "At 1 Hz a sine")
    wave.page.get_by_role("combobox", name="shape of the wave").focus()
    for key in ("Space", "ArrowDown", "Enter"):
        wave.page.keyboard.press(key)
    wait_for_reading(wave, "At 1 Hz a square")
    wave.press(wave.slider("frequency"), "Home")
    wait_for_reading(wave, "At 0.5 Hz a square")
    for _ in range(6):
        wave.page.keyboard.press("Tab")
        if wave.page.evaluate("document.activeElement.innerText.trim()") == "Reset":
            break
    wave.page.keyboard.press("Enter")
    wait_for_reading(wave, "At 1 Hz a sine")


def test_held_keys_do_not_pile_up(wave):
    """Of many quick events the newest is drawn and most others are skipped: dragging does not run behind."""
    slider = wave.slider("frequency")
    wave.press(slider, "Home")
    wait_for_reading(wave, "At 0.5 Hz")
    picture = wave.picture(slider)
    picture.evaluate("picture => { window.drawn = 0; picture.addEventListener('load', () => window.drawn++); }")
    steps = 24
    slider.evaluate(
        """(handle, steps) => { for (let i = 0; i < steps; i++)
            handle.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})); }""",
        steps,
    )
    wait_for_reading(wave, f"At {0.5 + 0.25 * steps:g} Hz")
    assert 1 <= wave.page.evaluate("window.drawn") <= steps / 3


def test_an_error_while_drawing_is_told_to_the_reader(wave):
    wave.press(wave.slider("frequency"), "End")
    wait_for_reading(wave, "The picture could not be drawn: ValueError: the wire melts")
    wave.page.get_by_role("button", name="Reset").click()
    wait_for_reading(wave, "At 1 Hz")


def test_picture_and_slider_have_names_for_a_screen_reader(wave):
    name = wave.picture(wave.slider("frequency")).evaluate("picture => picture.alt || picture.title")
    assert name == "Voltage over time, and the energy as a bar."
    assert "Voltage over time" in wave.page.locator("details", has_text="This picture in words").text_content()


def test_the_reading_is_large_and_no_label_is_cut_off(wave):
    size = wave.page.locator("[role=status]").first.evaluate("words => parseFloat(getComputedStyle(words).fontSize)")
    assert size >= 14  # pixels
    labels = wave.page.locator(".widget-label, .widget-readout").all()
    assert len(labels) >= 5  # those of the explorer's controls and of the prediction's
    for label in labels:
        assert label.evaluate("part => part.scrollWidth <= part.clientWidth + 1"), label.inner_text()
    keep(wave, "panel")


def test_a_prediction_is_locked_in_its_form_and_stays_so(wave):
    field = wave.page.get_by_placeholder("from 1 to 10,000 J")
    wave.page.get_by_role("button", name="Lock").click()
    wave.page.get_by_text("Type a number first").wait_for()
    field.fill("20000")
    wave.page.get_by_role("button", name="Lock").click()
    wave.page.get_by_text("value: needs a number between 1 and 10,000 J").wait_for()
    field.fill("1,500")
    wave.page.get_by_role("button", name="Lock").click()
    wave.page.get_by_text("Locked: 1,500 J, 50% confident.").wait_for()
    assert field.is_disabled()
    keep(wave, "locked")


def test_the_picture_follows_a_key_and_the_console_stays_clean(wave):
    """Prints how long it takes; a benchmark judges that, a test does not."""
    slider = wave.slider("frequency")
    wave.press(slider, "Home")
    taken = wave.time_keys(slider, "ArrowRight", events=20)
    print(
        f"key press to new pixels: median {statistics.median(taken):.0f} ms of {len(taken)} (largest {max(taken):.0f} ms)"
    )
    assert len(taken) == 20
    assert wave.console == []


def test_a_failing_cell_is_reported_with_its_source_and_traceback(lab):
    notebook = lab.open(put(lab, "broken.ipynb", "fine = 1", "def halve(x):\n    return x / 0\nhalve(fine)"))
    with pytest.raises(NotebookError) as told:
        notebook.run_all()
    assert re.search(r"cell 1 failed: ZeroDivisionError.*return x / 0.*halve\(fine\)", str(told.value), re.DOTALL)
    assert [error.index for error in notebook.errors()] == [1]


def test_a_cell_far_down_is_scrolled_into_view(lab):
    notebook = lab.open(put(lab, "long.ipynb", *[f"print('this is cell {i}')\n" + "#\n" * 20 for i in range(30)]))
    notebook.run_all()
    for index in (29, 0, 14):
        cell = notebook.cell(index)
        cell.locator(".jp-OutputArea-output", has_text=re.compile(rf"this is cell {index}\b")).wait_for()
        assert cell.evaluate(
            "cell => cell.getBoundingClientRect().bottom > 0 && cell.getBoundingClientRect().top < innerHeight"
        )


def test_server_and_kernels_end_even_when_a_test_fails(browser, tmp_path):
    (tmp_path / "root").mkdir()
    seen = []

    def fail_beside_a_kernel():
        with Lab(tmp_path / "root", browser, tmp_path) as lab:
            notebook = lab.open(put(lab, "kernel.ipynb", "import os", "os.getpid()"))
            notebook.run_all()
            kernel = int(notebook.cells()[1]["outputs"][0]["data"]["text/plain"])
            os.kill(kernel, 0)  # it is there
            seen.extend([kernel, lab.address])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_beside_a_kernel()
    kernel, address = seen
    with pytest.raises(ProcessLookupError):
        os.kill(kernel, 0)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address)


def test_a_server_that_cannot_start_says_why(browser, tmp_path):
    with (
        pytest.raises(RuntimeError, match="No module named"),
        Lab(tmp_path, browser, tmp_path, environment={"PYTHONPATH": "", "PYTHONHOME": str(tmp_path)}),
    ):
        pass


def test_a_cell_that_never_ends_is_named(lab):
    notebook = lab.open(put(lab, "endless.ipynb", "import time", "time.sleep(60)"))
    with pytest.raises(NotebookError, match=r"cell 1 is running:\s+time.sleep\(60\)"):
        notebook.run_all(seconds=3)
