"""Exactness by enumeration: equal to the target to 1e-12 for any draft, and unequal as soon as the rule is another.

The sampler of classical rejection is tested by chi-square; seeds and error probabilities are stated.
"""

from collections.abc import Callable
from functools import cache
from math import inf

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from course_lib.speculation import (
    acceptance_rate,
    emission_table,
    emitted_distribution,
    emitted_texts,
    envelope,
    exactness,
    own_texts,
    rejection_sample,
    residual,
)

EXACT = 1e-12
ONE_HOT, OTHER, FLAT = np.eye(4)[0], np.eye(4)[3], np.full(4, 0.25)
HALVES = np.array([0.5, 0.5, 0, 0]), np.array([0, 0, 0.5, 0.5])
SMALLEST = np.array([1 - 2**-53, 2.0**-1074, 0, 0])
wide = st.sampled_from([0.02, 0.3, 1.0, 30.0])  # Dirichlet weights, from rows with one large entry to nearly flat ones


@st.composite
def pairs(draw):
    """Two distributions over 1 to 40 tokens, each of a kind of its own; in some, half of the tokens are impossible."""
    rng, v = np.random.default_rng(draw(st.integers(0, 2**31))), draw(st.integers(1, 40))

    def row():
        weights = rng.dirichlet(np.full(v, draw(wide)))
        if draw(st.booleans()):
            weights = np.where(rng.random(v) < 0.5, weights, 0)
        return weights / weights.sum() if weights.sum() > 0.01 else np.eye(v)[0]

    return row(), row()


