"""The rule that keeps a draft or replaces it, as an explorer over four tokens.

Two distributions overlap. Where the draft proposes a token more often than the target wants it, the surplus is rejected; where
it proposes it too seldom, something is missing, and a rejected draft is replaced by a draw from what is missing. The reader
shapes both distributions and watches what a stream of rounds emits: under this rule the target's own distribution, under two
rules that look much like it something else.

    p         the target's distribution of the next token                     (4,)
    q         the draft's                                                     (4,)
    alpha, α  Σ min(p, q), the probability that a draft is kept               Leviathan et al., 2023, Thm. 3.5
    residual  norm((p − q)₊), from which a replacement is drawn               (4,)   §2.3
    shares    how often each token has been emitted, by the number of rounds  (4,)
    TV        total variation, ½ Σ |shares − p|
"""

from dataclasses import dataclass
from functools import lru_cache
from math import pi

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from course_lib.arrays import sample
from course_lib.explore import Choice, Explorer, Slider
from course_lib.explore.controls import Simplex
from course_lib.explore.style import COLOURS, HATCHES
from course_lib.speculation import acceptance_rate, emitted_distribution, residual, total_variation, verify_and_emit

TOKENS = ("A", "B", "C", "D")
ROUNDS = [10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000]
RULES = {
    "replace from the residual": "residual",
    "replace from p (wrong)": "target",
    "keep every draft (wrong)": "draft",
}
Row = tuple[float, ...]

ALT = (
    "Three bar charts over the tokens A, B, C and D. Left: target p as solid levels and draft q as dashed ones. Each bar is "
    "filled up to the lower of the two, the overlap, whose area is α; above it lies either what p still misses or what q has "
    "too much and is rejected. Middle: the residual, what p misses, scaled to sum to 1. Right: how often each token has been "
    "emitted, as bars, with the levels of p across them. Under the right rule the bars close in on the levels as rounds are "
    "added; under the wrong ones they settle elsewhere."
)


@dataclass
class Rule:
    """The artists that move: bars, the levels of p and q across them, and a line of words above each chart."""

    overlap: StepPatch
    missing: StepPatch
    surplus: StepPatch
    target: StepPatch
    draft: StepPatch
    residual: StepPatch
    emitted: StepPatch
    wanted: StepPatch
    notes: list[Text]


def rejection_rule_explorer(
    p: Row = (0.4, 0.3, 0.2, 0.1), q: Row = (0.15, 0.25, 0.45, 0.15), seed: int = 5
) -> Explorer:
    """Target, draft, number of rounds and rule as controls; overlap, residual and what a stream of rounds emits.

    Args:
        p, q: the distributions at first, in steps of 0.05.
        seed: of the stream of rounds.

    Raises:
        ValueError: p or q is no distribution over four tokens in such steps.
    """

    def update(drawn: Rule, p: Row, q: Row, rounds: int, rule: str) -> str:
        move(drawn, p, q, stream(p, q, rule, seed)[:rounds], rule)
        return reading(p, q, stream(p, q, rule, seed)[:rounds], rule)

    return Explorer(
        [
            Simplex("p", "target p", TOKENS, p),
            Simplex("q", "draft q", TOKENS, q),
            Slider("rounds", "rounds", ROUNDS, start=300),
            Choice("rule", "rule", RULES, start="residual"),
        ],
        build,
        update,
        alt=ALT,
        size=(9.6, 4.8),
    )


def build(figure: Figure) -> Rule:
    """Draws three empty charts and returns what moves."""
    figure.set_layout_engine("none")  # axes that arrange themselves move a little with each drawing
    charts = [figure.add_axes((left, 0.25, 0.285, 0.63)) for left in (0.045, 0.375, 0.705)]
    for axes, title in zip(charts, ("p and q overlap", "drawn after a rejection", "emitted"), strict=True):
        axes.set(xlim=(-0.55, 3.55), ylim=(0, 1.02))
        axes.set_title(title, pad=26)
        axes.set_xticks(range(4), TOKENS)
        axes.set_yticks(np.linspace(0, 1, 6))
        axes.grid(visible=False, axis="x")
    left, middle, right = charts
    drawn = Rule(
        overlap=_bars(left, "sky", "min(p, q): kept"),
        missing=_bars(left, "blue", "p − q: missing"),
        surplus=_bars(left, "vermilion", "q − p: rejected"),
        target=_levels(left, "-", "p"),
        draft=_levels(left, (0, (1.6, 0.9)), "q"),
        residual=_bars(middle, "blue", "residual:\n(p − q)₊ / (1 − α)"),
        emitted=_bars(right, "purple", "share of the rounds"),
        wanted=_levels(right, "-", "p"),
        notes=[axes.text(0, 1.03, "–", transform=axes.transAxes, va="bottom") for axes in charts],
    )
    for axes, columns in zip(charts, (2, 1, 1), strict=True):
        below = axes.transAxes + ScaledTranslation(-6 / 72, -26 / 72, figure.dpi_scale_trans)
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(0, 0),
            bbox_transform=below,
            borderaxespad=0,
            ncols=columns,
            handlelength=2,
            columnspacing=1,
            labelspacing=0.3,
        )
    return drawn


