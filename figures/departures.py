"""Draws departures.svg: how far sampling rules, fewer bits and speculation take the emitted token from the model's p.

See departures.md for what to look at.
"""

from pathlib import Path

import numpy as np

from course_lib.explore import style
from course_lib.explore.style import COLOURS
from course_lib.speculation.departures import Departure, departures
from course_lib.speculation.words import Vocabulary, sample_text

N_PIECES = 256
EXACT = 1e-12
KINDS = {"sampling": ("orange", "\\\\"), "weights": ("sky", ".."), "speculation": ("blue", "")}


def measured() -> list[Departure]:
    """The table, for a vocabulary of 512 and the prose that ships with the course."""
    text = sample_text("prose")
    vocabulary = Vocabulary.train(text, N_PIECES)
    return departures(np.array(vocabulary.encode(text)), vocabulary.size)


def departures_picture(table: list[Departure]) -> style.Picture:
    """The figure: a bar for each mean, a mark for each largest value; where both are rounding, the word 0."""
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


if __name__ == "__main__":
    picture = departures_picture(measured())
    style.save_svg(picture, Path(__file__).with_suffix(".svg"), title="What departs from p", description=picture.alt)
