"""Where an explorer is shown: text and a still picture without a notebook, widgets that follow each other with one."""

import subprocess
import sys

import numpy as np
from ipywidgets import HTML, Button, Image, SelectionSlider

from course_lib.explore import Explorer, frame
from tests.explore.parabola import explorer, from_scratch, pixels, update


def test_without_a_notebook_it_is_text_and_a_still_picture():
    shown = explorer()
    text = repr(shown)
    for words in ("The curve rises to 1.", "slope: 1", "power: 2", "A parabola beside three bars."):
        assert words in text
    data, _ = shown._repr_mimebundle_()
    assert data["text/plain"] == text
    assert 'alt="A parabola beside three bars."' in data["text/html"]
    assert "The curve rises to 1." in data["text/html"]
    assert not [kind for kind in data if "widget" in kind]


def test_a_front_end_gets_the_widgets_and_a_page_without_them_the_still_picture(monkeypatch):
    monkeypatch.setattr(frame, "has_front_end", lambda: True)
    data, _ = explorer()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<img" in data["text/html"]


def test_explorers_work_where_neither_ipywidgets_nor_ipython_nor_pyplot_can_be_imported():
    program = """
import sys
for name in ("ipywidgets", "IPython", "matplotlib.pyplot"):
    sys.modules[name] = None
from course_lib.explore import Explorer, Prediction, Slider
def build(figure):
    return figure.subplots().plot([], [])[0]
shown = Explorer([Slider("n", "n", (0, 3, 1), 1)], build, lambda line, n: f"n is {n}", alt="A line.")
shown.set(n=2)
assert shown.static().caption == shown.reading == "n is 2"
assert shown.redraw().startswith(b"\\x89PNG")
shown._repr_mimebundle_()
Prediction("key", "How many?", low=0, high=9).lock(3, 0.5).reveal(4)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# Its widgets


class Panel:
    """An explorer's widgets by kind, as a reader meets them."""

    def __init__(self, shown: Explorer) -> None:
        shown._panel = frame.Panel(shown)  # what showing it in a notebook does
        self.widgets = list(self._inside(shown._panel.box))

    def _inside(self, widget):
        yield widget
        for child in getattr(widget, "children", ()):
            yield from self._inside(child)

    def only(self, kind):
        (found,) = [widget for widget in self.widgets if isinstance(widget, kind)]
        return found

    def words(self) -> str:
        return " ".join(widget.value for widget in self.widgets if isinstance(widget, HTML))


def test_moving_a_slider_moves_picture_reading_and_values():
    shown = explorer()
    panel = Panel(shown)
    before = panel.only(Image).value
    panel.only(SelectionSlider).value = 3
    assert shown.values["slope"] == 3
    assert panel.only(Image).value != before
    assert np.array_equal(pixels(panel.only(Image).value), from_scratch(shown))
    assert "The curve rises to 3." in panel.words()


def test_the_reset_button_brings_everything_back():
    shown = explorer()
    panel = Panel(shown)
    before = panel.only(Image).value
    panel.only(SelectionSlider).value = -2
    panel.only(Button).click()
    assert panel.only(SelectionSlider).value == 1
    assert panel.only(Image).value == before
    assert "The curve rises to 1." in panel.words()


def test_the_panel_says_the_picture_in_words_and_shows_no_markup_of_its_readings():
    shown = explorer(alt="Where a < b.", update=lambda artists, slope, power: f"slope < {slope} & more")
    words = Panel(shown).words()
    assert "Where a &lt; b." in words
    assert "slope &lt; 1 &amp; more" in words


def test_an_update_that_fails_says_so_where_the_reading_stands():
    def fails_at_two(artists, slope, power):
        if slope == 2:
            raise ZeroDivisionError("nothing to divide by")
        return update(artists, slope, power)

    panel = Panel(explorer(update=fails_at_two))
    panel.only(SelectionSlider).value = 2
    assert "ZeroDivisionError: nothing to divide by" in panel.words()
    panel.only(SelectionSlider).value = 3
    assert "The curve rises to 3." in panel.words()
    assert "ZeroDivisionError" not in panel.words()