def move(drawn: Rule, p: Row, q: Row, emitted: Int[np.ndarray, "rounds"], rule: str) -> None:
    """Moves the artists to one choice of the controls."""
    target, draft = np.asarray(p), np.asarray(q)
    shared = np.minimum(target, draft)
    _set(drawn.overlap, shared)
    _set(drawn.missing, target, shared)
    _set(drawn.surplus, draft, shared)
    _set(drawn.residual, residual(target, draft) if p != q else np.zeros(4))
    _set(drawn.emitted, shares(emitted))
    for levels, heights in ((drawn.target, target), (drawn.draft, draft), (drawn.wanted, target)):
        levels.set_data(_with_gaps(heights))
    notes = (
        f"α = {acceptance_rate(target, draft):.2f}",
        "empty: p = q" if p == q else "" if rule == "residual" else "not used",
        f"{len(emitted):,} rounds, TV {total_variation(shares(emitted), target):.3f}",
    )
    for note, words in zip(drawn.notes, notes, strict=True):
        note.set_text(words)


def reading(p: Row, q: Row, emitted: Int[np.ndarray, "rounds"], rule: str) -> str:
    """How near a stream of rounds has come to p, and whether it ever will, in words."""
    target, draft = np.asarray(p), np.asarray(q)
    alpha, distance = acceptance_rate(target, draft), total_variation(shares(emitted), target)
    ends = total_variation(limit(p, q, rule), target)
    kept = f"A draft is kept with probability α = {alpha:.2f}" if rule != "draft" else "Every draft is kept"
    text = (
        f"{kept}. After {len(emitted):,} rounds the shares are {distance:.3f} away from p (total variation), where chance "
        f"alone leaves about {expected_distance(p, len(emitted)):.3f}"
    )
    if rule == "residual":
        return f"{text}; both go to 0 as rounds are added, since this rule emits p."
    if ends < 1e-12:
        return f"{text}; both go to 0 as rounds are added: for this p and q the wrong rule happens to emit p as well."
    return f"{text}; this rule stays {ends:.3f} away however many rounds there are."


def shares(emitted: Int[np.ndarray, "rounds"]) -> Float[np.ndarray, "4"]:
    """How often each token was emitted, of all rounds."""
    return np.bincount(emitted, minlength=4) / len(emitted)


def limit(p: Row, q: Row, rule: str) -> Float[np.ndarray, "4"]:
    """What a rule emits with endless rounds."""
    target, draft = np.asarray(p), np.asarray(q)
    if rule == "residual":
        return emitted_distribution(target, draft)
    kept = np.minimum(target, draft)
    return draft if rule == "draft" else kept + (1 - kept.sum()) * target


def expected_distance(p: Row, rounds: int) -> float:
    """The total variation that samples of p have from p on average: each share's mean deviation, taken to be normal."""
    spread = np.sqrt(np.asarray(p) * (1 - np.asarray(p)) / rounds)
    return float(np.sqrt(2 / pi) * spread.sum() / 2)


@lru_cache(maxsize=64)
def stream(p: Row, q: Row, rule: str, seed: int) -> Int[np.ndarray, "rounds"]:
    """The tokens that rounds of one draft each emit; under each rule with the same drafts and the same luck."""
    draws = np.random.default_rng(seed).random((ROUNDS[-1], 3))
    target, draft = (np.broadcast_to(np.asarray(row), (len(draws), 4)) for row in (p, q))
    proposed = sample(draft, draws[:, 0])
    done = verify_and_emit(proposed[:, None], draft[:, None], np.stack([target, target], axis=1), draws[:, 1:])
    if rule == "residual":
        return done.tokens[:, 0]
    return proposed if rule == "draft" else np.where(done.accepted == 1, proposed, sample(target, draws[:, 2]))


def _bars(axes: Axes, colour: str, label: str) -> StepPatch:
    return axes.stairs(
        _with_gaps(np.ones(4)),
        _edges(0.36),
        fill=True,
        facecolor="white" if HATCHES[colour] else COLOURS[colour],
        edgecolor=COLOURS[colour],
        hatch=HATCHES[colour],
        linewidth=1.4,
        label=label,
    )


def _levels(axes: Axes, line: object, label: str) -> StepPatch:
    """A level across each bar, a little wider than the bar."""
    return axes.stairs(
        _with_gaps(np.ones(4)), _edges(0.44), baseline=None, color="black", linestyle=line, linewidth=2.6, label=label
    )


def _set(bars: StepPatch, tops: Float[np.ndarray, "4"], floors: Float[np.ndarray, "4"] | None = None) -> None:
    """Sets the ends of four bars; one without height is not drawn."""
    floors = np.zeros(4) if floors is None else floors
    bars.set_data(_with_gaps(np.where(tops > floors, tops, np.nan)), baseline=_with_gaps(floors))


def _edges(half: float) -> Float[np.ndarray, "8"]:
    return (np.arange(4)[:, None] + np.array([-half, half])).ravel()


def _with_gaps(values: Float[np.ndarray, "4"]) -> Float[np.ndarray, "7"]:
    """Four values with nothing between them, for a line of steps that is broken between bars."""
    return np.insert(values.astype(float), [1, 2, 3], np.nan)
