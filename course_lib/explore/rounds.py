"""Rounds of speculative decoding, one event at a time: the drafts, the target's one run, each test, what is emitted last.

The reader walks through a recorded stream (`recorded_rounds`), in which two small models have decoded for good. In each
picture: the text so far, the round's words in boxes that look like what has become of them, the rows p and q at the position
at issue, and the test of r against p/q.

    step      an event of the stream
    p, q      the target's and the draft's distribution of the next word              (12,)
    r         the number in [0, 1) of one test: the word stays if r < p/q             Leviathan et al., 2023, Alg. 1
    gamma, γ  drafted words a round
    E[N]      the words that a round is expected to emit                              eq. 1
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from course_lib.explore import Choice, Explorer, Slider
from course_lib.explore.recorded_rounds import DRAFTS, WORDS, Event, expected_words, recorded
from course_lib.explore.style import COLOURS, HATCHES
from course_lib.speculation import residual

STEPS = 100
SLOTS = 6  # the words that a round can emit: γ is at most 5
ROWS = {"so far": -0.6, "text": 0.45, "drafted": 1.8, "p / q": 3.0, "r": 3.85, "emitted": 5.1}
COUNTS = ("target runs", "rounds", "words", "a round", "E[N]")
EDGES = (np.arange(len(WORDS))[:, None] + np.array([-0.39, -0.13, 0.13, 0.39])).ravel()
LOOKS = {
    "open": ("white", "-", "black"),
    "kept": ("#BFDFF3", "-", "black"),
    "rejected": ("white", "-", "black"),
    "dropped": ("white", ":", "#767676"),
    "replace": ("#BDE5D7", "--", "black"),
    "bonus": ("#F8DFA6", "-.", "black"),
}
"""Ground, line and letters of a word's box."""

ALT = (
    "A round, drawn step by step. In rows: the text so far; the drafted words in boxes; under each its p/q, once the target has "
    "run, and its r, once it is tested; the words that the round emits. Words that stayed have a filled box, a rejected one is "
    "crossed out, those after it are dotted and grey. Below on the left, bars for each of twelve words: p, q and, after a "
    "rejection, the residual, with a grey ground behind the word at issue. Below on the right, the test: a column that is "
    "divided at p/q, and r as a line across it; below the division the word stays."
)


class Box:
    """A word in its place, drawn as what has become of it."""

    def __init__(self, axes: Axes, place: int, row: float) -> None:
        self.frame = axes.add_patch(Rectangle((place, row - 0.55), 0.9, 1.1, linewidth=1.8))
        self.word = axes.text(place + 0.45, row, "", ha="center", va="center")
        left, right, top, bottom = place, place + 0.9, row - 0.55, row + 0.55
        across, down = [left, right, np.nan, left, right], [top, bottom, np.nan, bottom, top]
        self.cross = axes.plot(across, down, color=COLOURS["vermilion"], linestyle="-", linewidth=2)[0]

    def show(self, word: str, look: str) -> None:
        """Shows a word, or no box at all for an empty one."""
        ground, line, letters = LOOKS[look]
        self.frame.set(visible=bool(word), facecolor=ground, edgecolor=letters, linestyle=line)
        self.word.set(text=word, color=letters)
        self.cross.set_visible(bool(word) and look == "rejected")


@dataclass
class Player:
    """The artists that move."""

    counts: list[Text]
    text: Text
    drafted: list[Box]
    ratios: list[Text]
    draws: list[Text]
    emitted: list[Box]
    how: Text
    after: Text
    word: Rectangle
    target: StepPatch
    draft: StepPatch
    residual: StepPatch
    keep: Rectangle
    reject: Rectangle
    draw: Line2D


def round_player(step: int = 9, gamma: int = 4, knows: str = "both", seed: int = 2) -> Explorer:
    """A recorded stream of rounds to walk through: step, γ, what the draft knows of the target, and the seed as controls.

    Args:
        step, gamma, knows, seed: where the controls stand at first.

    Raises:
        ValueError: one of them is no position of its control.
    """
    return Explorer(
        [
            Slider("step", "step", range(STEPS), start=step),
            Slider("gamma", "γ", range(1, SLOTS), start=gamma),
            Choice("knows", "draft knows", DRAFTS, start=knows),
            Slider("seed", "seed", range(1, 10), start=seed),
        ],
        build,
        update,
        alt=ALT,
        size=(9.6, 5.8),
    )


