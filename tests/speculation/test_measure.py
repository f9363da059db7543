"""Measuring a pair: acceptance on models whose α is known, costs and speed-up on a clock that the models themselves turn."""

import numpy as np
import pytest
import scipy.stats

from course_lib.costs import probes
from course_lib.costs.measure_walls import random_weights, through
from course_lib.speculation import SamplingSettings, acceptance_rate, decode, improvement_factor, measure
from course_lib.speculation.acceptance import CONTEXT, Acceptance, measure_acceptance
from course_lib.speculation.measure import Costs, measure_costs, measure_speedup
from course_lib.speculation.weight_bound import WeightBound, sixteen_bit_weights

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])  # α = 0.7
TEXT = np.random.default_rng(0).integers(0, 3, 400).tolist()


def always(row):
    """A model that says the same whatever came before."""
    return lambda sequences, n_last: np.tile(row, (len(sequences), n_last, 1))


def after(table):
    """A model whose row depends on the last token."""

    def model(sequences, n_last):
        return np.array([[table[s[len(s) - n_last + i]] for i in range(n_last)] for s in sequences])

    return model


# Acceptance


def test_of_a_pair_that_always_disagrees_alike_every_position_and_place_has_one_rate():
    """Seed 0: the tests at each place are coins of 0.7; exact binomial quantiles, passed with probability 1e-6 each."""
    found = measure_acceptance(always(Q), always(P), TEXT, gamma=3, prompts=64, n_new=200)
    assert found.alphas == pytest.approx(0.7, rel=1e-15)
    assert found.alpha == pytest.approx(0.7, rel=1e-12)
    assert found.spread <= 1e-15
    assert len(found.reached) == len(found.stood) == len(found.by_place) == 3
    assert found.reached[1:] == found.stood[:-1]
    for stood, reached, share in zip(found.stood, found.reached, found.by_place, strict=True):
        low, high = scipy.stats.binom.ppf([5e-7, 1 - 5e-7], reached, 0.7)
        assert low <= stood <= high
        assert share == stood / reached
    assert found.reached[0] > 64 * 200 / 4
    assert found.in_decoding == sum(found.stood) / sum(found.reached)


@pytest.mark.parametrize(("positions", "looked_at"), [(10_000, 32), (32, 32), (16, 16), (7, 7), (1, 1)])
def test_rates_are_taken_after_the_texts_own_tokens_and_at_no_position_twice(positions, looked_at):
    """A text without repetition, and tables in which each token has an α of its own: the rates say where it was looked.

    Of 100 tokens 64 are context, and the 36 positions left hold two whole blocks of sixteen.
    """
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(3), 100), rng.dirichlet(np.ones(3), 100)
    text, own = rng.permutation(100).tolist(), acceptance_rate(p, q)
    found = measure_acceptance(after(q), after(p), text, positions=positions, prompts=1, n_new=0)
    assert len(found.alphas) == looked_at
    places = [int(np.argmin(np.abs(own[text] - alpha))) for alpha in found.alphas]
    assert np.abs(own[text][places] - found.alphas).max() <= 3 * 2**-52
    assert len(set(places)) == looked_at
    assert min(places) >= CONTEXT


def test_settings_change_both_models_before_they_are_compared():
    greedy = measure_acceptance(always(Q), always(P), TEXT, SamplingSettings(0), positions=32, prompts=2, n_new=8)
    assert greedy.alpha == 0
    assert sum(greedy.stood) == 0
    same = measure_acceptance(always(P), always(P), TEXT, SamplingSettings(0.5, 0.9), positions=32, prompts=2, n_new=9)
    assert same.alpha == pytest.approx(1, rel=1e-15)
    assert same.by_place == (1.0,) * 4


def test_what_was_never_reached_has_no_share_and_still_prints():
    found = Acceptance(np.array([0.25, 0.75]), (4, 1, 0), (1, 0, 0))
    assert found.alpha == 0.5
    assert found.spread == 0.25
    assert found.in_decoding == 1 / 5
    assert found.by_place[:2] == (0.25, 0)
    assert np.isnan(found.by_place[2])
    assert "0.500" in str(found)
    assert np.isnan(Acceptance(np.array([0.5]), (), ()).in_decoding)


# Costs and speed-up


