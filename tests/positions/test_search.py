"""The search against what is known: the best list where it can be found exactly, and the formulas where it cannot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.positions import Interpolation, LongRoPE, NTKAware, Rule, YaRN
from course_lib.positions.search import cost_by_pairs, cost_by_profile, search

D, TRAINED, LENGTH = 64, 512, 4096
S = LENGTH / TRAINED
PLAIN = Rule(D).trained


def factors_of(rule: Rule) -> np.ndarray:
    return PLAIN / rule.at(LENGTH).inverse


PI, NTK = factors_of(Interpolation(D, factor=S)), factors_of(NTKAware(D, factor=S))
BY_PARTS = factors_of(YaRN(D, original=TRAINED, factor=S))


def costs(cost, *lists: np.ndarray) -> list[float]:
    return cost(np.array(lists)).tolist()


def test_where_pairs_are_judged_alone_the_search_finds_the_best_list_there_is():
    """To a hundredth; the best one, pair by pair from a fine grid, leaves fast pairs alone and slows the rest nearly by s."""
    cost = cost_by_pairs(PLAIN, TRAINED, LENGTH)
    grid, best = np.exp(np.linspace(0, np.log(1.25 * S), 4001)), np.ones(D // 2)
    for i in range(D // 2):
        lists = np.ones((len(grid), D // 2))
        lists[:, i] = grid
        best[i] = grid[cost(lists).argmin()]
    assert np.all(np.diff(best) >= 0)
    (least,) = costs(cost, best)
    found = search(cost, [PI, NTK], 1.25 * S, np.random.default_rng(0))
    assert least * (1 - 1e-5) <= found.cost <= 1.01 * least
    assert found.cost < 0.9 * min(costs(cost, PI, NTK, BY_PARTS))
    turned = TRAINED * PLAIN / (2 * np.pi)
    assert np.all(found.factors[turned > 2] < 1.1)
    assert np.all(found.factors[turned < 0.5] > 0.9 * S)


def test_where_no_best_list_is_known_it_beats_the_formulas_it_started_from():
    """512 to 4,096 positions, d = 64: less than two thirds of what interpolation and NTK-aware scaling pay, less than YaRN's."""
    cost = cost_by_profile(PLAIN, TRAINED, LENGTH)
    found = search(cost, [PI, NTK], 1.25 * S, np.random.default_rng(0), generations=60)
    pi, ntk, by_parts = costs(cost, PI, NTK, BY_PARTS)
    assert found.cost < 0.66 * min(pi, ntk)
    assert found.cost < by_parts
    assert found.cost == pytest.approx(costs(cost, found.factors)[0], rel=1e-12)


@given(seed=st.integers(0, 2**31))
def test_lists_rise_stay_in_range_and_never_get_worse(seed):
    cost = cost_by_pairs(PLAIN, TRAINED, LENGTH)
    found = search(cost, [PI, NTK], 1.25 * S, np.random.default_rng(seed), generations=12)
    assert len(found.history) == 13
    assert found.history[0] == min(costs(cost, PI, NTK))
    assert np.all(np.diff(found.history) <= 0)
    assert found.cost == found.history[-1] < found.history[0]
    assert np.all(np.diff(found.factors) >= 0)
    assert found.factors[0] >= 1
    assert found.factors[-1] <= 1.25 * S


def test_a_seed_gives_one_list_and_another_seed_another():
    cost = cost_by_pairs(PLAIN, TRAINED, LENGTH)
    one, again, other = (
        search(cost, [PI, NTK], 1.25 * S, np.random.default_rng(seed), generations=5).factors for seed in (3, 3, 4)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_what_was_found_is_a_rule():
    found = search(cost_by_pairs(PLAIN, TRAINED, LENGTH), [PI], 1.25 * S, np.random.default_rng(0), generations=3)
    ones = (1.0,) * (D // 2)
    rule = LongRoPE(D, original=TRAINED, factor=S, short=ones, long=tuple(found.factors.tolist()))
    assert np.allclose(factors_of(rule), found.factors, rtol=1e-15, atol=0)


def test_the_costs_of_doing_nothing_and_of_doing_too_much():
    """Interpolation has next to no new angles and all the blur; no change, the other way round."""
    ones = np.ones(D // 2)
    without_blur, only_blur = (cost_by_pairs(PLAIN, TRAINED, LENGTH, blur_weight=w) for w in (0.0, 1e9))
    nothing, pi, ntk = costs(without_blur, ones, PI, NTK)
    assert pi < 1e-5 < ntk < nothing
    nothing, pi, ntk = costs(only_blur, ones, PI, NTK)
    assert nothing < ntk < pi
    nearby, far = (cost_by_profile(PLAIN, TRAINED, LENGTH, far_weight=w) for w in (0.0, 1e9))
    nothing, pi, ntk = costs(nearby, ones, PI, NTK)
    assert nothing == 0 < ntk < pi
    nothing, pi, ntk = costs(far, ones, PI, NTK)
    assert pi == pytest.approx(costs(nearby, PI)[0])  # and nothing from far away
    assert 1000 * pi < ntk < nothing


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"starts": []}, r"^starts is empty"),
        ({"starts": [PI[::-1] * np.linspace(1, 1.1, D // 2)[::-1]]}, r"^starts has a list that falls"),
        ({"starts": [PI / 9]}, r"leaves the range from 1 to"),
        ({"starts": [PI * 2]}, r"leaves the range from 1 to"),
        ({"generations": 0}, r"^generations is 0"),
        ({"parents": 1}, r"parents 1 of"),
        ({"parents": 65}, r"parents 65 of a population of 64"),
        ({"mutation": 0.0}, r"mutation 0.0"),
    ],
)
def test_a_search_that_cannot_start_is_refused(unchecked, change, said):
    given = {"starts": [PI, NTK], "largest": 1.25 * S, "rng": np.random.default_rng(0)} | change
    with pytest.raises(ValueError, match=said):
        search(cost_by_pairs(PLAIN, TRAINED, LENGTH), **given)


def test_costs_of_no_stretch_are_refused(unchecked):
    with pytest.raises(ValueError, match=r"^trained_length is 9 and length 9"):
        cost_by_pairs(PLAIN, 9, 9)
    with pytest.raises(ValueError, match=r"^near is 1,"):
        cost_by_profile(PLAIN, 9, 90, near=1)
