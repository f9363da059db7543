"""The two measured pictures: every measured point where it belongs, beside the recorded run, with words for it."""

import numpy as np
import pytest

from course_lib.costs.measure_walls import AttentionRun, PassRun
from course_lib.explore import reference
from course_lib.explore.measured_walls import attention_figure, passes_figure

RECORDED = reference.load("two_walls")
ATTENTION = [
    AttentionRun(1024, 0.01, 12_000_000),
    AttentionRun(2048, 0.05, 48_000_000),
    AttentionRun(4096, 0.2, 192_000_000),
]
PASSES = [PassRun(1, 8e-3, 2.5e10, 1.25e10), PassRun(4, 3e-3, 1.6e10, 3.2e10), PassRun(64, 1e-3, 3e9, 1e11)]


def curve(axes, label: str) -> np.ndarray:
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return np.column_stack([line.get_xdata(), line.get_ydata()])


def test_attention_is_drawn_as_it_was_measured_beside_the_recorded_run():
    picture = attention_figure(ATTENTION, RECORDED)
    time, memory = picture.axes
    assert curve(time, "here").tolist() == [[1024, 10.0], [2048, 50.0], [4096, 200.0]]
    assert curve(memory, "here")[:, 1].tolist() == [12, 48, 192]
    assert curve(time, "reference run")[:, 1] == pytest.approx(np.array(RECORDED.values["attention_seconds"]) * 1e3)
    assert curve(time, "the square")[:, 1].tolist() == [10, 40, 160]
    assert "4 times the tokens: 20 times the time, 16 times the memory" in picture.alt


def test_passes_are_drawn_as_they_were_measured():
    picture = passes_figure(PASSES, 2.6e10, RECORDED)
    points = [curve(axes, line.get_label()) for axes in picture.axes for line in axes.lines]
    assert any(np.allclose(found, [[1, 8], [4, 3], [64, 1]]) for found in points if found.shape == (3, 2))
    assert "a token takes 8 times as long as in a pass of 64" in picture.alt


def test_the_time_of_reading_alone_is_shared_by_the_tokens_of_a_pass():
    (axes,) = passes_figure(PASSES, 2e10, RECORDED).axes
    # One token took 8 ms at 25 GB/s: 200 MB of weights, 10 ms at 20 GB/s.
    assert curve(axes, "reading alone, here") == pytest.approx(np.array([[1, 10], [4, 2.5], [64, 10 / 64]]))


def test_every_axis_has_its_unit():
    for picture in (attention_figure(ATTENTION, RECORDED), passes_figure(PASSES, 2.6e10, RECORDED)):
        for axes in picture.axes:
            assert axes.get_xlabel()
            assert "(" in axes.get_ylabel() or axes.get_ylabel() == ""