class Model:
    """A model whose row depends on the whole text before it: drawn from a seed and that text, zeros among the entries."""

    def __init__(self, seed: int, v: int):
        self.seed, self.v = seed, v
        self.row = cache(self._row)

    def _row(self, text: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([self.seed, len(text), *text])
        row = rng.dirichlet(np.ones(self.v))
        return rng.multinomial(8, row) / 8 if rng.random() < 0.3 else row

    def __call__(self, text: tuple[int, ...]) -> np.ndarray:
        return self.row(text)


def largest_difference(some: dict, own: dict) -> float:
    return max(abs(some.get(text, 0.0) - own.get(text, 0.0)) for text in {*some, *own})


# One position


@given(pair=pairs())
def test_what_is_emitted_is_the_target_for_any_draft(pair):
    p, q = pair
    assert np.abs(emitted_distribution(p, q) - p).max() <= EXACT


@pytest.mark.parametrize("p", [ONE_HOT, FLAT, HALVES[0], SMALLEST], ids=["one-hot", "flat", "half", "smallest"])
@pytest.mark.parametrize(
    "q", [ONE_HOT, OTHER, FLAT, *HALVES, SMALLEST], ids=["one-hot", "other", "flat", "half", "other-half", "smallest"]
)
def test_what_is_emitted_is_the_target_also_for_the_extremes(xp, p, q):
    """The same, one-hot, disjoint, and a draft with the smallest number that there is; each row is within ε of exact."""
    for dtype in xp.floats:
        rows = xp.array(p, dtype), xp.array(q, dtype)
        emitted = xp.numpy(emitted_distribution(*rows))
        assert np.abs(emitted - xp.numpy(rows[0])).max() <= 2**-52 if dtype == "float64" else 2**-22


@given(pair=pairs())
def test_the_table_says_what_was_drafted_on_one_side_and_what_is_emitted_on_the_other(pair):
    p, q = pair
    table = emission_table(p, q)
    assert table.shape == (len(p), len(p))
    assert np.all(table >= 0)
    assert np.abs(table.sum(1) - q).max() <= EXACT
    assert np.abs(table.sum(0) - p).max() <= EXACT
    assert np.all(table[q == 0] == 0)
    assert np.trace(table) == pytest.approx(float(acceptance_rate(p, q)), abs=EXACT)
    # Only a token that the draft overrates is replaced, only by one that it underrates, and in the residual's proportions.
    replaced = table * (1 - np.eye(len(p)))
    assert np.all(replaced[q <= p] == 0)
    assert np.all(replaced[:, p <= q] == 0)
    assert np.abs(replaced - np.outer(np.maximum(q - p, 0), residual(p, q)) * (p != q).any()).max() <= EXACT


def test_the_table_of_a_batch_is_that_of_its_rows_in_their_library(xp):
    rng = np.random.default_rng(1)
    for dtype in xp.floats:
        p, q = (xp.array(rows, dtype) for rows in rng.dirichlet(np.ones(5), (2, 2, 3)))
        before = xp.numpy(p).copy(), xp.numpy(q).copy()
        table, emitted = emission_table(p, q), emitted_distribution(p, q)
        assert table.shape == (2, 3, 5, 5)
        eps = xp.eps("float64" if dtype == "float64" else "float32")
        for i, j in np.ndindex(2, 3):
            alone = emission_table(p[i, j, :], q[i, j, :])
            assert np.abs(xp.numpy(table)[i, j] - xp.numpy(alone)).max() <= 5 * eps
        # Rows of sixteen bits miss a sum of 1 by their own ε, and the residual's share with them.
        allowed = 10 * eps if dtype in ("float64", "float32") else 5 * xp.eps(dtype)
        assert np.abs(xp.numpy(emitted) - xp.numpy(p)).max() <= allowed
        assert np.array_equal(xp.numpy(p), before[0])
        assert np.array_equal(xp.numpy(q), before[1])


# Rounds


@given(seed=st.integers(0, 2**31), v=st.integers(2, 3), gamma=st.integers(0, 3), length=st.integers(1, 4))
def test_texts_of_several_rounds_are_the_targets_own(seed, v, gamma, length):
    draft, target = Model(seed, v), Model(seed + 1, v)
    own = own_texts(target, length)
    assert sum(own.values()) == pytest.approx(1, abs=EXACT)
    assert largest_difference(emitted_texts(draft, target, gamma, length), own) <= EXACT


def test_a_text_goes_on_from_the_prefix_it_is_given():
    draft, target, prefix = Model(5, 3), Model(6, 3), (2, 0, 1)
    own = own_texts(target, 3, prefix)
    assert own[0, 1, 2] == pytest.approx(target(prefix)[0] * target((*prefix, 0))[1] * target((*prefix, 0, 1))[2])
    assert largest_difference(emitted_texts(draft, target, 2, 3, prefix), own) <= EXACT
    assert largest_difference(own_texts(target, 3), own) > 0.01


@pytest.mark.parametrize("gamma", [1, 3])
def test_a_draft_that_is_the_target_or_never_right_or_certain_changes_nothing(gamma):
    target = Model(7, 3)
    own = own_texts(target, 3)
    wrong = lambda text: np.eye(3)[int(np.argmin(target(text)))]  # noqa: E731
    for draft in (target, wrong, lambda text: np.full(3, 1 / 3), lambda text: np.eye(3)[len(text) % 3]):
        assert largest_difference(emitted_texts(draft, target, gamma, 3), own) <= EXACT


def texts_by(rule: Callable, length: int) -> dict[tuple[int, ...], float]:
    """All texts that rounds by `rule(text) -> (emitted, chance) …` write, cut off at `length`."""
    done, growing = {}, {(): 1.0}
    while growing:
        text, weight = growing.popitem()
        for emitted, chance in rule(text):
            grown = text + emitted
            into = done if len(grown) >= length else growing
            into[grown[:length]] = into.get(grown[:length], 0.0) + weight * chance
    return done


def round_of_one(draft: Model, target: Model, correction: Callable, bonus: Callable | None) -> Callable:
    """A round of γ = 1 whose correction and bonus are drawn from any rows of one's own; no bonus, no second token."""

    def rule(text):
        p, q = target(text), draft(text)
        for x, shared in enumerate(np.minimum(p, q)):
            if bonus is None:
                yield (x,), shared
            else:
                second = bonus(target((*text, x)), draft((*text, x)))
                yield from (((x, y), shared * chance) for y, chance in enumerate(second))
        yield from (((y,), np.maximum(q - p, 0).sum() * chance) for y, chance in enumerate(correction(p, q)))

    return rule


def targets_row(p, q):
    return p


def drafts_row(p, q):
    return q


def test_another_correction_or_another_bonus_gives_another_text():
    """Spec-RL #14 draws the correction from the target itself. Without a bonus the text is right, and slower to come."""
    draft, target = Model(8, 3), Model(9, 3)
    own = own_texts(target, 3)
    right = texts_by(round_of_one(draft, target, residual, targets_row), 3)
    assert largest_difference(right, own) <= EXACT
    assert largest_difference(right, emitted_texts(draft, target, 1, 3)) <= EXACT
    assert largest_difference(texts_by(round_of_one(draft, target, targets_row, targets_row), 3), own) > 0.01
    assert largest_difference(texts_by(round_of_one(draft, target, residual, drafts_row), 3), own) > 0.01
    assert largest_difference(texts_by(round_of_one(draft, target, residual, None), 3), own) <= EXACT


def test_the_enumeration_itself_sees_a_correction_from_the_target(monkeypatch):
    draft, target, p, q = Model(8, 3), Model(9, 3), np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    monkeypatch.setattr(exactness, "positive_part", targets_row)
    assert np.abs(emitted_distribution(p, q) - p).max() > 0.1
    for gamma in (1, 2, 3):
        assert largest_difference(emitted_texts(draft, target, gamma, 3), own_texts(target, 3)) > 0.01


# Classical rejection


@given(pair=pairs())
def test_the_envelope_lies_nowhere_below_the_target_and_touches_it(pair):
    """κ ≥ 1, and only for equal rows κ = 1; its acceptance 1/κ is never above α. Rows that sum to 1 within ε each."""
    p, q = pair
    kappa = float(envelope(p, q))
    if kappa == inf:
        assert np.any((q == 0) & (p > 0))
        return
    assert kappa >= 1 - len(p) * 2**-52
    assert np.all(kappa * q * (1 + 2**-52) >= p)
    assert np.any(np.isclose(kappa * q[p > 0], p[p > 0], rtol=2**-51, atol=0))
    assert float(acceptance_rate(p, q)) >= 1 / kappa - len(p) * 2**-52
    assert (kappa > 1 + 1e-9) == (np.abs(p - q) > 1e-9 * q).any()


def test_one_token_that_the_draft_underrates_spoils_the_envelope(xp):
    """The last two rows: what the draft cannot say and the target can has no envelope; what neither can say costs nothing."""
    for dtype in xp.floats:
        p = xp.array([[0.25, 0.5, 0.25], [0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]], dtype)
        q = xp.array(
            [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [0.5, 2**-6, 0.5 - 2**-6], [0.5, 0.5, 0], [0.25, 0.75, 0]], dtype
        )
        assert xp.numpy(envelope(p, q)).tolist() == [1, 2, 16, inf, 2]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize(
    ("p", "q"), [([0.5, 0.25, 0.25, 0], [0.25, 0.25, 0.25, 0.25]), ([0.125, 0.125, 0.75], [0.375, 0.125, 0.5])]
)
def test_classical_rejection_draws_from_the_target_and_keeps_one_proposal_in_kappa(p, q, dtype):
    """Seed 10, 15,000 tokens. Chi-square, and the exact quantiles of the proposals that were thrown away: negative binomial
    with 1/κ. A right sampler would fail with probability 1e-6 in each."""
    p, q, n = np.array(p, dtype), np.array(q, dtype), 15_000
    drawn = rejection_sample(p, q, n, np.random.default_rng(10))
    assert drawn.tokens.shape == (n,)
    assert drawn.tokens.dtype == np.int64
    counts = np.bincount(drawn.tokens, minlength=len(p))
    assert counts[p == 0].sum() == 0
    assert scipy.stats.chisquare(counts[p > 0], n * p[p > 0].astype(float)).pvalue > 1e-6
    low, high = scipy.stats.nbinom.ppf([5e-7, 1 - 5e-7], n, 1 / float(envelope(p, q)))
    assert low <= drawn.proposals - n <= high


def test_equal_rows_throw_nothing_away_and_no_tokens_take_no_proposals():
    row = np.array([0.1, 0.2, 0.7])
    assert rejection_sample(row, row, 500, np.random.default_rng(0)).proposals == 500
    none = rejection_sample(row, row[::-1].copy(), 0, np.random.default_rng(0))
    assert (none.tokens.shape, none.proposals) == ((0,), 0)


# What is refused


@pytest.mark.parametrize("of", [emission_table, emitted_distribution, envelope])
def test_what_is_no_pair_of_distributions_is_refused_by_name(xp, unchecked, of):
    good = xp.array([0.5, 0.5])
    for p, q, said in (
        (good, xp.array([[0.5, 0.5]]), r"^q has shape \(1, 2\), needs that of p: \(2,\)"),
        (xp.array([0.5, 0.4]), good, r"^p has a row that is no distribution"),
        (good, xp.array([1.5, -0.5]), r"^q has a row that is no distribution"),
        (good, xp.array([float("nan"), 0.5]), r"^q has a row that is no distribution"),
    ):
        with pytest.raises(ValueError, match=said):
            of(p, q)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: emitted_texts(Model(1, 2), Model(2, 2), -1, 2), r"^gamma is -1 and length 2"),
        (lambda: emitted_texts(Model(1, 2), Model(2, 2), 1, 0), r"^gamma is 1 and length 0"),
        (lambda: own_texts(Model(2, 2), 0), r"^length is 0"),
        (lambda: own_texts(lambda text: [0.5, 0.6], 2), r"^a row of target has a row that is no distribution"),
        (lambda: emitted_texts(lambda text: [2.0, -1.0], Model(2, 2), 1, 2), r"^a row of draft"),
        (lambda: emitted_texts(Model(1, 3), Model(2, 2), 1, 2), r"^draft has a vocabulary of 3, needs .* 2"),
        (lambda: rejection_sample(FLAT, FLAT, -1, np.random.default_rng(0)), r"^n is -1"),
        (
            lambda: rejection_sample(FLAT, ONE_HOT, 3, np.random.default_rng(0)),
            r"^q gives probability 0 .* no envelope",
        ),
        (
            lambda: rejection_sample(FLAT, 2 * FLAT, 3, np.random.default_rng(0)),
            r"^q has a row that is no distribution",
        ),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(unchecked, call, said):
    with pytest.raises(ValueError, match=said):
        call()
