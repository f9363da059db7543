"""Draws a class's numbers in the course's one style: scores, states, checks, and the known mistakes that were made."""

from pathlib import Path
from typing import Any

from autograder.reports.stats import Stats
from autograder.reports.words import line
from course_lib.explore import style

MOST_MISTAKES = 10
LONGEST_NAME = 28
LONGEST_MISTAKE = 88  # characters of the smallest letters, to the picture's edge


def draw(stats: Stats, path: Path) -> None:
    """Writes the picture, whole or not at all."""
    if path.suffix not in (".svg", ".png"):
        raise ValueError(f"a picture's name ends in .svg or .png, got {path.name!r}")
    with style.use():
        picture = _picture(stats)
    if path.suffix == ".svg":
        style.save_svg(picture, path, title=f"{stats.lab}: how the class did", description=picture.alt)
    else:
        style.replace_file(path, picture.png())


def _picture(stats: Stats) -> style.Picture:
    mistakes = list(stats.mistakes.items())[:MOST_MISTAKES]
    heights = [3.4, 1.3 + 0.42 * len(stats.checks), 1.0 + 0.62 * len(mistakes)][: 3 if mistakes else 2]
    picture = style.figure((style.SIZE[0], sum(heights) + 0.5), alt=_words(stats))
    grid = picture.add_gridspec(len(heights), 2, height_ratios=heights, width_ratios=[3, 2])
    _scores(picture.add_subplot(grid[0, 0]), stats)
    _states(picture.add_subplot(grid[0, 1]), stats)
    _checks(picture.add_subplot(grid[1, :]), stats)
    if mistakes:
        _mistakes(picture.add_subplot(grid[2, :]), mistakes)
    picture.suptitle(stats.summary().replace(": ", "\n", 1), x=0.01, ha="left")
    return picture


def _scores(axes: Any, stats: Stats) -> None:
    widths = [right - left for left, right in zip(stats.edges, stats.edges[1:], strict=False)]
    axes.bar(stats.edges[:-1], stats.histogram, widths, align="edge", color=style.COLOURS["sky"], edgecolor="black")
    axes.set(title="automatic points", ylabel="students")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="x", visible=False)


def _states(axes: Any, stats: Stats) -> None:
    names = [str(state) for state in stats.states]
    bars = axes.barh(names, list(stats.states.values()), color=style.COLOURS["yellow"], edgecolor="black")
    axes.bar_label(bars, padding=3)
    axes.set(title="states", xticks=[])
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.grid(visible=False)


def _checks(axes: Any, stats: Stats) -> None:
    names = [line(check.name, LONGEST_NAME) for check in stats.checks]
    places = range(len(names))
    passed = [100 * check.passed for check in stats.checks]
    means = [100 * check.mean for check in stats.checks]
    axes.barh(places, passed, color=style.COLOURS["green"], hatch="...", edgecolor="black", label="passed in full")
    axes.plot(
        means, places, "D", color=style.COLOURS["vermilion"], markeredgecolor="black", label="mean share of the points"
    )
    axes.set(title="checks", xlim=(0, 103), xlabel="per cent", yticks=list(places), yticklabels=names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    if names:
        axes.legend(loc="lower left", bbox_to_anchor=(0.3, 1.0), ncols=2)


def _mistakes(axes: Any, mistakes: list[tuple[tuple[str, str], int]]) -> None:
    """Each mistake's words stand above its bar: they are too long to stand beside it."""
    counts = [count for _, count in mistakes]
    bars = axes.barh(
        range(len(counts)), counts, height=0.35, color=style.COLOURS["purple"], hatch="xxx", edgecolor="black"
    )
    axes.bar_label(bars, padding=3)
    for place, ((check, text), _) in enumerate(mistakes):
        words = _short(f"{check}: {text}")
        # A mistake's own words are no mathematics, and take no room from the axes.
        label = axes.text(0, place - 0.24, f" {words}", va="bottom", fontsize=style.SMALLEST, parse_math=False)
        label.set_in_layout(False)
    axes.set(title="known mistakes, and how many made them", xticks=[], yticks=[], ylim=(-0.9, len(counts) - 0.6))
    axes.invert_yaxis()
    axes.grid(visible=False)


def _short(text: str) -> str:
    text = line(text)
    return text if len(text) <= LONGEST_MISTAKE else f"{text[:LONGEST_MISTAKE]}…"


def _words(stats: Stats) -> str:
    """What the picture shows, for those who cannot see it."""
    checks = "; ".join(f"{line(check.name, 60)} passed by {check.passed:.0%}" for check in stats.checks)
    states = ", ".join(f"{count} {state}" for state, count in stats.states.items())
    mistakes = "; ".join(
        f"{count} times {line(check, 60)}: {line(text)}" for (check, text), count in stats.mistakes.items()
    )
    spread = ", ".join(
        f"{count} from {edge:g}" for edge, count in zip(stats.edges, stats.histogram, strict=False) if count
    )
    parts = [
        stats.summary(),
        f"Scores: {spread}",
        f"States: {states}",
        f"Checks: {checks}",
        f"Known mistakes: {mistakes or 'none'}",
    ]
    return ". ".join(parts) + "."