def build(figure: Figure) -> Player:
    """Draws the rows and the two charts, all empty, and returns what moves."""
    figure.set_layout_engine("none")  # axes that arrange themselves move a little with each drawing
    places = (0.09, 0.54, 0.9, 0.45), (0.09, 0.19, 0.71, 0.29), (0.86, 0.19, 0.13, 0.29)
    top, bars, test = map(figure.add_axes, places)
    top.set(xlim=(0, SLOTS), ylim=(6.5, -1.1))
    for i, name in enumerate(COUNTS):
        # Below all that moves, and so part of the background: letters are what takes longest to draw.
        top.text(1.2 * i + 0.72, ROWS["so far"], name, va="center", ha="right", zorder=0.5)
    top.set_yticks(list(ROWS.values()), list(ROWS))
    top.tick_params(length=0, pad=8)
    top.xaxis.set_visible(False)
    top.spines[:].set_visible(False)
    bars.set(xlim=(-0.6, len(WORDS) - 0.4), ylim=(0, 1.02))
    bars.set_xticks(range(len(WORDS)), WORDS)
    test.set(xlim=(0, 1), ylim=(0, 1.02), title="the test")
    test.set_xticks([])
    top.grid(False)
    for axes in (bars, test):
        axes.set_yticks([0, 0.5, 1])
        axes.grid(visible=False, axis="x")
    middle = {"ha": "center", "va": "center"}
    player = Player(
        counts=[top.text(1.2 * i + 0.78, ROWS["so far"], "", va="center") for i in range(len(COUNTS))],
        text=top.text(0, ROWS["text"], "", va="center"),
        drafted=[Box(top, i, ROWS["drafted"]) for i in range(SLOTS - 1)],
        ratios=[top.text(i + 0.45, ROWS["p / q"], "", **middle) for i in range(SLOTS - 1)],
        draws=[top.text(i + 0.45, ROWS["r"], "", **middle) for i in range(SLOTS - 1)],
        emitted=[Box(top, i, ROWS["emitted"]) for i in range(SLOTS)],
        how=top.text(0, ROWS["emitted"] + 0.7, "", ha="center", va="top"),
        after=bars.text(0, 1.04, "–", transform=bars.transAxes, va="bottom", fontsize=14),
        word=bars.add_patch(Rectangle((0, 0), 1, 1.02, color="#DDDDDD", zorder=0.7)),
        target=_steps(bars, "blue", "p (target)"),
        draft=_steps(bars, "vermilion", "q (draft)"),
        residual=_steps(bars, "green", "residual"),
        keep=_zone(test, "sky", "stays"),
        reject=_zone(test, "vermilion", "rejected"),
        draw=test.plot([], [], color=COLOURS["black"], linestyle="-", linewidth=3.2, label="r")[0],
    )
    for axes, columns in ((bars, 3), (test, 1)):
        below = axes.transAxes + ScaledTranslation(-8 / 72, -26 / 72, figure.dpi_scale_trans)
        place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0}
        axes.legend(**place, ncols=columns, handlelength=2, labelspacing=0.25)
    return player


def update(player: Player, step: int, gamma: int, knows: str, seed: int) -> str:
    """Moves the artists to one event and returns what happens, in words."""
    event = recorded(gamma, knows, seed, STEPS)[step]
    mean = f"{event.words / event.rounds:.2f}" if event.rounds else "–"
    tally = event.target_runs, event.rounds, event.words, mean, f"{expected_words(gamma, knows):.2f}"
    for text, count in zip(player.counts, tally, strict=True):
        text.set_text(str(count))
    player.text.set_text(_said(event.text))
    _show_boxes(player, event)
    _show_rows(player, event)
    return reading(step, gamma, knows, seed)


def _show_boxes(player: Player, event: Event) -> None:
    this, at, kind = event.round, event.at, event.kind
    known = 0 if this is None else at + 1 if kind == "draft" else this.gamma
    tested = 0 if kind in {"start", "draft", "run"} else at + (kind in {"keep", "reject", "replace"})
    for i, box in enumerate(player.drafted):
        look = "open"
        if tested and this:
            look = "kept" if i < min(tested, this.accepted) else "rejected" if i < tested else "open"
            look = "dropped" if i > this.accepted and kind in {"reject", "replace"} else look
        box.show(WORDS[this.drafted[i]] if this and i < known else "", look)
        asked = this is not None and kind != "draft" and i < this.gamma
        player.ratios[i].set_text(f"{this.ratio(i):.2f}" if asked else "")
        player.draws[i].set_text(f"{this.uniforms[i]:.2f}" if asked and i < tested else "")
    for i, box in enumerate(player.emitted):
        word, look = "", "kept"
        if this and i < min(tested, this.accepted):
            word = WORDS[this.drafted[i]]
        elif this and kind in {"replace", "bonus"} and i == at:
            word, look = WORDS[this.last], kind
        box.show(word, look)
    player.how.set(text={"replace": "replaced", "bonus": "bonus"}.get(kind, ""), x=at + 0.45)


