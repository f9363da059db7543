"""What the two walls measured on this machine, drawn beside a run that was recorded elsewhere.

Both pictures have logarithmic axes, where "in proportion to" is a straight line: the square of attention climbs two decades
for each decade of tokens, and reading the weights once for p tokens costs each of them a p-th part. A thin line shows what
counting predicts; where the points leave it, something else has begun to matter.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from course_lib.costs.measure_walls import AttentionRun, PassRun
from course_lib.explore import style
from course_lib.explore.reference import ReferenceRun
from course_lib.explore.style import COLOURS, LINES


def attention_figure(runs: Sequence[AttentionRun], recorded: ReferenceRun) -> style.Picture:
    """Time and memory of one head of attention over its length, with the square through the first point.

    `recorded` holds `attention_n`, `attention_seconds` and `attention_bytes`: tests/benchmarks/bench_two_walls.py records
    them.
    """
    n = np.array([run.n for run in runs])
    seconds = np.array([run.seconds for run in runs])
    megabytes = np.array([run.peak_bytes for run in runs]) / 1e6
    grown = f"{n[-1] / n[0]:.3g} times the tokens: {seconds[-1] / seconds[0]:.3g} times the time, "
    grown += f"{megabytes[-1] / megabytes[0]:.3g} times the memory"
    with style.use():
        picture = style.figure(
            alt=f"Time and memory of attention over the number of tokens, both rising as the square. {grown}."
        )
        picture.suptitle(grown, fontsize=14)
        time, memory = picture.subplots(1, 2)
        there = recorded.values["attention_n"]
        _curve(time, "green", "s", there, np.array(recorded.values["attention_seconds"]) * 1e3, "reference run")
        _curve(memory, "green", "s", there, np.array(recorded.values["attention_bytes"]) / 1e6, "reference run")
        _curve(time, "blue", "o", n, seconds * 1e3, "here")
        _curve(memory, "blue", "o", n, megabytes, "here")
        for axes, first, label in (
            (time, seconds[0] * 1e3, "time (ms)"),
            (memory, megabytes[0], "most memory at once (MB)"),
        ):
            axes.plot(n, first * (n / n[0]) ** 2, color=COLOURS["black"], linewidth=1, label="the square")
            axes.set(xlabel="tokens", ylabel=label)
            _logarithmic(axes, n)
            axes.legend(loc="upper left")
    return picture


def passes_figure(runs: Sequence[PassRun], bandwidth: float, recorded: ReferenceRun) -> style.Picture:
    """Time for a token over the tokens of a pass, between what reading and what multiplying allow.

    Args:
        runs: as measured, one token a pass first.
        bandwidth: bytes a second at which the weights can be read here.
        recorded: holds `pass_positions` and `pass_seconds_per_token`, as tests/benchmarks/bench_two_walls.py records them.
    """
    positions = np.array([run.positions for run in runs])
    milliseconds = np.array([run.seconds_per_token for run in runs]) * 1e3
    n_bytes = runs[0].bytes_per_second * runs[0].seconds_per_token * runs[0].positions
    said = f"one at a time, a token takes {milliseconds[0] / milliseconds[-1]:.3g} times as long as in a pass of {positions[-1]}"
    with style.use():
        picture = style.figure(
            alt=f"Milliseconds a token over tokens that pass the weights together: {said}. A falling line shows the time that "
            "reading the weights needs, shared by the tokens of a pass."
        )
        axes = picture.subplots()
        there = recorded.values["pass_positions"], np.array(recorded.values["pass_seconds_per_token"]) * 1e3
        _curve(axes, "green", "s", *there, "reference run")
        _curve(axes, "blue", "o", positions, milliseconds, "here")
        alone = n_bytes / bandwidth * 1e3
        axes.plot(positions, alone / positions, color=COLOURS["black"], linewidth=1, label="reading alone, here")
        axes.set(
            xlabel="tokens that pass the weights together",
            ylabel="time for each (ms)",
            title=said[0].upper() + said[1:],
        )
        _logarithmic(axes, positions)
        axes.legend(loc="lower left")
    return picture


def _curve(axes: Axes, colour: str, marker: str, x: Sequence[float], y: Sequence[float], label: str) -> None:
    # The reference is wide and hollow, so that it still shows where the reader's own points cover it.
    size, inside = (8, COLOURS[colour]) if label == "here" else (12, "white")
    style_of_line = {"color": COLOURS[colour], "linestyle": LINES[colour], "marker": marker}
    axes.plot(x, y, **style_of_line, markersize=size, markerfacecolor=inside, markeredgewidth=2, label=label)


def _logarithmic(axes: Axes, ticks: Sequence[int]) -> None:
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    style.plain_decades(axes.yaxis)
    axes.xaxis.set_minor_locator(NullLocator())
