"""Sliders and choices as data: the positions they have, what they say, what they refuse, and their widgets."""

import numpy as np
import pytest

from course_lib.explore import Choice, Slider


def slider(values, start, **options) -> Slider:
    return Slider("n", "context", values, start, **options)


@pytest.mark.parametrize(
    ("values", "options", "positions"),
    [
        ((0, 10, 4), {}, (0, 4, 8)),
        ((-3, 3, 3), {}, (-3, 0, 3)),
        ((0.0, 1.0, 0.1), {}, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        ((0.0, 0.3, 0.1), {}, (0.0, 0.1, 0.2, 0.3)),
        ((1024, 131_072, 2), {"log": True}, tuple(1024 * 2**i for i in range(8))),
        ((0.01, 1.0, 10), {"log": True}, (0.01, 0.1, 1.0)),
        ((1, 40, 2.5), {"log": True, "integer": True}, (1, 2, 6, 16, 39)),
        ([1, 5, 100, 1000], {}, (1, 5, 100, 1000)),
        ([7, 8, 16], {}, (7, 8, 16)),
        (range(2, 9, 3), {}, (2, 5, 8)),
        (np.array([0.25, 0.5]), {}, (0.25, 0.5)),
    ],
)
def test_a_slider_moves_along_the_positions_it_was_given(values, options, positions):
    made = slider(values, positions[0], **options)
    assert made.values == positions
    assert all(type(got) is type(want) for got, want in zip(made.values, positions, strict=True))


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ((10, 0, 1), {}),
        ((0, 10, 0), {}),
        ((0, 10, -1), {}),
        ((0, float("inf"), 1), {}),
        ((0, float("nan"), 1), {}),
        ((0, 10, 2), {"log": True}),
        ((1, 10, 1), {"log": True}),
        ((0, 1, 1e-5), {}),
        ([], {}),
        ([3, 2, 1], {}),
        ([1, 1, 2], {}),
    ],
)
def test_positions_that_cannot_be_walked_are_refused_by_name(values, options):
    with pytest.raises(ValueError, match="values of slider 'n'"):
        slider(values, 0, **options)


def test_a_value_between_two_positions_is_answered_with_the_nearest():
    made = slider((0, 100, 10), 50)
    assert made.position(30) == made.position(np.float64(30.0)) == 30
    for bad in (34, float("nan"), "30", None):
        with pytest.raises(ValueError, match=r"^n: .*(30, 40|needs a number)"):
            made.position(bad)
    with pytest.raises(ValueError, match="no position"):
        slider((0, 100, 10), 55)


def test_the_steps_of_a_tenth_are_reached_by_the_numbers_one_types():
    made = slider((0.0, 1.0, 0.1), 0.3)
    assert made.start == 0.3
    assert made.position(0.1 + 0.2) == 0.3


def test_a_value_is_read_with_its_unit_and_its_thousands():
    assert slider((1024, 131_072, 2), 1024, log=True, unit="tokens").text(131_072) == "131,072 tokens"
    assert slider((0.0, 1.0, 0.25), 0.0).text(0.25) == "0.25"
    assert slider([1, 2], 1, show=lambda value: f"{value} of 2").text(2) == "2 of 2"


@pytest.mark.parametrize("name", ["", "two words", "3d", None])
def test_a_control_is_named_as_update_will_call_it(name):
    for make in (lambda: Slider(name, "label", (0, 1, 1), 0), lambda: Choice(name, "label", ["a"], "a")):
        with pytest.raises(ValueError, match="name of a control"):
            make()


def test_a_choice_offers_values_under_their_own_names_or_under_given_ones():
    plain, named = Choice("m", "model", ["small", "large"], "small"), Choice("m", "model", {"small": 1, "large": 2}, 2)
    assert (plain.start, plain.text("large")) == ("small", "large")
    assert (named.start, named.text(1)) == (2, "small")
    assert named.position(1) == 1


def test_what_is_no_option_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match=r"'huge'.*'small', 'large'"):
        Choice("m", "model", ["small", "large"], "huge")
    with pytest.raises(ValueError, match="nothing"):
        Choice("m", "model", [], "small")


def test_a_sliders_widget_steps_through_its_positions_and_shows_their_texts():
    widget = slider((1024, 4096, 2), 2048, log=True, unit="tokens").widget()
    assert widget.value == 2048
    assert [option for option, _ in widget.options] == ["1,024 tokens", "2,048 tokens", "4,096 tokens"]
    widget.index = 2
    assert widget.value == 4096


def test_positions_that_read_alike_are_still_positions():
    widget = slider([1.00001, 1.00002, 2.0], 1.00002).widget()
    assert widget.value == 1.00002
    assert len({option for option, _ in widget.options}) == 3


def test_a_choices_widget_offers_its_options():
    widget = Choice("m", "model", {"small": 1, "large": 2}, 2).widget()
    assert widget.value == 2
    assert list(widget.options) == [("small", 1), ("large", 2)]