class Clock:
    """Time passes only in the models."""

    now = 0.0

    def model(self, row, seconds, per_position=0.0):
        def run(sequences, n_last):
            self.now += seconds + per_position * (n_last - 1)
            return np.tile(row, (len(sequences), n_last, 1))

        return run


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (probes, measure):
        monkeypatch.setattr(module, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(measure, "SECONDS", 1e-9)  # as few repeats as there may be
    return clock


def test_costs_are_those_of_the_models_in_units_of_one_target_run(clock):
    draft, target = clock.model(Q, 0.25), clock.model(P, 2.0, per_position=0.5)
    costs = measure_costs(draft, target, TEXT, gammas=(4, 1, 4))
    assert costs.draft == 0.25
    assert costs.target == {0: 2.0, 1: 2.5, 4: 4.0}
    assert costs.c == 0.125
    assert costs.verification == {0: 1, 1: 1.25, 4: 2}
    assert costs.draw == 0
    assert costs.verify == {1: 0, 4: 0}
    assert "c = 0.125" in str(costs)
    assert "verification = 2.00" in str(costs)


def test_everything_that_is_timed_sees_one_text_of_the_same_length_at_changing_places(clock):
    seen = {"draft": [], "target": []}

    def spy(name, model):
        def run(sequences, n_last):
            seen[name].append((len(sequences), len(sequences[0]), tuple(sequences[0])))
            return model(sequences, n_last)

        return run

    measure_costs(spy("draft", clock.model(Q, 0.25)), spy("target", clock.model(P, 2.0)), TEXT, gammas=(2,))
    for calls in seen.values():
        assert {batch for batch, _, _ in calls} == {1}
        assert {length for _, length, _ in calls} <= {CONTEXT, CONTEXT + 1, CONTEXT + 2}
        assert len({text for *_, text in calls}) > 5


def test_the_account_of_a_round_is_the_papers_factor_where_the_loop_is_free():
    costs = Costs(draft=0.5, target={0: 2.0, 3: 3.0}, draw=0.0, verify={3: 0.0})
    assert costs.factor(2.533, 3) == pytest.approx(2.533 * 2 / (1.5 + 3), rel=1e-14)
    alpha_tokens = 1 + 0.7 + 0.49 + 0.343
    assert costs.factor(alpha_tokens, 3) == pytest.approx(improvement_factor(0.7, 3, 0.25, 1.5), rel=1e-14)
    paid = Costs(draft=0.5, target={0: 2.0, 3: 3.0}, draw=0.25, verify={3: 0.75})
    assert paid.factor(2.0, 3) == 2 * 2.25 / (3 * 0.75 + 3 + 0.75)
    for gamma in (0, 2):
        with pytest.raises(ValueError, match=f"^gamma is {gamma}, needs to be one of those measured"):
            costs.factor(2.0, gamma)


def test_a_speed_up_by_the_clock_is_the_one_accounted_for_where_only_the_models_take_time(clock):
    """Both ways write 60 tokens for each of three prompts; the tokens a round are counted, so nothing is left to chance."""
    draft, target = clock.model(Q, 0.125), clock.model(P, 1.0, per_position=0.25)
    costs = measure_costs(draft, target, TEXT, gammas=(2,))
    found = measure_speedup(draft, target, [TEXT[:5], TEXT[5:9], TEXT[9:20]], 60, 2, alpha=0.7, costs=costs, repeats=2)
    assert found.gamma == 2
    assert found.ordinary == 3 * 60 * 1.0
    rounds = 3 * 60 / found.tokens
    assert rounds == pytest.approx(round(rounds), rel=1e-12)
    assert found.speculative == pytest.approx(rounds * (2 * 0.125 + 1.5), rel=1e-12)
    assert found.measured == pytest.approx(found.accounted, rel=1e-12)
    assert found.tokens_formula == pytest.approx(1 + 0.7 + 0.49, rel=1e-14)
    assert found.premise == pytest.approx(2.19 / 1.25, rel=1e-12)
    assert found.verified == pytest.approx(2.19 / 1.75, rel=1e-12)
    assert found.shares == pytest.approx((0.25 / 1.75, 1.5 / 1.75, 0), abs=1e-12)
    assert f"{found.measured:.2f}" in str(found)


def test_a_target_that_pays_for_each_position_loses_though_the_premise_promises_a_gain(clock):
    draft, target = clock.model(Q, 0.1), clock.model(P, 1.0, per_position=1.0)
    costs = measure_costs(draft, target, TEXT, gammas=(4,))
    found = measure_speedup(draft, target, [TEXT[:9]], 200, 4, alpha=0.7, costs=costs, repeats=1)
    assert found.premise > 1.9
    assert found.verified < 1
    assert found.measured < 1


# Models that wait for their weights


def test_a_weight_bound_model_has_the_rows_of_the_model_inside():
    rows = np.random.default_rng(2).dirichlet(np.ones(4), 4)
    bound = WeightBound(after(rows), random_weights(2, 16))
    for sequences, n_last in (([[0, 1, 2]], 1), ([[0, 1, 2], [3, 3, 3]], 3), ([[1]], 1)):
        assert np.array_equal(bound(sequences, n_last), after(rows)(sequences, n_last))
    texts = [decode(model, [[0]], 20, np.random.default_rng(3)).tokens for model in (bound, after(rows))]
    assert texts[0] == texts[1]


def test_every_run_takes_one_state_for_each_position_through_all_weights(monkeypatch):
    passed, weights = [], random_weights(3, 8)

    def spy(states, matrices):
        passed.append((states.shape, len(matrices)))
        return through(states, matrices)

    monkeypatch.setattr("course_lib.speculation.weight_bound.through", spy)
    bound = WeightBound(always(P), weights)
    for sequences, n_last in (([[0]], 1), ([[0, 1], [1, 1]], 2), ([[0, 1, 2, 0]], 3), ([[0]], 1)):
        bound(sequences, n_last)
    assert passed == [((8,), 3), ((4, 8), 3), ((3, 8), 3), ((8,), 3)]


def test_weights_of_sixteen_bits_are_the_same_numbers_rounded():
    torch = pytest.importorskip("torch")
    weights = sixteen_bit_weights(2, 16, seed=5)
    for ours, exact in zip(weights, random_weights(2, 16, seed=5), strict=True):
        assert ours.dtype == torch.bfloat16
        assert torch.equal(ours, torch.tensor(exact).bfloat16())
    assert np.array_equal(WeightBound(always(P), weights)([[0, 1]], 2)[0, 1], P)


GOOD = Costs(draft=0.5, target={0: 2.0, 3: 3.0}, draw=0.0, verify={3: 0.0})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: measure_acceptance(m, m, TEXT[:CONTEXT]), r"^ids has 64 tokens, needs more than 64"),
        (lambda m: measure_acceptance(m, m, TEXT, gamma=-1), r"^gamma is -1"),
        (lambda m: measure_acceptance(m, m, TEXT, n_new=-1), r"^n_new is -1"),
        (lambda m: measure_acceptance(m, m, TEXT, positions=0), r"^positions is 0"),
        (lambda m: measure_acceptance(m, m, TEXT, prompts=0), r"^prompts is 0"),
        (lambda m: measure_costs(m, m, TEXT[:10]), r"^ids has 10 tokens"),
        (lambda m: measure_costs(m, m, TEXT, gammas=()), r"^gammas is \(\)"),
        (lambda m: measure_costs(m, m, TEXT, gammas=(2, 0)), r"^gammas is \(2, 0\)"),
        (lambda m: measure_costs(m, m, TEXT, gammas=(65,)), r"^gammas is \(65,\)"),
        (lambda m: measure_speedup(m, m, [[0]], 0, 3, 0.7, GOOD), r"^n_new is 0"),
        (lambda m: measure_speedup(m, m, [[0]], 4, 0, 0.7, GOOD), r"gamma 0,"),
        (lambda m: measure_speedup(m, m, [], 4, 3, 0.7, GOOD), r"prompts has 0 sequences"),
        (lambda m: measure_speedup(m, m, [[]], 4, 3, 0.7, GOOD), r"^prompts has 1 sequences, needs .* a token in each"),
        (lambda m: measure_speedup(m, m, [[0]], 4, 2, 0.7, GOOD), r"^gamma is 2, needs to be one of those measured"),
        (lambda m: WeightBound(m, []), r"^weights is empty"),
        (lambda m: sixteen_bit_weights(0, 8), r"^n_matrices is 0"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(unchecked, call, said):
    with pytest.raises(ValueError, match=said):
        call(always(P))
