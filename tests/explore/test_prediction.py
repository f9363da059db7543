"""A prediction is locked once, stands beside what was measured, and never stops a notebook that runs unattended."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ipywidgets import HTML, Button, IntSlider, Text
from matplotlib.text import Text as Words

from course_lib.explore import Prediction, prediction
from course_lib.explore.reference import ReferenceRun

unused = (f"test_{number}" for number in count())


def question(key=None, low=0, high=1000, **options) -> Prediction:
    """A prediction under a key that no other test has locked."""
    return Prediction(key or next(unused), "How many tokens a second?", "tokens/s", low=low, high=high, **options)


def run(**values) -> ReferenceRun:
    return ReferenceRun(values, machine="a named machine, 2 cores", date="2026-01-31", command="make bench")


def words(figure) -> str:
    return " ".join(" ".join(text.get_text().split()) for text in figure.findobj(Words) if text.get_visible())


# Locking


def test_a_prediction_is_open_until_it_is_locked():
    asked = question()
    assert (asked.locked, asked.value, asked.confidence, asked.band) == (False, None, None, None)
    asked.lock(300, 0.7)
    assert (asked.locked, asked.value, asked.confidence) == (True, 300, 0.7)


def test_what_is_locked_stays_whoever_asks_again():
    asked = question()
    asked.lock(300, 0.7)
    again = question(asked.key)
    with pytest.warns(UserWarning, match="300"):
        again.lock(400, 0.9)
    for one in (asked, again):
        assert (one.value, one.confidence) == (300, 0.7)


@pytest.mark.filterwarnings("error")
def test_a_cell_that_runs_again_locks_the_same_without_a_word():
    asked = question()
    for _ in range(2):
        question(asked.key).lock(300, 0.7)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 1001, "300", None, True])
def test_a_value_that_cannot_be_is_refused_and_nothing_is_locked(value):
    asked = question()
    with pytest.raises(ValueError, match=r"^value: needs a number between 0 and 1,000 tokens/s"):
        asked.lock(value, 0.5)
    assert not asked.locked


@pytest.mark.parametrize("confidence", [float("nan"), -0.1, 1.1, 70, "high", None])
def test_a_confidence_lies_between_zero_and_one(confidence):
    asked = question()
    with pytest.raises(ValueError, match=r"^confidence: needs a number between 0 and 1"):
        asked.lock(300, confidence)
    assert not asked.locked


@pytest.mark.parametrize(
    ("low", "high", "log"), [(1, 1, False), (2, 1, False), (0, 10, True), (-1, 10, True), (0, float("inf"), False)]
)
def test_a_range_that_holds_no_answer_is_refused(low, high, log):
    with pytest.raises(ValueError, match="low, high"):
        question(low=low, high=high, log=log)


# The band


@given(value=st.floats(1, 1000), confidence=st.floats(0, 1), log=st.booleans())
def test_the_band_lies_in_the_range_and_holds_the_prediction(value, confidence, log):
    asked = question(low=1, log=log).lock(value, confidence)
    low, high = asked.band
    assert 1 <= low <= value <= high <= 1000


@given(value=st.floats(1, 1000), confidence=st.floats(0, 1), log=st.booleans())
def test_more_confidence_never_widens_the_band(value, confidence, log):
    sure, surer = (question(low=1, log=log).lock(value, c).band for c in (confidence, (1 + confidence) / 2))
    assert sure[0] <= surer[0] * (1 + 1e-12)
    assert surer[1] <= sure[1] * (1 + 1e-12)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("value", [1, 30, 500, 1000])
def test_without_any_confidence_every_answer_would_be_a_hit(value, log):
    assert question(low=1, log=log).lock(value, 0).band == pytest.approx((1, 1000))


def test_the_band_covers_the_share_of_the_range_that_confidence_leaves():
    assert question(low=0, high=1000).lock(500, 0.8).band == pytest.approx((400, 600))
    # Four decades, of which a half: one to each side of a hundred.
    assert question(low=1, high=10_000, log=True).lock(100, 0.5).band == pytest.approx((10, 1000))


# What is revealed


@given(value=st.floats(1, 1000), log=st.booleans())
def test_with_full_confidence_only_the_number_itself_is_a_hit(value, log):
    low, high = question(low=1, log=log).lock(value, 1).band
    assert low <= value <= high
    assert (low, high) == pytest.approx((value, value), rel=1e-12)


@pytest.mark.parametrize(
    ("measured", "verdict"), [(401, "inside"), (599, "inside"), (399, "outside"), (2500, "outside")]
)
def test_the_picture_says_whether_the_prediction_held(measured, verdict):
    asked = question().lock(500, 0.8)
    said = words(asked.reveal(measured))
    assert verdict in said
    assert "500 tokens/s" in said
    assert "80%" in said


def test_prediction_measurement_and_reference_stand_side_by_side():
    asked = question()
    picture = asked.lock(300, 0.5).reveal(200, run(**{asked.key: 777, "other": 1}))
    said = words(picture)
    for number in ("300", "200", "777"):
        assert f"{number} tokens/s" in said
        assert number in picture.alt
    assert "a named machine, 2 cores" in said
    assert len(picture.axes[0].lines) == 3


def test_a_reference_may_be_a_plain_number():
    assert "777 tokens/s" in words(question().reveal(200, 777))


def test_without_a_prediction_it_says_so_and_shows_the_rest():
    asked = question()
    said = words(asked.reveal(200, run(**{asked.key: 777})))
    assert "No prediction was locked" in said
    assert "200 tokens/s" in said
    assert "777 tokens/s" in said
    assert not asked.locked


def test_a_measurement_may_lie_outside_the_range_of_the_question():
    assert "5,000 tokens/s" in words(question(log=True, low=1).lock(300, 0.5).reveal(5000))


@pytest.mark.parametrize("measured", [float("nan"), float("inf"), None, "200"])
def test_a_measurement_that_is_no_number_is_refused(measured):
    with pytest.raises(ValueError, match=r"^measured: needs a number"):
        question().reveal(measured)


def test_a_measurement_of_nothing_has_no_place_on_a_scale_of_factors():
    with pytest.raises(ValueError, match=r"^measured: needs a positive number"):
        question(low=1, log=True).reveal(0)


def test_a_reference_run_without_the_value_names_those_it_has():
    with pytest.raises(ValueError, match=r"reference: holds no value 'absent'.*other, more"):
        question("absent").reveal(200, run(other=1, more=2))


# Where it is shown


def test_in_a_terminal_it_says_the_question_and_how_to_lock_it():
    asked = question()
    assert "How many tokens a second?" in repr(asked)
    assert ".lock(value, confidence)" in repr(asked)
    asked.lock(300, 0.7)
    assert "300 tokens/s" in repr(asked)
    assert "70%" in repr(asked)


def test_a_front_end_gets_the_form_and_nobody_else_does(monkeypatch):
    asked = question()
    assert not [kind for kind in asked._repr_mimebundle_() if "widget" in kind]
    monkeypatch.setattr(prediction, "has_front_end", lambda: True)
    assert "application/vnd.jupyter.widget-view+json" in asked._repr_mimebundle_()


class Form:
    """The form of a prediction, as a reader fills it in."""

    def __init__(self, asked: Prediction) -> None:
        self.widgets = list(self._inside(prediction.Form(asked).box))

    def _inside(self, widget):
        yield widget
        for child in getattr(widget, "children", ()):
            yield from self._inside(child)

    def only(self, kind):
        (found,) = [widget for widget in self.widgets if type(widget) is kind]
        return found

    def fill_in(self, value: str, confidence: int) -> str:
        """Types, locks, and returns what the form says."""
        self.only(Text).value, self.only(IntSlider).value = value, confidence
        self.only(Button).click()
        return " ".join(widget.value for widget in self.widgets if type(widget) is HTML)


@pytest.mark.parametrize(("typed", "value"), [("300", 300), ("1.5e2", 150), ("1,000", 1000), (" 7 ", 7)])
def test_the_form_locks_what_was_typed_and_closes(typed, value):
    asked = question()
    form = Form(asked)
    said = form.fill_in(typed, 80)
    assert (asked.value, asked.confidence) == (value, 0.8)
    assert "80%" in said
    assert all(form.only(kind).disabled for kind in (Text, IntSlider, Button))


@pytest.mark.parametrize("typed", ["", "many", "nan", "-3", "1e9"])
def test_the_form_refuses_what_is_no_answer_and_stays_open(typed):
    asked = question()
    form = Form(asked)
    before = form.fill_in("", 50)
    assert form.fill_in(typed, 50) != "" != before
    assert not asked.locked
    assert not form.only(Button).disabled
    form.fill_in("300", 50)
    assert asked.value == 300


def test_a_form_made_after_the_lock_shows_it_closed():
    form = Form(question().lock(300, 0.7))
    assert form.only(Button).disabled
    assert "300" in form.only(Text).value
