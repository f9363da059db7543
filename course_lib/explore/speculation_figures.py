"""The still pictures of lecture 04: what a pass over several positions costs, what an envelope wastes, how tokens add up.

Each function draws numbers that it is given or that `course_lib.speculation` computes from them, and says the main one in its
title and in its alternative text. What moves with sliders has a module of its own (speedup, rejection_rule, rounds).

    m       positions of one pass: γ drafted tokens and the one before them
    p, q    distributions of the next token, target and draft    (v)
    alpha   α, the probability that a drafted token stands
    gamma   γ, drafted tokens a round
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator, NullLocator, PercentFormatter

from course_lib.costs.measure_walls import PassRun
from course_lib.explore import style
from course_lib.explore.style import COLOURS, HATCHES, LINES
from course_lib.speculation.exactness import envelope
from course_lib.speculation.theory import accepted_distribution, expected_tokens, token_ceiling

MEASURED = ("blue", "purple")
MARKERS = {"blue": "o", "vermilion": "s", "green": "^", "purple": "D", "orange": "v"}


def room_figure(stacks: Mapping[str, Sequence[PassRun]], room: float) -> style.Picture:
    """The time of a pass over m positions in units of a pass over one, between the premise and no gain at all.

    Args:
        stacks: the runs of each kind of weights, as `course_lib.costs.measure_walls.measure_passes` gives them, one position
            first; all over the same numbers of positions.
        room: positions at which multiplying takes as long as reading; up to there a perfect program would stay at 1.

    Raises:
        ValueError: there are no runs, too many kinds, or runs whose first is not of one position or that differ in positions.
    """
    measured = {name: [run.positions for run in runs] for name, runs in stacks.items()}
    if not 1 <= len(measured) <= len(MEASURED) or any(m != [1, *m[1:]] for m in measured.values()):
        raise ValueError(f"stacks has {measured}, needs runs of 1 to {len(MEASURED)} kinds, one position first")
    positions = np.array(next(iter(measured.values())))
    if any(m != positions.tolist() for m in measured.values()):
        raise ValueError(f"stacks has {measured}, needs the same positions for each kind")
    times = {name: np.array([run.seconds_per_token * run.positions for run in runs]) for name, runs in stacks.items()}
    times = {name: seconds / seconds[0] for name, seconds in times.items()}
    said = f"A pass over {positions[-1]} positions, in passes over one: "
    said += ", ".join(f"{values[-1]:.2g} ({name})" for name, values in times.items())
    with style.use():
        picture = style.figure(
            alt=f"Time of a pass over its positions, both axes logarithmic. {said}. A level line at 1 shows the premise of "
            "speculative decoding, a rising one what the positions would take one after another."
        )
        axes = picture.subplots()
        for (name, values), colour in zip(times.items(), MEASURED, strict=False):
            axes.plot(positions, values, color=COLOURS[colour], marker=MARKERS[colour], linestyle="-", label=name)
        _line(axes, positions, positions, "vermilion", "one after another")
        fine = np.geomspace(1, positions[-1], 65)
        _line(axes, fine, np.maximum(1, fine / room), "green", "at best: reading or multiplying")
        axes.axhline(1, color=COLOURS["black"], linewidth=1, linestyle="-")
        axes.annotate("premise", (1, 1), (8, -16), textcoords="offset points")
        top = 1.3 * max(positions[-1], *(values.max() for values in times.values()))
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="positions of a pass",
            ylabel="time, in passes over one",
            ylim=(0.6, top),
            title=said,
        )
        axes.set_xticks(positions, [str(m) for m in positions])
        axes.xaxis.set_minor_locator(NullLocator())
        style.plain_decades(axes.yaxis)
        axes.legend(loc="upper left")
    return picture


def envelope_figure(p: Float[np.ndarray, "v"], q: Float[np.ndarray, "v"], tokens: Sequence[str]) -> style.Picture:
    """p under its tightest envelope κ·q: what lies between them is drawn and thrown away.

    Raises:
        ValueError: `tokens` has not as many names as p has entries, or p and q are no distributions of one shape.
    """
    if len(tokens) != len(p):
        raise ValueError(f"tokens has {len(tokens)} names, needs one for each of the {len(p)} entries of p")
    kappa = float(envelope(p, q))
    x = np.arange(len(p))
    said = f"κ = {kappa:.3g}: of {kappa:.3g} draws, one is kept on average"
    with style.use():
        picture = style.figure(
            alt=f"Bars of p for {', '.join(tokens)}, each inside a taller outline κ·q that touches it at one token. {said}."
        )
        axes = picture.subplots()
        axes.bar(
            x, kappa * q, 0.7, facecolor="white", edgecolor=COLOURS["black"], hatch="///", label="κ·q − p: thrown away"
        )
        axes.bar(x, p, 0.7, facecolor=COLOURS["sky"], edgecolor=COLOURS["black"], label="p: kept")
        axes.set_xticks(x, tokens)
        axes.set(ylabel="probability, times κ for q", title=said)
        axes.grid(axis="x", visible=False)
        axes.legend(loc="upper right")
    return picture


def tail_sum_figure(alpha: float, gamma: int) -> style.Picture:
    """E[N] as the sum of the probabilities that the first, second, … token of a round is emitted.

    Raises:
        ValueError: α lies outside [0, 1], or γ is not a whole number ≥ 0.
    """
    expected = expected_tokens(alpha, gamma)
    ends = accepted_distribution(np.float64(alpha), gamma)
    reached = np.cumsum(ends[::-1])[::-1]
    x = np.arange(1, gamma + 2)
    said = f"α = {alpha:g}, γ = {gamma}: the bars add up to E[N] = {expected:.3g} tokens"
    if alpha < 1:
        said += f"; without end they would reach {token_ceiling(alpha):.3g}"
    with style.use():
        picture = style.figure(alt=f"Falling bars, one for each token that a round can emit. {said}.")
        axes = picture.subplots()
        bars = axes.bar(x, reached, 0.7, facecolor=COLOURS["sky"], edgecolor=COLOURS["black"])
        axes.bar_label(bars, [f"{height:.2f}" for height in reached], padding=2)
        axes.set_xticks(x, [f"{i}" for i in x])
        axes.set(xlabel="token of the round", ylabel="probability that it is emitted", ylim=(0, 1.12), title=said)
        axes.grid(axis="x", visible=False)
    return picture


def overlap_figure(overlaps: Mapping[str, Float[np.ndarray, "n"]]) -> style.Picture:
    """How Σ min(p, q) is spread over the positions of some texts, with the mean of each: α is one number for all of that.

    Raises:
        ValueError: there is no text, too many, or one has no positions.
    """
    if not 1 <= len(overlaps) <= len(MARKERS) or not all(len(values) for values in overlaps.values()):
        raise ValueError(f"overlaps has {len(overlaps)} texts, needs 1 to {len(MARKERS)}, and a position in each")
    edges = np.linspace(0, 1, 11)
    means = {name: float(np.mean(values)) for name, values in overlaps.items()}
    said = "; ".join(f"{name}: mean α = {mean:.2f}" for name, mean in means.items())
    with style.use():
        picture = style.figure(
            alt=f"Histograms of the overlap of draft and target over the positions of a text. {said}."
        )
        panels = picture.subplots(1, len(overlaps), sharey=True, squeeze=False)[0]
        for axes, (name, values), colour in zip(panels, overlaps.items(), MARKERS, strict=False):
            share = np.histogram(np.clip(values, 0, 1), edges)[0] / len(values)
            look = {"facecolor": "white", "edgecolor": COLOURS[colour], "hatch": HATCHES[colour] or "\\\\\\"}
            axes.bar(edges[:-1], share, 0.1, align="edge", linewidth=1.5, **look)
            axes.axvline(means[name], color=COLOURS["black"], linestyle="--")
            axes.set(xlim=(0, 1), xlabel="Σ min(p, q) at one position", title=f"{name}, mean α = {means[name]:.2f}")
        panels[0].set_ylabel("share of positions")
        panels[0].yaxis.set_major_locator(MultipleLocator(0.05))
        panels[0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return picture


def factors_figure(
    factors: Mapping[str, Float[np.ndarray, "n"]],
    x: Float[np.ndarray, "n"] | Int[np.ndarray, "n"],
    xlabel: str,
    *,
    powers: bool = False,
) -> style.Picture:
    """Improvement factors over γ, with each curve's best marked; or, with `powers`, over powers of two such as a batch.

    A level line separates what gains from what loses. A curve ends where its values are NaN.

    Raises:
        ValueError: there are no curves, more than there are colours, or one has another length than x.
    """
    if not 1 <= len(factors) <= len(MARKERS):
        raise ValueError(f"factors has {len(factors)} curves, needs 1 to {len(MARKERS)}")
    if wrong := [name for name, values in factors.items() if len(values) != len(x)]:
        raise ValueError(
            f"factors has {len(factors[wrong[0]])} values for {wrong[0]!r}, needs one for each of {len(x)} x"
        )
    # The best point of each curve; over a batch, where curves only fall, the last one.
    marked = {name: int(np.nanargmax(x * ~np.isnan(y) if powers else y)) for name, y in factors.items()}
    word = "at" if powers else "best at"
    said = "; ".join(f"{name}: {factors[name][i]:.2f} {word} {x[i]:,g}" for name, i in marked.items())
    with style.use():
        picture = style.figure(alt=f"Improvement factor over {xlabel}. {said}. A level line marks the factor 1.")
        axes = picture.subplots()
        for (name, values), colour in zip(factors.items(), MARKERS, strict=False):
            _line(axes, x, values, colour, name)
            i = marked[name]
            axes.plot(x[i], values[i], color=COLOURS[colour], marker=MARKERS[colour], markersize=11, linestyle="none")
        axes.axhline(1, color=COLOURS["black"], linewidth=1, linestyle="-")
        axes.set(xlabel=xlabel, ylabel="improvement factor", ylim=(0, None))
        if powers:
            axes.set_xscale("log", base=2)
            axes.set_xticks(x, [f"{value:,g}" for value in x])
            axes.xaxis.set_minor_locator(NullLocator())
        axes.legend(loc="lower left")
    return picture


def _line(axes: Axes, x: Sequence[float], y: Sequence[float], colour: str, label: str) -> None:
    axes.plot(x, y, color=COLOURS[colour], linestyle=LINES[colour], label=label)
