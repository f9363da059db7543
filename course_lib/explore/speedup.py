"""What speculation gains, as an explorer: how far to draft, with a draft that is so good and costs so much.

Left, the improvement factor over γ: each further token brings less than the one before at an unchanging price, so that the
curve rises, turns and falls. Right, what the best γ gains for every pair of α and c, with the line beyond which nothing is
gained. The numbers are those of `course_lib.speculation`. The paper's premise, that looking at γ + 1 positions takes as long
as looking at one, can be given up with the fourth control.

    alpha, α      probability that a drafted token is accepted                     Leviathan et al., 2023, Thm. 3.5
    gamma, γ      drafted tokens a round, 0 to 16
    c             time of a draft run in units of a target run                     Def. 3.7
    verification  time of the run over γ + 1 positions in units of a run over one; the paper takes it to be 1
    factor        how many times as fast as decoding token by token                Thm. 3.8
    gains         the best factor of any γ ≥ 1, over √c and α                      (101, 101)
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from course_lib.explore import Explorer, Slider, style
from course_lib.explore.style import COLOURS, LINES
from course_lib.speculation import best_gamma, expected_tokens, improvement_factor, token_ceiling

GAMMA_MAX = 16
GAMMAS = np.arange(GAMMA_MAX + 1)
COSTS = [0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
VERIFICATIONS = [1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0]
SIDE = np.linspace(0, 1, 101)
"""The map's grid: α, and √c, which leaves more room for the costs that drafts really have."""
LEVELS = {1.25: ("white", 40), 1.5: ("white", 40), 2: ("white", 40), 3: ("white", 30)}
LEVELS |= {4: ("black", 22), 6: ("black", 14), 9: ("black", 7)}
"""Where the map has lines, the colour in which each stands out from its ground, and the row at which its label stands."""
TOPS = (2.4, 3.6, 6, 11, 19)
"""Upper ends of the left axis; few, since a new one costs a whole drawing."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh")
ORDINALS += ("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth")

ALT = (
    "Two diagrams. Left: the improvement factor over γ, the drafted tokens a round, from 0 to 16. It starts at 1, and rises "
    "until a further token costs more than it brings; a star marks that γ, a ring the chosen one. A dashed curve shows what "
    "free drafts would give; it nears a level line, their ceiling. Right: a map of the factor of the best γ over the "
    "acceptance rate α and the cost c of a draft. In the upper left, beyond the line α = c, drafting only loses. The factor "
    "grows towards the lower right corner, where drafts are nearly free and nearly always accepted. A ring marks the chosen "
    "α and c."
)


@dataclass
class Speedup:
    """The artists that move: the curve over γ with its marks, and the chosen place on the map."""

    factor: Line2D
    free: Line2D
    ceiling: Line2D
    best: Line2D
    chosen: Line2D
    note: Text
    here: Line2D
    mapped: list[float]
    """The verification for which the map, which is background, is drawn."""


def speedup_explorer(alpha: float = 0.8, gamma: int = 12, c: float = 0.1) -> Explorer:
    """α, γ, c and the cost of verification as controls; the improvement factor over γ, and of the best γ over α and c.

    Args:
        alpha, gamma, c: where the controls stand at first.

    Raises:
        ValueError: one of them is no position of its slider.
    """
    return Explorer(
        [
            Slider("alpha", "α", (0.0, 1.0, 0.01), start=alpha, show="{:.2f}".format),
            Slider("gamma", "γ", range(GAMMA_MAX + 1), start=gamma),
            Slider("c", "c", COSTS, start=c),
            Slider("verification", "verification", VERIFICATIONS, start=1.0),
        ],
        build,
        update,
        alt=ALT,
        size=(9.6, 4.9),
    )


def build(figure: Figure) -> Speedup:
    """Draws both diagrams, the map for the paper's premise, and returns what moves."""
    # At fixed places: axes that arrange themselves move a little with each drawing, and the labels of the map with them.
    figure.set_layout_engine("none")
    left, right = figure.add_axes((0.05, 0.315, 0.42, 0.615)), figure.add_axes((0.57, 0.315, 0.41, 0.615))
    left.set(xlim=(-0.5, GAMMA_MAX + 0.5), ylim=(0, TOPS[1]), xlabel="γ, drafted tokens a round", title="times as fast")
    left.set_xticks(range(0, GAMMA_MAX + 1, 2))
    left.yaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    left.axhline(1, color="#666666", linestyle="-", linewidth=1.2)
    right.set(xlim=(0, 1), ylim=(0, 1), xlabel="α, acceptance rate", ylabel="c, cost of a draft run")
    right.set_title("times as fast with the best γ")
    ticks = (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1)
    right.set_yticks(np.sqrt(ticks), [f"{c:g}" for c in ticks])
    right.set_facecolor("#E8E8E8")
    right.grid(False)
    ring = {"color": COLOURS["vermilion"], "fillstyle": "none", "ms": 14, "mew": 3, "zorder": 4, "clip_on": False}
    speedup = Speedup(
        factor=_line(left, "blue", marker="o", markersize=5, label="improvement factor"),
        free=_line(left, "vermilion", linewidth=1.6, label="free drafts (c = 0)"),
        ceiling=_line(left, "black", linewidth=1.6, label="their ceiling"),
        best=left.plot([], [], "*", color=COLOURS["black"], markersize=16, zorder=5, label="best γ")[0],
        chosen=left.plot([], [], "o", **ring, label="chosen γ")[0],
        note=left.text(0, 0, "", ha="center", va="bottom", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}),
        here=right.plot([], [], "o", **ring, path_effects=[withStroke(linewidth=6, foreground="white")])[0],
        mapped=[1.0],
    )
    left.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.19), ncols=2, borderaxespad=0, columnspacing=1)
    _draw_map(right, 1.0)
    even = Line2D([], [], color="black", linestyle="-", linewidth=2.4, label="break-even")
    chosen = Line2D([], [], linestyle="", marker="o", **ring, label="chosen α and c")
    right.legend(handles=[even, chosen], loc="upper left", bbox_to_anchor=(-0.02, -0.19), borderaxespad=0)
    return speedup


