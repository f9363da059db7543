"""The explorer of the rejection rule: what it draws is the library's, only the right rule's stream comes to p.

Its two distributions are moved by a control of their own, `Simplex`, which is tested here too.
"""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ipywidgets import SelectionSlider
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from PIL import Image
from scipy.stats import chisquare

from course_lib.explore.controls import Simplex
from course_lib.explore.rejection_rule import (
    ROUNDS,
    RULES,
    expected_distance,
    limit,
    reading,
    rejection_rule_explorer,
    shares,
    stream,
)
from course_lib.speculation import acceptance_rate, emitted_distribution, residual, total_variation

EXPLORER = rejection_rule_explorer()
P, Q = EXPLORER.values["p"], EXPLORER.values["q"]
# Cuts of 20 steps into four parts: every distribution that the sliders can show.
rows = st.lists(st.integers(0, 20), min_size=3, max_size=3).map(
    lambda cuts: tuple(int(part) / 20 for part in np.diff([0, *sorted(cuts), 20]))
)
rules = st.sampled_from(list(RULES.values()))
EXTREMES = [
    ((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
    ((1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
    ((0.25,) * 4, (0.25,) * 4),
    ((0.5, 0.5, 0.0, 0.0), (0.0, 0.5, 0.5, 0.0)),
]


# What is drawn


def bars(picture) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each kind of bars or levels, the lower and upper ends of the four that are there."""
    found = {}
    for place, axes in enumerate(picture.axes):
        for patch in axes.findobj(StepPatch):
            values, _, baseline = patch.get_data()
            floor = np.zeros(7) if baseline is None else np.broadcast_to(baseline, 7)
            found[place, patch.get_label().replace("\n", " ")] = (floor[::2], values[::2])
    return found


@given(p=rows, q=rows)
def test_the_bars_are_overlap_surplus_and_residual_as_the_library_has_them(p, q):
    drawn = bars(EXPLORER.static(p=p, q=q))
    low, high = np.minimum(p, q), np.maximum(p, q)
    assert np.nansum(drawn[0, "min(p, q): kept"][1]) == pytest.approx(acceptance_rate(np.array(p), np.array(q)))
    for name, more, less in (("p − q: missing", p, q), ("q − p: rejected", q, p)):
        there = np.array(more) > np.array(less)
        assert np.array_equal(np.isnan(drawn[0, name][1]), ~there)
        assert np.array_equal(drawn[0, name][0][there], low[there])
        assert np.array_equal(drawn[0, name][1][there], high[there])
    heights = np.nan_to_num(drawn[1, "residual: (p − q)₊ / (1 − α)"][1])
    assert heights == pytest.approx(residual(np.array(p), np.array(q)) if p != q else np.zeros(4))
    for place, name, row in ((0, "p", p), (0, "q", q), (2, "p", p)):
        assert np.array_equal(drawn[place, name][1], row)


@pytest.mark.parametrize("rule", RULES.values())
def test_the_last_bars_are_the_shares_of_the_rounds_so_far(rule):
    for rounds in (ROUNDS[0], ROUNDS[-1]):
        heights = bars(EXPLORER.static(rule=rule, rounds=rounds))[2, "share of the rounds"][1]
        counts = [np.sum(stream(P, Q, rule, 5)[:rounds] == token) for token in range(4)]
        assert np.nan_to_num(heights) == pytest.approx(np.array(counts) / rounds)


@pytest.mark.parametrize(("p", "q"), EXTREMES)
@pytest.mark.parametrize("rule", RULES.values())
def test_nothing_runs_into_anything_else_at_the_extremes(p, q, rule):
    picture = EXPLORER.static(p=p, q=q, rule=rule, rounds=ROUNDS[-1])
    picture.png()
    texts = [text for text in picture.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= 12
    boxes = [text.get_window_extent() for text in texts]
    assert all(box.x0 >= 0 and box.x1 <= 960 and box.y0 >= 0 and box.y1 <= 480 for box in boxes)
    assert not [(a, b) for a, one in enumerate(boxes) for b, other in enumerate(boxes[:a]) if one.overlaps(other)]


# What is emitted


def test_only_the_right_rule_emits_the_targets_distribution():
    """Seed 5, 10,000 rounds. The right rule would fail one seed in 1,000; the wrong ones are off by hundreds of rounds."""
    for rule in RULES.values():
        counts = np.bincount(stream(P, Q, rule, 5), minlength=4)
        to_p, to_limit = (chisquare(counts, counts.sum() * row).pvalue for row in (np.array(P), limit(P, Q, rule)))
        assert to_limit > 1e-3
        assert (to_p > 1e-3) == (rule == "residual")


def test_a_plain_draw_from_p_after_a_rejection_counts_the_overlap_twice():
    """The report: Spec-RL #14. With p = (1, 1)/2 and q = (1, 0): kept ½, then p again, so that the first token has ¾."""
    p, q = (0.5, 0.5, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    assert limit(p, q, "target") == pytest.approx([0.75, 0.25, 0, 0])
    assert limit(p, q, "residual") == pytest.approx(p)


@given(p=rows, q=rows)
def test_the_limits_of_the_rules_are_distributions_and_the_first_is_p(p, q):
    for rule in RULES.values():
        assert limit(p, q, rule).sum() == pytest.approx(1)
        assert np.all(limit(p, q, rule) >= 0)
    assert limit(p, q, "residual") == pytest.approx(p)
    assert limit(p, q, "residual") == pytest.approx(emitted_distribution(np.array(p), np.array(q)))


def test_the_distance_that_chance_leaves_is_the_mean_of_many_samples():
    """Seed 0, 2,000 samples: the mean's own deviation is below 0.4 %, and the normal approximation's error 1 % here."""
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(300, P, size=2000) / 300
    mean = total_variation(drawn, np.broadcast_to(np.array(P), drawn.shape)).mean()
    assert expected_distance(P, 300) == pytest.approx(mean, rel=0.03)


# What is said


@given(p=rows, q=rows, rule=rules, rounds=st.sampled_from(ROUNDS))
def test_the_reading_is_what_the_library_computes(p, q, rule, rounds):
    emitted = stream(p, q, rule, 5)[:rounds]
    words = EXPLORER.static(p=p, q=q, rule=rule, rounds=rounds).caption
    assert words == reading(p, q, emitted, rule)
    distance = total_variation(shares(emitted), np.array(p))
    assert f"After {rounds:,} rounds the shares are {distance:.3f} away" in words
    if rule == "draft":
        assert words.startswith("Every draft is kept.")
    else:
        assert f"α = {acceptance_rate(np.array(p), np.array(q)):.2f}." in words
    stays = re.search(r"this rule stays ([\d.]+) away", words)
    far = total_variation(limit(p, q, rule), np.array(p))
    assert (stays is not None) == (far > 1e-12)
    assert stays is None or float(stays[1]) == pytest.approx(far, abs=5.1e-4)


@pytest.mark.parametrize(
    ("p", "q", "rule", "said"),
    [
        (*EXTREMES[0], "residual", "α = 0.00. After 50 rounds the shares are 0.000 away"),
        (*EXTREMES[0], "target", "happens to emit p as well"),
        (
            *EXTREMES[0],
            "draft",
            "are 1.000 away from p (total variation), where chance alone leaves about 0.000; this rule stays",
        ),
        (*EXTREMES[1], "target", "α = 1.00. After 50 rounds the shares are 0.000 away"),
        (*EXTREMES[2], "draft", "happens to emit p as well"),
    ],
)
def test_where_models_agree_or_share_nothing_the_reading_says_what_becomes_of_the_rules(p, q, rule, said):
    assert said in EXPLORER.static(p=p, q=q, rule=rule, rounds=50).caption


def test_every_position_can_be_visited_and_says_the_same_still_or_live():
    explorer = rejection_rule_explorer()
    for rounds in ROUNDS:
        for rule in RULES.values():
            explorer.set(rounds=rounds, rule=rule)
            assert explorer.reading == reading(P, Q, stream(P, Q, rule, 5)[:rounds], rule)
    assert explorer.static().caption == explorer.reading


def test_the_picture_is_a_function_of_the_controls_alone():
    moved, fresh = rejection_rule_explorer(), rejection_rule_explorer()
    moved.redraw()
    for p, q in EXTREMES:
        moved.set(p=p, q=q, rounds=100, rule="target")
        moved.redraw()
    fresh.set(**moved.values)
    assert np.array_equal(pixels(moved.redraw()), pixels(fresh.redraw()))
    # Edges drawn over a saved background round differently by a shade.
    still = pixels(moved.static().png()).astype(int)
    assert np.abs(pixels(moved.redraw()) - still).max() <= 8


def test_the_numbers_in_the_figures_caption_are_the_librarys():
    caption = " ".join((Path(__file__).parents[2] / "figures/rejection_rule.md").read_text("utf-8").split())
    alpha, left = acceptance_rate(np.array(P), np.array(Q)), residual(np.array(P), np.array(Q))
    far = {rule: total_variation(limit(P, Q, rule), np.array(P)) for rule in RULES.values()}
    now = total_variation(shares(stream(P, Q, "residual", 5)[:300]), np.array(P))
    for words in (
        f"is kept: α = {alpha:.2f}",
        f"the surplus of {1 - alpha:.2f} is rejected",
        f"A with {left[0]:.2f}, B with {left[1]:.2f}",
        f"the tokens of 300 rounds under this rule (bars) are within {now:.3f} of p",
        f"chance leaves about {expected_distance(P, 300):.3f}",
        f"would settle {far['target']:.2f} away from p, keeping every draft {far['draft']:.2f}",
    ):
        assert words in caption
    assert EXPLORER.values == {"p": P, "q": Q, "rounds": 300, "rule": "residual"}


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


# The control that moves a distribution

SIMPLEX = Simplex("p", "target p", "ABCD", (0.5, 0.25, 0.15, 0.1))


@given(start=rows, part=st.integers(0, 3), to=st.integers(0, 20))
def test_a_moved_part_is_where_it_was_put_and_the_others_share_the_rest(start, part, to):
    moved = SIMPLEX.moved(start, part, to / 20)
    assert SIMPLEX.position(moved) == moved
    assert moved[part] == to / 20
    rest = 1 - start[part]
    for i in range(4):
        if i != part:
            fair = (1 - to / 20) * (start[i] / rest if rest else 1 / 3)
            assert moved[i] == pytest.approx(fair, abs=0.05), "more than a step from its share"
    assert SIMPLEX.moved(start, part, start[part]) == start


@given(start=rows, part=st.integers(0, 3), to=st.integers(0, 19))
def test_when_one_part_grows_no_other_does(start, part, to):
    before, after = SIMPLEX.moved(start, part, to / 20), SIMPLEX.moved(start, part, (to + 1) / 20)
    assert all(after[i] <= before[i] for i in range(4) if i != part)


@pytest.mark.parametrize(
    "value", [(0.5, 0.5), (0.52, 0.28, 0.1, 0.1), (0.5, 0.5, 0.5, -0.5), "ABCD", 3, None, (float("nan"),) * 4, ()]
)
def test_what_is_no_distribution_in_steps_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^p: needs 4 probabilities in steps of 0\.05 that sum to 1"):
        SIMPLEX.position(value)
    with pytest.raises(ValueError, match=r"^p: "):
        rejection_rule_explorer(p=value)


@pytest.mark.parametrize("parts", ["", "A", "AA"])
def test_a_distribution_has_parts_with_names_of_their_own(parts):
    with pytest.raises(ValueError, match="parts of 'p'"):
        Simplex("p", "p", parts, (1.0,) * len(parts))


def test_a_distribution_is_read_part_by_part():
    assert SIMPLEX.text(SIMPLEX.start) == "A 0.5, B 0.25, C 0.15, D 0.1"
    assert "target p: A 0.4, B 0.3, C 0.2, D 0.1" in repr(EXPLORER)


def test_pulling_one_slider_moves_all_and_pulling_it_back_restores_them():
    box = SIMPLEX.widget()
    sliders = [slider for slider in box.children[1].children if isinstance(slider, SelectionSlider)]
    heard = []
    box.observe(lambda change: heard.append(change["new"]), names="value")
    assert [slider.description for slider in sliders] == ["p(A)", "p(B)", "p(C)", "p(D)"]
    for to in (0.6, 1.0, 0.0, 0.5):
        sliders[0].value = to
        assert tuple(slider.value for slider in sliders) == box.value == heard[-1]
    assert box.value == SIMPLEX.start
    assert len(heard) == 4, "the explorer would be redrawn for each slider that follows"
    box.value = (0.25, 0.25, 0.25, 0.25)
    assert [slider.value for slider in sliders] == [0.25] * 4
    sliders[0].value = 0.4
    assert box.value == (0.4, 0.2, 0.2, 0.2)
