"""The explorer's frame: a redraw equals a drawing from scratch, the reading says what the picture shows.

How it behaves under a reader's hands in JupyterLab is the browser tests' affair.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_lib.explore import Explorer, Slider
from tests.explore.parabola import HEIGHTS, build, drawn, explorer, from_scratch, update


@pytest.mark.parametrize("moves", [[(3, 2)], [(-3, 1), (0, 2), (-3, 2)], [(1, 2), (1, 1), (2, 1)]])
def test_after_any_moves_the_redrawn_picture_is_the_one_drawn_from_scratch(moves):
    shown = explorer()
    for slope, power in moves:
        shown.set(slope=slope, power=power)
        assert np.array_equal(drawn(shown), from_scratch(shown))


def test_a_move_changes_the_picture_and_a_move_back_restores_it():
    shown = explorer()
    before = drawn(shown)
    shown.set(slope=3)
    assert not np.array_equal(drawn(shown), before)
    shown.set(slope=1)
    assert np.array_equal(drawn(shown), before)


def test_what_stays_is_drawn_once_however_often_the_artists_move(monkeypatch):
    drawings = []
    draw = FigureCanvasAgg.draw
    monkeypatch.setattr(FigureCanvasAgg, "draw", lambda self, *args: drawings.append(self) or draw(self, *args))
    shown = explorer()
    shown.redraw()
    first = len(drawings)
    for slope in (2, 3, -1, 0):
        shown.set(slope=slope)
        shown.redraw()
    assert first > 0
    assert len(drawings) == first


@pytest.mark.parametrize("change", ["limits", "title", "ticks", "artist"])
def test_a_change_of_the_background_is_seen_without_being_announced(change):
    def moves_more(artists, slope, power):
        axes = artists["curve"].axes
        if change == "limits":
            axes.set_ylim(-5 - abs(slope), 5 + abs(slope))
        elif change == "title":
            axes.set_title(f"slope {slope}")
        elif change == "ticks":
            axes.set_yticks([0, slope] if slope > 0 else [0])
        else:
            for line in axes.lines[1:]:
                line.remove()
            axes.axhline(slope)
        return update(artists, slope, power)

    shown = explorer(update=moves_more)
    for slope in (1, 3, -2, 3):
        shown.set(slope=slope)
        assert np.array_equal(drawn(shown), from_scratch(shown))


@dataclass
class Held:
    curve: Any
    note: str = "not an artist"


@pytest.mark.parametrize(
    "hold",
    [
        lambda line: line,
        lambda line: [line],
        lambda line: (line, 3),
        lambda line: {"curve": line, "axes": line.axes},
        lambda line: np.array([line], dtype=object),
        Held,
        lambda line: {"inner": Held(line)},
    ],
)
def test_artists_are_found_in_whatever_holds_them(hold):
    lines = []

    def build(figure):
        figure.set_layout_engine("none")
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
        axes.set(xlim=(-1, 1), ylim=(-5, 5))
        lines.append(axes.plot([], [])[0])
        return hold(lines[-1])

    def update(artists, slope, power):
        lines[-1].set_data(HEIGHTS, slope * HEIGHTS)
        return "moved"

    shown = explorer(build, update)
    redrawn = []
    for slope in (1, 2):
        shown.set(slope=slope)
        redrawn.append(drawn(shown))
    assert not np.array_equal(*redrawn)
    assert np.array_equal(redrawn[-1], from_scratch(shown))
    assert lines[0].get_animated()


def test_a_still_picture_is_a_figure_of_its_own():
    shown = explorer()
    before = drawn(shown)
    picture = shown.static(slope=-3)
    picture.axes[0].set_title("scribbled on")
    assert shown.values == {"slope": 1, "power": 2}
    assert np.array_equal(drawn(shown), before)
    assert picture.alt == "A parabola beside three bars."
    assert picture.caption == "The curve rises to -3."


def test_a_picture_has_the_size_in_inches_that_was_asked_for():
    shown = Explorer([Slider("slope", "slope", (-3, 3, 1), 1)], build, lambda a, slope: "", alt="Small.", size=(6, 3))
    assert shown.static().get_size_inches().tolist() == [6, 3]
    assert drawn(shown).shape[1] == 2 * drawn(shown).shape[0]


# Moving it from code


def test_values_and_reading_follow_a_move_and_a_reset():
    shown = explorer()
    assert shown.reading == "The curve rises to 1."
    shown.set(slope=2, power=1)
    assert shown.values == {"slope": 2, "power": 1}
    assert shown.reading == "The curve rises to 2."
    shown.reset()
    assert shown.values == {"slope": 1, "power": 2}
    assert shown.reading == "The curve rises to 1."


def test_a_refused_move_moves_nothing():
    shown = explorer()
    for bad, said in (
        ({"slope": 2, "colour": 1}, "no control is named colour.*slope, power"),
        ({"slope": 9}, "slope: 9"),
    ):
        with pytest.raises(ValueError, match=said):
            shown.set(**bad)
        with pytest.raises(ValueError, match=said):
            shown.static(**bad)
    assert shown.values == {"slope": 1, "power": 2}
    assert shown.reading == "The curve rises to 1."


def test_values_that_were_handed_out_are_a_copy():
    shown = explorer()
    shown.values["slope"] = 3
    assert shown.values["slope"] == 1


# What is refused


@pytest.mark.parametrize("count", [0, 5])
def test_an_explorer_has_one_to_four_controls(count):
    with pytest.raises(ValueError, match="one to four"):
        Explorer([Slider(f"s{i}", "slope", (0, 1, 1), 0) for i in range(count)], build, update, alt="Something.")


def test_two_controls_of_one_name_are_refused():
    with pytest.raises(ValueError, match="a name of its own"):
        Explorer([Slider("s", "slope", (0, 1, 1), 0)] * 2, build, update, alt="Something.")


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_a_picture_without_words_is_refused(alt):
    with pytest.raises(ValueError, match="alt"):
        explorer(alt=alt)


@pytest.mark.parametrize("reading", [None, 3])
def test_an_update_that_says_nothing_is_refused(reading):
    with pytest.raises(ValueError, match=r"update: .*reading"):
        _ = explorer(update=lambda artists, slope, power: reading).reading
