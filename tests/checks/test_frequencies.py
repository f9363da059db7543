"""Draws beside a distribution: the chi-square expectation, against scipy, against right and wrong samplers."""

import numpy as np
import pytest
import scipy.stats

from course_lib.checks import Frequencies, call, case, given, script
from course_lib.checks.cases import RECORDS
from course_lib.checks.compare import difference
from course_lib.checks.frequencies import chi_square_tail, p_value
from course_lib.checks.judging import fingerprint, judge_case
from course_lib.checks.perform import Outcome, ask_here
from course_lib.checks.values import dumps, from_json, loads, to_json

P = np.array([0.5, 0.3, 0.2])
ONE = Frequencies(np.arange(3), P, draws=4000)


def draws(p, n=4000, seed=0):
    return np.random.default_rng(seed).choice(len(p), size=n, p=p)


def text(value, expect=ONE):
    found = difference(Outcome(value=value), expect)
    return found.text if found else None


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 20, 95, 400])
@pytest.mark.parametrize("x", [0.0, 0.01, 1.0, 5.0, 37.0, 180.0, 900.0])
def test_the_tail_of_chi_square_is_scipys(x, freedom):
    # The sum has freedom/2 terms of which each is right to a few ε times its exponent, at most 900.
    assert chi_square_tail(x, freedom) == pytest.approx(scipy.stats.chi2.sf(x, freedom), rel=1e-11, abs=1e-300)


def test_the_p_value_is_that_of_scipys_test_where_every_cell_is_large():
    counts = np.bincount(draws(P), minlength=3)
    assert p_value(counts, P) == pytest.approx(scipy.stats.chisquare(counts, 4000 * P).pvalue, rel=1e-9)


def test_rare_outcomes_are_taken_together_and_one_cell_alone_says_nothing():
    rare = np.full(1000, 1 / 1000)
    counts = np.bincount(draws(rare), minlength=1000)
    assert 1e-6 < p_value(counts, rare) < 1
    assert p_value(np.array([240, 160]), np.array([0.9, 0.1])) < 1e-9
    assert p_value(np.array([20, 20]), np.array([0.5, 0.5])) == 1


def test_right_draws_pass_under_many_seeds_and_p_values_are_spread_evenly():
    # 400 seeds: a uniform share below 0.05 has a standard deviation of 0.011.
    values = [p_value(np.bincount(draws(P, seed=seed), minlength=3), P) for seed in range(400)]
    assert abs(np.mean(np.array(values) < 0.05) - 0.05) < 5 * 0.011
    assert all(text(draws(P, seed=seed)) is None for seed in range(100))


def test_wrong_draws_are_said_by_their_worst_outcome():
    assert text(draws([0.5, 0.2, 0.3])) == "2 in 29.8% of 4,000 draws, expected 20.0%"
    assert text(np.zeros(4000, dtype=int)).startswith("0 in 100.0%")


def test_an_outcome_that_cannot_come_up_fails_even_once():
    only = draws([0.6, 0.4])
    expect = Frequencies(np.arange(3), np.array([0.6, 0.4, 0.0]), draws=4000)
    assert text(only, expect) is None
    only[17] = 2
    assert text(only, expect) == "2 came up in 1 of 4,000 draws, expected never"
    only[17] = 9
    assert text(only, expect) == "9 came up in 1 of 4,000 draws, expected never"


def test_draws_may_be_rows():
    outcomes = np.array([[0, -1], [1, 0], [1, 1]])
    expect = Frequencies(outcomes, P, draws=4000)
    assert text(outcomes[draws(P)], expect) is None
    assert text(outcomes[draws(P)].tolist(), expect) is None
    assert text(outcomes[draws([0.2, 0.3, 0.5])], expect).startswith("[1, 1] in 49.2%")
    rows = outcomes[draws(P)]
    rows[3] = [0, 0]
    assert text(rows, expect) == "[0, 0] came up in 1 of 4,000 draws, expected never"


@pytest.mark.parametrize("value", [None, 3, "text", np.zeros(4000), np.zeros(3999, dtype=int), [[0], [1, 2]], True])
def test_what_is_no_array_of_draws_is_said(value):
    assert "expected" in text(value)


@pytest.mark.parametrize("wrong", [{"draws": 99}, {"probabilities": np.array([0.5, 0.5])}, {"probabilities": P / 2}])
def test_an_expectation_that_could_say_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="Frequencies"):
        Frequencies(**{"outcomes": np.arange(3), "probabilities": P, "draws": 4000, **wrong})


def test_it_travels_and_is_frozen_as_every_expectation():
    one = case("draws", (1,), expect=ONE)
    for back in (loads(dumps(one, RECORDS), RECORDS), from_json(to_json(one, RECORDS), RECORDS)):
        expect = back.steps[0].expect
        assert isinstance(expect, Frequencies)
        assert expect.draws == 4000
        assert np.array_equal(expect.probabilities, P)


def seeded(n):
    import numpy as np

    return np.random.default_rng(5).random(n)


def sampler(uniforms, n):
    return np.searchsorted(np.cumsum(P), uniforms(n))


def test_a_sampler_is_judged_in_one_call():
    one = script("four thousand draws", call(0, given(seeded), 4000, expect=ONE))
    right = judge_case(one, lambda steps: ask_here(steps, (sampler,)))
    wrong = judge_case(one, lambda steps: ask_here(steps, (lambda u, n: sampler(u, n) // 2,)))
    assert right.passed
    assert not wrong.passed


def test_a_mistake_is_recognised_by_its_shares_and_not_by_its_very_draws():
    from course_lib.checks.judging import _alike

    step = call(0, expect=ONE)
    prints = [[fingerprint(step, Outcome(value=draws(p, seed=seed)))] for p, seed in ((P, 0), (P, 1), (P[::-1], 0))]
    assert _alike(prints[0], prints[1])
    assert not _alike(prints[0], prints[2])
    assert not _alike(prints[0], [fingerprint(step, Outcome(value=None))])
    assert len(str(prints[0])) < 200  # it is published, so it must be small
