"""How far the emitted token strays from the model's p: sampling rules, fewer bits and speculation on one axis."""

from collections.abc import Sequence

from course_lib.explore import style
from course_lib.explore.style import COLOURS
from course_lib.speculation.departures import Departure

EXACT = 1e-12
KINDS = {"sampling": ("orange", "\\\\"), "weights": ("sky", ".."), "speculation": ("blue", "")}


def departures_figure(table: Sequence[Departure]) -> style.Picture:
    """A bar for each mean, a mark for each largest value; where both are rounding, the word 0."""
    words = ", ".join(f"{row.name} {shown(row.mean)}" for row in table)
    alt = f"Bars of the total variation between p and what is emitted, averaged over contexts: {words}."
    with style.use():
        picture = style.figure((7.0, 5.2), alt=alt)
        axes = picture.subplots()
        for y, row in enumerate(table):
            colour, hatch = KINDS[row.kind]
            # Three digits: the picture is then the same wherever it is drawn, however sums round.
            mean, largest = round(row.mean, 3), round(row.largest, 3)
            axes.barh(y, mean, height=0.66, color=COLOURS[colour], hatch=hatch, edgecolor="black", linewidth=1)
            if row.largest < EXACT:
                alpha = f"0      {row.acceptance:.0%} of drafts accepted"
                axes.text(0.008, y, alpha, va="center", fontsize=13)
                continue
            axes.plot([mean, largest], [y, y], color="black", linestyle="-", linewidth=1.2)
            axes.plot([largest], [y], color="black", marker="|", markersize=14, markeredgewidth=2.2, linestyle="")
            axes.text(largest + 0.015, y, f"mean {shown(row.mean)}", va="center", fontsize=13)
        axes.set(
            xlim=(0, 0.86), ylim=(len(table) - 0.4, -0.6), xlabel="total variation from p (bar: mean, mark: largest)"
        )
        axes.set_yticks(range(len(table)), [row.name for row in table], fontsize=13)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    return picture


def shown(value: float) -> str:
    """A total variation as a reader sees it."""
    return "0" if value < EXACT else f"{value:.3f}"
