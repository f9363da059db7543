"""The round player walks through real rounds: its stream is the library's own decoding, its pictures show what happened."""

import io
import re

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from course_lib.explore.recorded_rounds import (
    DRAFTS,
    FIRST,
    WORDS,
    draft_rows,
    expected_words,
    mean_acceptance,
    recorded,
    rounds,
    target_rows,
    word_shares,
)
from course_lib.explore.rounds import STEPS, reading, round_player
from course_lib.speculation import expected_tokens, residual, speculative_decode

PLAYER = round_player()
NAMES = list(DRAFTS.values())
PLACES = [(4, "both", 2), (1, "frequencies", 1), (5, "kinds", 7), (3, "target", 9)]


def model(table):
    return lambda sequences, n_last: np.stack([table[list(sequence)[-n_last:]] for sequence in sequences])


# The stream


@pytest.mark.parametrize(("gamma", "knows", "seed"), PLACES)
def test_the_recorded_text_is_what_the_librarys_loop_writes_from_the_same_seed(gamma, knows, seed):
    draft, target = model(draft_rows(knows)), model(target_rows())
    decoded = speculative_decode(draft, target, [[FIRST]], 60, gamma, np.random.default_rng(seed))
    stream = rounds(gamma, knows, seed)
    accepted, text = [], []
    for _ in decoded.rounds[0]:
        before, this = next(stream)
        assert before == (FIRST, *text)
        accepted.append(this.accepted)
        text += this.emitted
    assert accepted == decoded.rounds[0]
    assert text[:60] == decoded.tokens[0]


@pytest.mark.parametrize(("gamma", "knows", "seed"), PLACES)
def test_each_round_is_taken_apart_into_its_events_in_order(gamma, knows, seed):
    events = recorded(gamma, knows, seed, STEPS)
    assert len(events) == STEPS
    kinds = "".join(
        {"start": "s", "draft": "d", "run": "t", "keep": "k", "reject": "x"}.get(e.kind, e.kind[0]) for e in events
    )
    one = f"d{{{gamma}}}t(k{{{gamma}}}b|k{{0,{gamma - 1}}}xr)"
    assert re.fullmatch(f"s({one})*[dtkx]*", kinds)
    for event in events[1:]:
        this = event.round
        if event.kind in {"keep", "reject"}:
            assert (this.uniforms[event.at] < this.ratio(event.at)) == (event.kind == "keep")
        if event.kind == "replace":
            assert residual(this.p[event.at], this.q[event.at])[this.last] > 0
        assert event.before == (*event.text, *this.drafted)[len(event.text) + event.at - 1]


@pytest.mark.parametrize(("gamma", "knows", "seed"), PLACES)
def test_the_counts_are_those_of_the_events_so_far(gamma, knows, seed):
    events = recorded(gamma, knows, seed, STEPS)
    for step, event in enumerate(events):
        past = events[: step + 1]
        assert event.target_runs == sum(other.kind == "run" for other in past)
        assert event.rounds == sum(other.kind in {"replace", "bonus"} for other in past)
        assert event.words == sum(len(other.round.emitted) for other in past if other.kind in {"replace", "bonus"})
        if event.kind == "draft":
            assert len(event.text) == 1 + event.words


def test_a_draft_that_is_the_target_never_loses_a_word():
    for event in recorded(3, "target", 1, STEPS):
        assert event.kind not in {"reject", "replace"}


# The models


def test_the_shares_of_the_words_are_those_that_the_target_leaves_as_they_are():
    shares = word_shares()
    assert shares @ target_rows() == pytest.approx(shares, abs=1e-12)
    assert shares.sum() == pytest.approx(1)
    assert np.all(shares > 0.01)


@pytest.mark.parametrize("knows", NAMES)
def test_a_draft_gives_a_distribution_after_each_word_and_misses_no_word_of_the_target(knows):
    rows = draft_rows(knows)
    assert rows.sum(axis=1) == pytest.approx(np.ones(len(WORDS)))
    assert np.all(rows[target_rows() > 0] > 0)


