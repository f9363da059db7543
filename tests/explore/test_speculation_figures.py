"""The still pictures of lecture 04: what they draw are the numbers that they were given, and their words say so."""

import numpy as np
import pytest

from course_lib.costs.measure_walls import PassRun
from course_lib.explore import speculation_figures as figures
from course_lib.explore.departures import departures_figure
from course_lib.explore.speculative_round import speculative_round
from course_lib.speculation import envelope, expected_tokens
from course_lib.speculation.departures import Departure

P, Q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.2, 0.5, 0.1, 0.2])


def runs(*seconds):
    return [PassRun(m, s, 1e9, 1e9) for m, s in zip((1, 2, 5), seconds, strict=True)]


def heights(axes):
    return [patch.get_height() for patch in axes.patches]


def pictures():
    yield figures.room_figure({"one": runs(1.0, 0.8, 0.5), "two": runs(1.0, 0.5, 0.2)}, 6.0)
    yield figures.envelope_figure(P, Q, ["a", "b", "c", "d"])
    yield figures.tail_sum_figure(0.8, 5)
    yield figures.overlap_figure({"prose": np.linspace(0, 1, 50), "code": np.full(50, 0.5)})
    yield figures.factors_figure({"a": np.array([1.0, 2.0, np.nan]), "b": np.ones(3)}, np.array([1, 2, 4]), "γ")
    yield speculative_round()
    yield departures_figure([Departure("T", "sampling", 0.1, 0.2, None), Departure("q", "speculation", 0.0, 0.0, 0.6)])


@pytest.mark.parametrize("picture", [*pictures()], ids=lambda picture: picture.alt[:30])
def test_a_picture_draws_and_says_what_it_shows(picture):
    assert len(picture.alt) > 40
    assert picture.png().startswith(b"\x89PNG")
    for axes in picture.axes:
        for text in [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]:
            assert not text.get_text() or text.get_fontsize() >= 12


def test_the_room_is_drawn_from_times_relative_to_one_position():
    picture = figures.room_figure({"here": runs(2.0, 1.5, 1.0)}, 6.0)
    drawn = [line.get_ydata() for line in picture.axes[0].lines]
    assert any(np.allclose(y, [1.0, 1.5, 2.5]) for y in drawn if len(y) == 3)


def test_the_tail_sum_has_a_bar_for_each_token_and_says_their_sum():
    picture = figures.tail_sum_figure(0.8, 5)
    drawn = [height for axes in picture.axes for height in heights(axes)]
    assert np.allclose(sorted(drawn)[-6:], sorted(0.8 ** np.arange(6)))
    assert f"{expected_tokens(0.8, 5):.2f}" in picture.alt


def test_the_envelope_is_named_by_its_kappa():
    assert f"{envelope(P, Q):.2g}" in figures.envelope_figure(P, Q, ["a", "b", "c", "d"]).alt


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: figures.room_figure({}, 6.0), "^stacks has"),
        (lambda: figures.room_figure({"a": runs(1, 1, 1), "b": runs(1, 1, 1)[:2]}, 6.0), "same positions"),
        (lambda: figures.envelope_figure(P, Q, ["a"]), "^tokens has 1 names"),
        (lambda: figures.overlap_figure({}), "^overlaps has 0 texts"),
        (lambda: figures.factors_figure({}, np.arange(3), "γ"), "^factors has 0 curves"),
        (lambda: figures.factors_figure({"a": np.ones(2)}, np.arange(3), "γ"), "^factors has 2 values"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw, said):
    with pytest.raises(ValueError, match=said):
        draw()