def update(speedup: Speedup, alpha: float, gamma: int, c: float, verification: float) -> str:
    """Moves the artists to one choice of the controls and returns what they say, in words."""
    factors = improvement_factor(alpha, GAMMAS, c, verification)
    best, ceiling = best_choice(alpha, c, verification), token_ceiling(alpha) / verification
    speedup.factor.set_data(GAMMAS, factors)
    speedup.free.set_data(GAMMAS, improvement_factor(alpha, GAMMAS, 0.0, verification))
    speedup.best.set_data([best], [factors[best]])
    speedup.chosen.set_data([gamma], [factors[gamma]])
    speedup.ceiling.set_data([0, GAMMA_MAX], [min(ceiling, 2 * TOPS[-1])] * 2)  # outside, where there is none
    speedup.here.set_data([alpha], [np.sqrt(c)])

    axes = speedup.factor.axes
    top = next((top for top in TOPS if top > 1.12 * factors[best]), TOPS[-1])
    if axes.get_ylim()[1] != top:
        axes.set_ylim(0, top)
    speedup.note.set_text(f"γ* = {best}")
    speedup.note.set_position((min(max(best, 1.2), 14.8), factors[best] + 0.05 * top))
    if speedup.mapped != [verification]:
        _draw_map(speedup.here.axes, verification)
        speedup.mapped[:] = [verification]
    return reading(alpha, gamma, c, verification)