def test_drafts_that_know_more_are_accepted_more_often():
    alphas = [mean_acceptance(knows) for knows in NAMES]
    assert alphas == sorted(alphas)
    assert alphas[0] < 0.3 < 0.8 < alphas[2]
    assert alphas[-1] == 1


@pytest.mark.parametrize("knows", NAMES)
@pytest.mark.parametrize("gamma", [1, 3, 5])
def test_one_mean_of_alpha_gives_the_words_of_a_round_to_half_a_percent(knows, gamma):
    """Exactly: after each word, i words are kept with probability Mⁱ·1, where M holds min(p, q); averaged over the starts."""
    p, q = target_rows(), draft_rows(knows)
    kept = [np.linalg.matrix_power(np.minimum(p, q), i) for i in range(gamma + 1)]
    after = sum(kept[:gamma]) @ np.maximum(p - q, 0) + kept[gamma] @ p
    starts = np.full(len(WORDS), 1 / len(WORDS))
    for _ in range(500):
        starts = (starts + starts @ after) / 2
    exact = starts @ sum(kept).sum(axis=1)
    assert expected_words(gamma, knows) == pytest.approx(exact, rel=0.005)
    assert expected_words(gamma, knows) == expected_tokens(mean_acceptance(knows), gamma)


# The pictures


def words_in(boxes) -> list[str]:
    return [box.word.get_text() for box in boxes if box.frame.get_visible()]


@pytest.mark.parametrize(("gamma", "knows", "seed"), PLACES)
def test_the_boxes_show_what_became_of_each_word(gamma, knows, seed):
    explorer = round_player(gamma=gamma, knows=knows, seed=seed)
    player = explorer._staged()._artists
    for step, event in enumerate(recorded(gamma, knows, seed, STEPS)):
        explorer.set(step=step)
        this = event.round
        drafted = 0 if this is None else event.at + 1 if event.kind == "draft" else gamma
        assert words_in(player.drafted) == [WORDS[x] for x in (this.drafted if this else ())[:drafted]]
        crossed = [i for i, box in enumerate(player.drafted) if box.cross.get_visible()]
        assert crossed == ([event.at] if event.kind in {"reject", "replace"} else [])
        if event.kind in {"replace", "bonus"}:
            assert words_in(player.emitted) == [WORDS[x] for x in this.emitted]
        elif event.kind == "keep":
            assert words_in(player.emitted) == words_in(player.drafted)[: event.at + 1]
        elif event.kind in {"start", "draft", "run"}:
            assert words_in(player.emitted) == []
        mean = f"{event.words / event.rounds:.2f}" if event.rounds else "–"
        counts = [
            str(event.target_runs),
            str(event.rounds),
            str(event.words),
            mean,
            f"{expected_words(gamma, knows):.2f}",
        ]
        assert [text.get_text() for text in player.counts] == counts
        shown = [text.get_text() for text in player.ratios if text.get_text()]
        assert shown == ([] if event.kind in {"start", "draft"} else [f"{this.ratio(i):.2f}" for i in range(gamma)])


def heights(patch) -> np.ndarray:
    """The bars of one row: every fourth step, of which only one is there for each word."""
    values = np.append(patch.get_data().values, np.nan).reshape(len(WORDS), 4)
    return np.nan_to_num(values).max(axis=1)


def test_the_bars_and_the_test_are_the_rows_of_the_round():
    explorer = round_player()
    player = explorer._staged()._artists
    for step, event in enumerate(recorded(4, "both", 2, STEPS)):
        explorer.set(step=step)
        this, at = event.round, event.at
        target, draft = heights(player.target), heights(player.draft)
        if event.kind in {"start", "draft"}:
            assert not target.any(), "the target has not run"
        else:
            assert np.array_equal(target, this.p[at])
        assert np.array_equal(draft, this.q[at] if this and at < 4 else np.zeros(len(WORDS)))
        left = residual(this.p[at], this.q[at]) if event.kind == "replace" else np.zeros(len(WORDS))
        assert np.array_equal(heights(player.residual), left)
        if event.kind in {"keep", "reject"}:
            assert player.keep.get_height() == min(1, this.ratio(at)) == player.reject.get_y()
            assert list(player.draw.get_ydata()) == [this.uniforms[at]] * 2
        else:
            assert not player.keep.get_visible()
            assert max(player.draw.get_ydata()) < 0


