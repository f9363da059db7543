"""One round of speculation as a still picture: a round that rejects its third drafted token, and the next, which accepts all.

From top to bottom, as time goes: what is drafted, what the target looks at in one pass, which tokens stand, what is emitted.
"""

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from course_lib.explore import style
from course_lib.explore.style import COLOURS

GAMMA = 4
WIDTH, HEIGHT = 0.9, 0.62
DRAFTED, TARGET, VERDICT, EMITTED = 0.0, 1.05, 1.9, 2.75
GREY = "#666666"
LOOKS = {
    "prefix": {"facecolor": "#EEEEEE", "edgecolor": "#EEEEEE"},
    "drafted": {"facecolor": "white", "edgecolor": COLOURS["blue"], "linestyle": (0, (3, 1.5)), "linewidth": 1.8},
    "kept": {"facecolor": "#D6E8F4", "edgecolor": COLOURS["blue"], "linewidth": 1.8},
    "drawn": {"facecolor": "#FBE3D3", "edgecolor": COLOURS["vermilion"], "linewidth": 3.2},
    "dropped": {"facecolor": "white", "edgecolor": "#999999", "linestyle": (0, (1, 2)), "linewidth": 1.8},
}
ALT = (
    "Two rounds of speculative decoding with four drafted tokens. In each, the draft writes four tokens one after another, "
    "and one pass of the target gives five distributions, p1 to p5, one for each drafted position and one beyond. First "
    "round, after 'The cat sat': 'on' and 'the' stand, 'sofa' is rejected and replaced by 'mat', drawn from the residual, "
    "and 'and' is dropped: three tokens from one pass of the target. Second round, after '… on the mat': 'and', 'slept', "
    "'all' and 'day' stand, and 'long' is drawn from p5 for free: five tokens from one pass."
)


def draw_round(axes: Axes, title: str, prefix: str, drafted: list[str], accepted: int, drawn: str, source: str) -> None:
    """One round from top to bottom: what is drafted, what the target looks at, which tokens stand, what is emitted."""
    axes.set(xlim=(-0.62, GAMMA + 2.52), ylim=(EMITTED + 0.78, DRAFTED - 0.98))
    axes.axis("off")
    axes.text(-0.58, DRAFTED - 0.72, title, weight="bold", fontsize=15, va="center")
    for y, words in ((DRAFTED, "drafted"), (TARGET, "target"), (VERDICT, "$r < p\\,/\\,q$ ?"), (EMITTED, "emitted")):
        axes.text(-0.58, y, words, va="center", fontsize=13)
    for y in (DRAFTED, EMITTED):
        _box(axes, 1, y, prefix, "prefix")
    for i, token in enumerate(drafted):
        _box(axes, i + 2, DRAFTED, token, "drafted" if i <= accepted else "dropped")
    if accepted < GAMMA:
        axes.plot(
            [accepted + 1.63, accepted + 2.37], [DRAFTED + 0.2, DRAFTED - 0.2], color=COLOURS["vermilion"], ls="-"
        )
    for i in range(accepted + 1, GAMMA):
        axes.text(i + 2, EMITTED, "dropped", ha="center", va="center", fontsize=13, color=GREY)
    frame = FancyBboxPatch(
        (2 - WIDTH / 2, TARGET - HEIGHT / 2),
        GAMMA + WIDTH,
        HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.12",
        facecolor="#F3F3F3",
        edgecolor="black",
        linewidth=1.8,
    )
    axes.add_patch(frame)
    axes.text(1, TARGET, "one pass", ha="center", va="center", weight="bold")
    for i in range(GAMMA + 1):
        axes.text(i + 2, TARGET, f"$p_{i + 1}$", ha="center", va="center", fontsize=15)
    for i in range(GAMMA):
        mark = "✓" if i < accepted else "✗" if i == accepted else "–"
        colour = COLOURS["blue"] if i < accepted else COLOURS["vermilion"] if i == accepted else GREY
        axes.text(i + 2, VERDICT, mark, ha="center", va="center", fontsize=20, color=colour, weight="bold")
    for i in range(accepted):
        _box(axes, i + 2, EMITTED, drafted[i], "kept")
    _box(axes, accepted + 2, EMITTED, drawn, "drawn")
    axes.text(accepted + 2, EMITTED + 0.58, source, ha="center", va="center", fontsize=13)


def _box(axes: Axes, x: float, y: float, words: str, kind: str) -> None:
    axes.add_patch(Rectangle((x - WIDTH / 2, y - HEIGHT / 2), WIDTH, HEIGHT, **LOOKS[kind]))
    colour = GREY if kind == "dropped" else "black"
    axes.text(x, y, words, ha="center", va="center", fontsize=13, color=colour)


def speculative_round() -> style.Picture:
    """Two rounds, one under the other."""
    with style.use():
        picture = style.figure((7.0, 6.6), alt=ALT)
        upper, lower = picture.subplots(2, 1)
        first = ["on", "the", "sofa", "and"]
        second = ["and", "slept", "all", "day"]
        draw_round(upper, "The third is rejected: 3 tokens", "… sat", first, 2, "mat", "from the residual")
        draw_round(lower, "All four stand: 5 tokens", "… mat", second, GAMMA, "long", "from $p_5$, free")
    return picture
