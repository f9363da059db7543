"""The explorer of the speed-up draws and says what the theory computes, at every position of its controls."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from PIL import Image

from course_lib.explore.speedup import (
    COSTS,
    GAMMA_MAX,
    GAMMAS,
    SIDE,
    VERIFICATIONS,
    best_choice,
    gain_map,
    reading,
    speedup_explorer,
)
from course_lib.speculation import best_gamma, expected_tokens, improvement_factor, token_ceiling

EXPLORER = speedup_explorer()
choices = {name: st.sampled_from(control.values) for name, control in EXPLORER.controls.items()}
CORNERS = [
    {"alpha": alpha, "gamma": gamma, "c": c, "verification": verification}
    for alpha in (0.0, 1.0)
    for gamma in (0, GAMMA_MAX)
    for c in (0.0, 1.0)
    for verification in (1.0, 4.0)
]


def lines(picture) -> dict[str, np.ndarray]:
    return {line.get_label(): np.array(line.get_data(), dtype=float) for line in picture.axes[0].lines}


@given(**choices)
def test_the_curve_and_its_marks_are_the_theorys(**values):
    alpha, gamma, c, verification = values.values()
    drawn = lines(EXPLORER.static(**values))
    factors = [improvement_factor(alpha, g, c, verification) for g in range(GAMMA_MAX + 1)]
    assert drawn["improvement factor"] == pytest.approx(np.array([GAMMAS, factors]))
    assert drawn["chosen γ"].ravel() == pytest.approx([gamma, factors[gamma]])
    best = int(drawn["best γ"][0, 0])
    assert drawn["best γ"][1, 0] == pytest.approx(max(factors))
    assert best == best_gamma(alpha, c, GAMMA_MAX) or verification > 1
    assert max(factors[:best], default=0) < max(factors), "a smaller γ would do"


@given(alpha=choices["alpha"], c=choices["c"])
def test_free_drafts_stay_below_their_ceiling_and_paid_ones_below_them(alpha, c):
    drawn = lines(EXPLORER.static(alpha=alpha, c=c))
    assert np.all(drawn["improvement factor"][1] <= drawn["free drafts (c = 0)"][1] * (1 + 1e-12))
    if alpha < 0.9:
        assert drawn["their ceiling"][1] == pytest.approx([token_ceiling(alpha)] * 2)
        assert np.all(drawn["free drafts (c = 0)"][1] <= token_ceiling(alpha))


@pytest.mark.parametrize("values", CORNERS)
def test_what_matters_lies_inside_the_axes_at_the_ends_of_every_slider(values):
    picture = EXPLORER.static(**values)
    low, high = picture.axes[0].get_ylim()
    drawn = lines(picture)
    for name in ("improvement factor", "best γ", "chosen γ"):
        assert np.all((drawn[name][1] >= low) & (drawn[name][1] <= high)), name
    ring = picture.axes[1].lines[0]
    assert ring.get_xdata()[0] == values["alpha"]
    assert ring.get_ydata()[0] ** 2 == pytest.approx(values["c"])


@given(**choices)
def test_the_reading_is_what_the_theory_computes(**values):
    alpha, gamma, c, verification = values.values()
    words = reading(alpha, gamma, c, verification)
    best = best_choice(alpha, c, verification)
    assert int(re.match(r"γ\* = (\d+)", words)[1]) == best
    factor = improvement_factor(alpha, gamma, c, verification)
    if best:
        assert f"{improvement_factor(alpha, best, c, verification):.2f} times as fast" in words
    if gamma not in (0, best):
        assert f"γ = {gamma} gives {expected_tokens(alpha, gamma):.2f} tokens a round" in words
        assert f"{factor:.2f} times as fast" in words.split(". ")[-1]
        assert ("slower than without drafts" in words) == (factor < 1)
    assert (f"at most {token_ceiling(alpha):.3g} token" in words) == (alpha < 1)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        # By hand: E = 1 + 0.5, cost 1.2, and 1.75 / 1.4 is 1.25 again.
        ((0.5, 2, 0.2), ["γ* = 1: 1.25 times as fast; a second draft token would gain nothing", "at most 2 tokens"]),
        ((0.5, 1, 0.0), ["γ* = 16", "each token drawn here gains"]),
        ((0.0, 3, 0.1), ["γ* = 0, do not draft: nothing is ever accepted", "at most 1 token a round", "0.77 times"]),
        ((0.0, 3, 0.0), ["γ* = 0, do not draft", "γ = 3 gives 1.00 tokens a round and is 1.00 times as fast."]),
        ((1.0, 16, 0.0), ["γ* = 16: 17.00 times as fast", "without a ceiling", "The chosen γ is the best"]),
        ((1.0, 0, 1.0), ["c = 1, and α = 1 is not above it", "The chosen γ is the best"]),
        ((0.3, 1, 0.3), ["γ* = 0, do not draft: a draft costs c = 0.3, and α = 0.3 is not above it"]),
        ((0.3, 4, 0.5), ["γ* = 0, do not draft", "slower than without drafts"]),
        ((0.8, 0, 0.05), ["a ninth draft token would lose", "at most 5 tokens", "γ = 0 drafts nothing"]),
        # 1 / (1 − 0.5) = 2 is all that a round can give, and a run over several positions takes two.
        ((0.5, 2, 0.02, 2.0), ["γ* = 0, do not draft: no γ makes up for what drafts and verification cost"]),
    ],
)
def test_the_cases_that_one_can_work_out_by_hand_are_said_as_they_are(place, said):
    words = reading(*place)
    for part in said:
        assert part in words


def test_the_map_is_above_one_exactly_where_a_draft_is_accepted_more_often_than_it_costs():
    """Leviathan et al., 2023, Cor. 3.9; on the line itself, α = c, rounding decides."""
    alpha, c = SIDE[None, :], SIDE[:, None] ** 2
    clear = np.abs(alpha - c) > 1e-12
    assert np.array_equal((gain_map() > 1)[clear], np.broadcast_to(alpha > c, clear.shape)[clear])


@pytest.mark.parametrize("verification", VERIFICATIONS)
def test_the_map_holds_the_best_factor_of_every_place(verification):
    for row, column in [(0, 0), (0, 100), (100, 0), (100, 100), (22, 80), (45, 60), (10, 97)]:
        alpha, c = float(SIDE[column]), float(SIDE[row]) ** 2
        best = max(improvement_factor(alpha, gamma, c, verification) for gamma in range(1, GAMMA_MAX + 1))
        assert gain_map(verification)[row, column] == pytest.approx(best)


def test_along_the_map_the_best_factor_rises_with_acceptance_and_falls_with_cost():
    for verification in VERIFICATIONS:
        assert np.all(np.diff(gain_map(verification), axis=1) > -1e-12)
        assert np.all(np.diff(gain_map(verification), axis=0) < 1e-12)


def test_every_position_of_every_slider_can_be_visited():
    explorer = speedup_explorer()
    for name, control in explorer.controls.items():
        for position in control.values:
            explorer.set(**{name: position})
            assert explorer.reading == reading(**explorer.values)
        assert explorer.static().caption == explorer.reading
        explorer.reset()


def test_the_picture_is_a_function_of_the_controls_alone():
    moved, fresh = speedup_explorer(), speedup_explorer()
    moved.redraw()
    for place in (*CORNERS[::3], {"alpha": 0.7, "gamma": 3, "c": 0.05, "verification": 1.25}):
        moved.set(**place)
        moved.redraw()
    fresh.set(**moved.values)
    for other in (fresh.redraw(), moved.static().png()):
        assert np.array_equal(pixels(moved.redraw()), pixels(other))


def test_only_a_new_range_or_a_new_map_draws_the_background_again():
    explorer = speedup_explorer()
    explorer.redraw()
    canvas, drawn = explorer._staged().figure.canvas, []
    draw = canvas.draw
    canvas.draw = lambda: (drawn.append(1), draw())
    for gamma in range(GAMMA_MAX + 1):
        explorer.set(gamma=gamma)
        explorer.redraw()
    for c in (0.05, 0.07, 0.1):
        explorer.set(c=c)
        explorer.redraw()
    assert drawn == []
    explorer.set(verification=1.5)
    explorer.redraw()
    assert drawn


@pytest.mark.parametrize("verification", [1.0, 3.0])
def test_every_word_is_legible_and_the_map_has_its_labels_once(verification):
    picture = EXPLORER.static(verification=verification)
    picture.png()
    assert min(text.get_fontsize() for text in picture.findobj(Text) if text.get_text()) >= 12
    labels = [text.get_text() for text in picture.axes[1].texts]
    assert len(labels) == len(set(labels)) > 5


@pytest.mark.parametrize("argument", [{"alpha": 1.5}, {"gamma": 17}, {"c": -0.1}])
def test_a_start_off_the_sliders_is_refused(argument):
    with pytest.raises(ValueError, match=next(iter(argument))):
        speedup_explorer(**argument)


def test_costs_reach_from_free_to_as_dear_as_the_target():
    assert (COSTS[0], COSTS[-1]) == (0, 1)


def test_the_numbers_in_the_figures_caption_are_the_librarys():
    caption = (Path(__file__).parents[2] / "figures/speedup.md").read_text("utf-8")
    assert EXPLORER.values == {"alpha": 0.8, "gamma": 12, "c": 0.1, "verification": 1}
    assert "α = 0.8 and c = 0.1.** Left" in caption
    assert f"γ* = {best_gamma(0.8, 0.1, GAMMA_MAX)}, about {improvement_factor(0.8, 6, 0.1):.2f}" in caption
    assert f"γ = 12 (the ring) it is down to about {improvement_factor(0.8, 12, 0.1):.2f}" in caption
    assert f"1 / (1 − α) = {token_ceiling(0.8):.3g}" in caption


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
