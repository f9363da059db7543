"""The map of the course: its units from top to bottom, each below the wall that it climbs.

A unit that works on both walls spans both columns. What is built has a solid frame and a tint, what is planned a dashed
one, so that the map reads in black and white too.
"""

from collections.abc import Sequence
from typing import Protocol

from matplotlib.patches import FancyBboxPatch

from course_lib.explore import style
from course_lib.explore.style import COLOURS

COLUMNS = {"attention": (0.0, 1.0), "decoding": (1.0, 2.0)}
HEADS = {
    "attention": "the attention wall\nscores grow as the square, the cache with the context",
    "decoding": "the decoding wall\none token after another, all weights read for each",
}
GAP = 0.03


class Unit(Protocol):
    """What the map needs to know of a unit; `course_lib.house.syllabus.Unit` has it."""

    id: str
    title: str
    minutes: int
    walls: tuple[str, ...]

    @property
    def built(self) -> bool:
        """Whether it is there, rather than planned."""


def course_map(units: Sequence[Unit]) -> style.Picture:
    """Draws the units of a syllabus, in order.

    Raises:
        ValueError: there are no units, or one climbs a wall that is neither "attention" nor "decoding".
    """
    if not units:
        raise ValueError("units is empty, needs at least one")
    for unit in units:
        if not unit.walls or not set(unit.walls) <= set(COLUMNS):
            raise ValueError(f"unit {unit.id} has walls {unit.walls!r}, needs some of {', '.join(COLUMNS)}")
    with style.use():
        picture = style.figure((9.6, 1.0 + 0.42 * len(units)), alt=in_words(units))
        axes = picture.subplots()
        axes.set(xlim=(-0.01, 2.01), ylim=(len(units) - 0.45, -1.7))
        axes.axis("off")
        for wall, (left, right) in COLUMNS.items():
            name, _, about = HEADS[wall].partition("\n")
            axes.text((left + right) / 2, -1.35, name, ha="center", va="center", fontsize=14, weight="bold")
            axes.text((left + right) / 2, -0.8, about, ha="center", va="center", fontsize=style.SMALLEST)
        for row, unit in enumerate(units):
            left = min(COLUMNS[wall][0] for wall in unit.walls) + GAP
            right = max(COLUMNS[wall][1] for wall in unit.walls) - GAP
            frame = FancyBboxPatch(
                (left, row - 0.38),
                right - left,
                0.76,
                boxstyle="round,pad=0,rounding_size=0.04",
                mutation_aspect=4,  # an axis of rows is so much finer than one of columns: keeps corners round
                facecolor="#D6E8F4" if unit.built else "white",
                edgecolor=COLOURS["blue"] if unit.built else "#666666",
                linestyle="-" if unit.built else (0, (4, 2)),
                linewidth=2 if unit.built else 1.2,
            )
            axes.add_patch(frame)
            weight = "bold" if unit.built else "normal"
            axes.text(left + GAP, row, f"{unit.id}  {unit.title}", va="center", weight=weight)
            state = f"built, {unit.minutes} min" if unit.built else "planned"
            axes.text(right - GAP, row, state, va="center", ha="right", fontsize=style.SMALLEST)
    return picture


def in_words(units: Sequence[Unit]) -> str:
    """The map for a reader who cannot see it: each unit, its wall or walls, and whether it is built."""
    parts = []
    for unit in units:
        walls = "both walls" if len(unit.walls) > 1 else f"the {unit.walls[0]} wall"
        parts.append(f"{unit.id} {unit.title}: {walls}, {'built' if unit.built else 'planned'}")
    return "The units of the course in order, below the wall that each climbs. " + "; ".join(parts) + "."