@pytest.mark.parametrize(
    ("gamma", "knows", "seed"), [(4, "both", 2), (5, "frequencies", 3), (5, "target", 9), (1, "kinds", 5)]
)
def test_no_two_texts_meet_and_none_leaves_the_picture(gamma, knows, seed):
    for step in (0, 1, gamma, gamma + 1, gamma + 2, 2 * gamma + 2, *range(40, STEPS, 9), STEPS - 1):
        picture = PLAYER.static(step=step, gamma=gamma, knows=knows, seed=seed)
        picture.canvas.draw()
        texts = [text for text in picture.findobj(Text) if text.get_text().strip() and text.get_visible()]
        assert min(text.get_fontsize() for text in texts) >= 12
        boxes = [text.get_window_extent() for text in texts]
        width, height = picture.bbox.width, picture.bbox.height
        assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for box in boxes)
        meet = [(a, b) for a in range(len(boxes)) for b in range(a) if boxes[a].overlaps(boxes[b])]
        assert not [(texts[a].get_text(), texts[b].get_text()) for a, b in meet], f"step {step}"


# The reading


def test_the_reading_says_the_numbers_of_each_event():
    for step, event in enumerate(recorded(4, "both", 2, STEPS)):
        words = reading(step, 4, "both", 2)
        assert f"{event.target_runs} target run" in words
        assert f"{event.words} word" in words
        assert f"E[N] = {expected_words(4, 'both'):.2f}" in words
        if event.rounds:
            assert f"{event.words / event.rounds:.2f} a round" in words
        if event.kind in {"keep", "reject"}:
            r, sign, ratio = re.match(r"r = ([\d.]+) ([<≥]) p/q = ([\d.]+): ", words).groups()
            assert float(r) == pytest.approx(event.round.uniforms[event.at], abs=0.0051)
            assert float(ratio) == pytest.approx(event.round.ratio(event.at), abs=0.0051)
            assert (sign == "<") == (float(r) < float(ratio)) == (event.kind == "keep")


def test_every_position_of_every_control_can_be_visited():
    explorer = round_player()
    for seed in explorer.controls["seed"].values:
        for gamma in explorer.controls["gamma"].values:
            for knows in NAMES:
                explorer.set(seed=seed, gamma=gamma, knows=knows, step=STEPS - 1 - seed)
                assert explorer.reading == reading(STEPS - 1 - seed, gamma, knows, seed)
    assert explorer.static().caption == explorer.reading


def test_the_picture_is_a_function_of_the_controls_alone():
    moved, fresh = round_player(), round_player()
    moved.redraw()
    for step in (0, 7, 20, 33, 10):
        moved.set(step=step, gamma=5)
        moved.redraw()
    fresh.set(**moved.values)
    assert np.array_equal(pixels(moved.redraw()), pixels(fresh.redraw()))
    # Edges drawn over a saved background round differently by a shade.
    assert np.abs(pixels(moved.redraw()).astype(int) - pixels(moved.static().png())).max() <= 8


def test_walking_on_does_not_draw_the_background_again():
    explorer = round_player()
    explorer.redraw()
    canvas, drawn = explorer._staged().figure.canvas, []
    draw = canvas.draw
    canvas.draw = lambda: (drawn.append(1), draw())
    for step in range(30):
        explorer.set(step=step)
        explorer.redraw()
    assert drawn == []


@pytest.mark.parametrize("argument", [{"step": -1}, {"gamma": 6}, {"knows": "everything"}, {"seed": 0}])
def test_a_start_off_the_controls_is_refused(argument):
    with pytest.raises(ValueError, match=next(iter(argument))):
        round_player(**argument)


def test_a_draft_of_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="knows is 'nothing'"):
        draft_rows("nothing")


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