def reading(alpha: float, gamma: int, c: float, verification: float = 1.0) -> str:
    """What one choice gains, in words."""
    best = best_choice(alpha, c, verification)
    factors = improvement_factor(alpha, GAMMAS, c, verification)
    if best == 0 and verification == 1:
        why = (
            "nothing is ever accepted" if alpha == 0 else f"a draft costs c = {c:g}, and α = {alpha:g} is not above it"
        )
        text = f"γ* = 0, do not draft: {why}"
    elif best == 0:
        text = "γ* = 0, do not draft: no γ makes up for what drafts and verification cost"
    else:
        text = f"γ* = {best}: {factors[best]:.2f} times as fast; {_one_more(alpha, best, c, verification)}"
    text += f"; {_at_most(alpha)}. "
    if gamma == best:
        return text + "The chosen γ is the best."
    if gamma == 0:
        return text + "The chosen γ = 0 drafts nothing."
    tokens = expected_tokens(alpha, gamma)
    loses = ", slower than without drafts" if factors[gamma] < 1 else ""
    return (
        text
        + f"The chosen γ = {gamma} gives {tokens:.2f} tokens a round and is {factors[gamma]:.2f} times as fast{loses}."
    )


def best_choice(alpha: float, c: float, verification: float = 1.0) -> int:
    """The best of the γ that are drawn, the smallest where several are; found exactly where verification costs one run."""
    if verification == 1:
        return best_gamma(alpha, c, GAMMA_MAX)
    factors = improvement_factor(alpha, GAMMAS, c, verification)
    return int(np.argmax(factors >= factors.max() * (1 - 1e-12)))


@lru_cache(maxsize=len(VERIFICATIONS))
def gain_map(verification: float = 1.0) -> Float[np.ndarray, "root_c alpha"]:
    """The best factor of any γ from 1 to 16 over √c and α; below 1 where no draft pays."""
    alpha, c = SIDE[None, :, None], SIDE[:, None, None] ** 2
    return improvement_factor(alpha, GAMMAS[1:], c, verification).max(axis=-1)


def _one_more(alpha: float, best: int, c: float, verification: float) -> str:
    """What the token after the best γ would do."""
    if best == GAMMA_MAX:
        return "each token drawn here gains"
    here, further = improvement_factor(alpha, np.array([best, best + 1]), c, verification)
    does = "gain nothing" if abs(further - here) <= 1e-12 * here else "lose"
    return f"{'an' if best + 1 in (8, 11) else 'a'} {ORDINALS[best]} draft token would {does}"


def _at_most(alpha: float) -> str:
    if alpha == 1:
        return "without a ceiling, as every draft is accepted"
    return f"at most {token_ceiling(alpha):.3g} {'tokens' if alpha else 'token'} a round however far one drafts"


def _draw_map(axes: Axes, verification: float) -> None:
    for kind in ("collections", "texts"):  # lines take their labels with them
        for drawn in [*getattr(axes, kind)]:
            drawn.remove()
    gains = gain_map(verification)
    bands = [1, *LEVELS, 18]
    axes.contourf(SIDE, SIDE, gains, bands, cmap="cividis", norm=LogNorm(1, 18), zorder=0)
    colours = [colour for colour, _ in LEVELS.values()]
    lines = axes.contour(SIDE, SIDE, gains, list(LEVELS), colors=colours, linewidths=1, zorder=1)
    # Rows rise with α: each label goes where its row crosses its line, if it does.
    places = [(np.interp(level, gains[row], SIDE), SIDE[row]) for level, (_, row) in LEVELS.items()]
    shown = [place for place in places if 0 < place[0] < 1]
    axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=style.SMALLEST, manual=shown)
    axes.contour(SIDE, SIDE, gains, [1], colors="black", linewidths=2.4, zorder=2)
    axes.text(0.04, 0.93, "no draft pays" if verification > 1 else "no draft pays: α ≤ c", zorder=2)


def _line(axes: Axes, colour: str, **options: Any) -> Line2D:
    return axes.plot([], [], color=COLOURS[colour], linestyle=LINES[colour], **options)[0]