def _show_rows(player: Player, event: Event) -> None:
    this, at, kind = event.round, event.at, event.kind
    none = np.zeros(len(WORDS))
    draft = this.q[at] if this and at < this.gamma else none
    target = this.p[at] if this and kind != "draft" else none
    player.target.set_data(_thirds(target, 0))
    player.draft.set_data(_thirds(draft, 1))
    player.residual.set_data(_thirds(residual(target, draft) if kind == "replace" else none, 2))
    word = None if this is None else this.last if kind in {"replace", "bonus"} else this.drafted[at]
    player.word.set(x=-2 if word is None else word - 0.5)
    player.after.set_text("" if this is None else f"after “{WORDS[event.before]}”")
    testing = this is not None and kind in {"keep", "reject"}
    limit = min(1.0, this.ratio(at)) if testing else 0.0
    for zone in (player.keep, player.reject):
        zone.set_visible(testing)
    player.keep.set_height(limit)
    player.reject.set(y=limit, height=1 - limit)
    player.draw.set_data([0.08, 0.92], [this.uniforms[at]] * 2 if testing else [-1, -1])


def reading(step: int, gamma: int, knows: str, seed: int) -> str:
    """What happens at one event, in words."""
    event = recorded(gamma, knows, seed, STEPS)[step]
    return f"{_happening(event)}. {_count(event, gamma, knows)}."


def _happening(event: Event) -> str:
    this, at, kind = event.round, event.at, event.kind
    before = WORDS[event.before]
    if this is None:
        return "The text is “the”, and nothing is drafted yet"
    if kind == "bonus":
        return f"All {this.gamma} stayed; the run has given p after “{before}” too, and “{WORDS[this.last]}” is drawn from it"
    x = this.drafted[at]
    if kind == "draft":
        return f"The draft proposes “{WORDS[x]}” after “{before}”: q = {this.q[at, x]:.2f}"
    if kind == "run":
        return f"One run of the target gives {this.gamma + 1} rows: p after “{before}” and after each drafted word"
    if kind == "replace":
        return f"“{WORDS[this.last]}” is drawn from the residual in place of “{WORDS[x]}”; the round ends"
    r, ratio = _apart(this.uniforms[at], this.ratio(at))
    if kind == "keep":
        return f"r = {r} < p/q = {ratio}: “{WORDS[x]}” stays"
    later = this.gamma - at - 1
    gone = f", and with it the {later} {'words' if later > 1 else 'word'} drafted after it" if later else ""
    return f"r = {r} ≥ p/q = {ratio}: “{WORDS[x]}” is rejected{gone}"


def _count(event: Event, gamma: int, knows: str) -> str:
    counts = ((event.target_runs, "target run"), (event.rounds, "finished round"), (event.words, "word"))
    listed = ", ".join(f"{n} {name}{'s' * (n != 1)}" for n, name in counts)
    mean = f": {event.words / event.rounds:.2f} a round" if event.rounds else ""
    return f"{listed}{mean}; E[N] = {expected_words(gamma, knows):.2f}"


def _apart(r: float, ratio: float) -> tuple[str, str]:
    """Both numbers to two digits, or to as many more as it takes to see which one is larger."""
    digits = next((n for n in (2, 3, 4, 6) if f"{r:.{n}f}" != f"{ratio:.{n}f}"), 9)
    return f"{r:.{digits}f}", f"{ratio:.{digits}f}"


def _said(text: tuple[int, ...], most: int = 9) -> str:
    """The end of a text, with full stops where they belong."""
    end = " ".join(WORDS[x] for x in text[-most:]).replace(" .", ".")
    return f"… {end.removeprefix('. ')}" if len(text) > most else end


def _zone(axes: Axes, colour: str, label: str) -> Rectangle:
    look = {"facecolor": "white", "edgecolor": COLOURS[colour], "hatch": HATCHES[colour], "linewidth": 1.4}
    return axes.add_patch(Rectangle((0.2, 0), 0.6, 0, label=label, **look))


def _steps(axes: Axes, colour: str, label: str) -> StepPatch:
    look = {"facecolor": COLOURS[colour], "edgecolor": "black", "hatch": HATCHES[colour], "linewidth": 0.8}
    return axes.stairs(_thirds(np.ones(len(WORDS)), 0), EDGES, fill=True, label=label, **look)


def _thirds(row: Float[np.ndarray, "v"], third: int) -> Float[np.ndarray, "four_v_minus_1"]:
    """A row of bars, each in its third of a word's place, with nothing between them; a bar of 0 is not drawn."""
    heights = np.full((len(row), 4), np.nan)
    heights[:, third] = np.where(row > 0, row, np.nan)
    return heights.ravel()[:-1]
