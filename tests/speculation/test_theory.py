"""What speculation gains, against exact rationals: rows in 64ths, whose sums no dtype rounds, and closed forms in Fractions.

Where a claim is statistical, the test states its seed and the probability at which a right answer would fail at another.
"""

from fractions import Fraction
from itertools import product
from math import log, prod

import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from course_lib.speculation import (
    acceptance_rate,
    accepted_distribution,
    expected_tokens,
    expected_tokens_by_position,
    residual,
    total_variation,
)

WHOLE = 64
WIDE = {"float64": "float64", "float32": "float32", "float16": "float32", "bfloat16": "float32"}


@st.composite
def pairs_in_64ths(draw):
    """Numerators of two arrays of rows that sum to 64: exact in every floating dtype, and so are their sums."""
    batch, v = draw(st.sampled_from([(), (1,), (3,), (2, 3)])), draw(st.integers(1, 7))

    def row():
        cuts = draw(st.lists(st.integers(0, WHOLE), min_size=v - 1, max_size=v - 1))
        return np.diff([0, *sorted(cuts), WHOLE])

    p = np.array([row() for _ in range(int(np.prod(batch)))])
    q = np.array([row() if draw(st.integers(0, 3)) else same for same in p])
    return p.reshape(*batch, v), q.reshape(*batch, v)


def tokens_exactly(alpha: float, gamma: int) -> Fraction:
    """The closed form of Leviathan et al., 2023, eq. 1, for the number that the float is."""
    a = Fraction(alpha)
    return Fraction(gamma + 1) if a == 1 else (1 - a ** (gamma + 1)) / (1 - a)


# Two rows


@given(pair=pairs_in_64ths())
def test_what_is_accepted_is_the_shared_mass_and_one_minus_the_distance(xp, pair):
    p, q = pair
    for dtype in xp.floats:
        rows = [xp.array(side / WHOLE, dtype) for side in pair]
        alpha, distance = acceptance_rate(*rows), total_variation(*rows)
        assert alpha.dtype == distance.dtype == xp.dtype(dtype)
        assert np.array_equal(xp.numpy(alpha) * WHOLE, np.minimum(p, q).sum(-1))
        assert np.array_equal(xp.numpy(distance) * WHOLE, np.abs(p - q).sum(-1) / 2)
        assert np.array_equal(xp.numpy(alpha), 1 - xp.numpy(distance))
        assert np.array_equal(xp.numpy(acceptance_rate(*rows[::-1])), xp.numpy(alpha))


@given(pair=pairs_in_64ths())
def test_no_event_is_disagreed_about_more_than_by_the_total_variation(pair):
    for p, q in zip(*(side.reshape(-1, side.shape[-1]) for side in pair), strict=True):
        events = np.array(list(product((0, 1), repeat=len(p))))
        assert total_variation(p / WHOLE, q / WHOLE) * WHOLE == np.abs(events @ (p - q)).max()


def test_a_large_vocabulary_is_summed_as_float64_sums_it(xp):
    """Σ min and Σ |p − q| have v terms of one sign: their rounding walks at random, 4·ε·√v of a sum of at most 2."""
    rng, v = np.random.default_rng(1), 50_001
    for dtype in xp.floats:
        p, q = (xp.array(rows / rows.sum(-1, keepdims=True), dtype) for rows in rng.exponential(size=(2, 3, v)))
        exact = [xp.numpy(side).astype(np.float64) for side in (p, q)]
        bound = 4 * xp.eps(WIDE[dtype]) * v**0.5 + xp.eps(dtype)
        assert np.abs(xp.numpy(acceptance_rate(p, q)) - np.minimum(*exact).sum(-1)).max() <= bound
        cityblock = [scipy.spatial.distance.cityblock(*rows) for rows in zip(*exact, strict=True)]
        assert np.abs(xp.numpy(total_variation(p, q)) - np.array(cityblock) / 2).max() <= bound


@given(pair=pairs_in_64ths())
def test_the_residual_is_the_mass_that_acceptance_leaves_undelivered(xp, pair):
    p, q = pair
    missing = np.where((p == q).all(-1, keepdims=True), p, np.maximum(p - q, 0))
    expected = missing / missing.sum(-1, keepdims=True)
    for dtype in xp.floats:
        rows = [xp.array(side / WHOLE, dtype) for side in pair]
        result = residual(*rows)
        assert result.dtype == xp.dtype(dtype)
        found = xp.numpy(result).astype(np.float64)
        assert np.all(found[missing == 0] == 0)
        # One division of exact numbers, and one rounding to the dtype.
        assert np.abs(found - expected).max() <= xp.eps(dtype)
        assert np.abs(found.sum(-1) - 1).max() <= found.shape[-1] * xp.eps(dtype)
        shared = np.minimum(p, q)
        delivered = shared / WHOLE + (1 - shared.sum(-1, keepdims=True) / WHOLE) * found
        assert np.abs(delivered - p / WHOLE).max() <= xp.eps(dtype)


def test_rows_that_agree_but_for_rounding_leave_the_target_itself(xp):
    for dtype in xp.floats:
        q = xp.array([0.25] * 4, dtype)
        below = xp.array([0.25 - xp.eps(dtype) / 8] * 4, dtype)
        assert np.array_equal(xp.numpy(residual(q, q)), [0.25] * 4)
        assert np.array_equal(xp.numpy(residual(below, q)), [0.25] * 4)  # p over its sum


@given(seed=st.integers(0, 2**31))
def test_a_batch_gives_what_its_rows_give_and_nothing_is_written_into(xp, seed):
    p, q = (xp.array(rows, "float32") for rows in np.random.default_rng(seed).dirichlet(np.full(7, 0.3), (2, 3, 5)))
    before = [xp.numpy(side).copy() for side in (p, q)]
    for of in (acceptance_rate, total_variation, residual):
        together = xp.numpy(of(p, q))
        for i, j in np.ndindex(3, 5):
            # A library may sum seven terms in another order for another shape.
            assert np.abs(together[i, j] - xp.numpy(of(p[i, j, :], q[i, j, :]))).max() <= 7 * xp.eps("float32")
    assert all(np.array_equal(xp.numpy(side), kept) for side, kept in zip((p, q), before, strict=True))


def test_two_dtypes_give_the_wider_one(xp):
    p, q = xp.array([0.75, 0.25], "float32"), xp.array([0.5, 0.5], "float64")
    for of in (acceptance_rate, total_variation, residual):
        assert of(p, q).dtype == of(q, p).dtype == xp.dtype("float64")


# A round


ALPHAS = [0.0, 2**-20, 0.3, 0.5, 0.7, 0.984375, 1 - 2**-11, 1 - 2**-24, 1 - 2**-53, 1.0]


@pytest.mark.parametrize("gamma", [0, 1, 2, 5, 40])
def test_the_expected_tokens_of_a_round_are_the_closed_form(xp, gamma):
    for dtype in xp.floats:
        alphas = xp.array(ALPHAS, dtype)
        exact = np.array([float(tokens_exactly(float(a), gamma)) for a in xp.numpy(alphas)])
        found = expected_tokens(alphas, gamma)
        assert found.dtype == xp.dtype(dtype)
        # γ + 1 terms, each a power right to about a unit of the last place, and γ additions.
        assert np.all(np.abs(xp.numpy(found) - exact) <= (gamma + 4) * xp.eps(dtype) * exact)
    for alpha in ALPHAS:
        plain = expected_tokens(alpha, gamma)
        assert type(plain) is float
        assert plain == pytest.approx(float(tokens_exactly(alpha, gamma)), rel=(gamma + 4) * 2**-52)


def test_rates_and_horizons_broadcast_against_each_other(xp):
    alphas, gammas = np.array([[0.0], [0.5], [1.0]]), np.array([0, 1, 3, 9])
    expected = np.array([[float(tokens_exactly(a, int(g))) for g in gammas] for a in alphas[:, 0]])
    found = expected_tokens(xp.array(alphas, "float64"), xp.array(gammas, "int64"))
    assert np.abs(xp.numpy(found) - expected).max() <= 13 * 2**-52 * 10
    for i, alpha in enumerate(alphas[:, 0]):
        row = expected_tokens(float(alpha), xp.array(gammas, "int64"))
        assert np.array_equal(xp.numpy(row), xp.numpy(found)[i])
    assert expected_tokens(0.5, xp.array(np.zeros(0), "int64")).shape == (0,)


@given(alpha=st.floats(0, 1), gamma=st.integers(0, 12))
def test_a_round_emits_one_token_more_than_it_accepts(alpha, gamma):
    """A distribution whose mean is E[N] − 1; each of γ + 1 terms has a power and a product, right to ε each."""
    chances = accepted_distribution(alpha, gamma)
    assert chances.shape == (gamma + 1,)
    assert np.all(chances >= 0)
    exact = [Fraction(alpha) ** k * (1 - Fraction(alpha) if k < gamma else 1) for k in range(gamma + 1)]
    bound = 4 * (gamma + 1) * 2**-52
    assert np.abs(chances - np.array([float(e) for e in exact])).max() <= bound
    assert abs(chances.sum() - 1) <= bound
    assert abs(chances @ np.arange(gamma + 1) + 1 - expected_tokens(alpha, gamma)) <= bound * (gamma + 1)


def test_the_accepted_counts_of_arrays_of_rates(xp):
    for dtype in xp.floats:
        chances = accepted_distribution(xp.array([[0.0, 0.5, 1.0]], dtype), 2)
        assert chances.dtype == xp.dtype(dtype)
        assert np.array_equal(xp.numpy(chances), [[[1, 0, 0], [0.5, 0.25, 0.25], [0, 0, 1]]])


def test_coins_tossed_until_the_first_rejection_agree():
    """Seed 3, 400,000 rounds of γ = 4: right formulas would fail with probability 2e-6 at each α.

    The mean by Hoeffding: N lies within [1, γ + 1], so it is off by t with probability 2·exp(−2nt²/γ²) at most; the counts
    by chi-square.
    """
    rng, n, gamma = np.random.default_rng(3), 400_000, 4
    for alpha in (0.2, 0.7, 0.95):
        heads = rng.random((n, gamma)) < alpha
        accepted = np.where(heads.all(-1), gamma, np.argmin(heads, axis=-1))
        assert abs(accepted.mean() + 1 - expected_tokens(alpha, gamma)) <= gamma * (log(2e6) / (2 * n)) ** 0.5
        counts = np.bincount(accepted, minlength=gamma + 1)
        assert scipy.stats.chisquare(counts, n * accepted_distribution(alpha, gamma)).pvalue > 1e-6


@given(numerators=st.lists(st.integers(0, WHOLE), max_size=6))
def test_positions_with_rates_of_their_own_add_the_chances_to_get_there(xp, numerators):
    exact = [Fraction(k, WHOLE) for k in numerators]
    expected = float(sum(prod(exact[:i], start=Fraction(1)) for i in range(len(exact) + 1)))
    for dtype in xp.floats:
        alphas = xp.array(np.tile(np.array(numerators, float) / WHOLE, (2, 1)), dtype)
        found = expected_tokens_by_position(alphas)
        assert found.dtype == xp.dtype(dtype)
        # γ products and γ additions.
        assert np.abs(xp.numpy(found) - expected).max() <= 2 * (len(exact) + 1) * xp.eps(dtype) * expected
        assert found.shape == (2,)


@given(alpha=st.floats(0, 1), gamma=st.integers(0, 9))
def test_equal_rates_at_all_positions_are_the_closed_form(alpha, gamma):
    found = expected_tokens_by_position(np.full(gamma, alpha))
    assert found == pytest.approx(expected_tokens(alpha, gamma), rel=4 * (gamma + 1) * 2**-52)


@pytest.mark.parametrize("gamma", [1, 2, 4, 8])
def test_one_mean_rate_understates_what_a_mixture_of_rounds_emits(gamma):
    """Half of the rounds at 0.9 and half at 0.5 beat 0.7 throughout (Jensen: E[N] is convex in α; for γ = 1 a line).

    Where instead each position draws its rate afresh, the mean over all 2^γ assignments is that of 0.7 exactly.
    """
    at_the_mean = expected_tokens(0.7, gamma)
    mixed = expected_tokens_by_position(np.stack([np.full(gamma, 0.9), np.full(gamma, 0.5)])).mean()
    exact = (tokens_exactly(Fraction(9, 10), gamma) + tokens_exactly(Fraction(1, 2), gamma)) / 2
    assert mixed == pytest.approx(float(exact), rel=1e-14)
    assert (mixed > at_the_mean + 0.03) if gamma > 1 else (mixed == pytest.approx(at_the_mean, rel=1e-14))
    afresh = expected_tokens_by_position(np.array(list(product((0.9, 0.5), repeat=gamma)))).mean()
    assert afresh == pytest.approx(at_the_mean, rel=1e-13)


# Gradients, and what is refused


def test_gradients_are_those_of_finite_differences_also_at_the_ends():
    torch = pytest.importorskip("torch")
    logits = torch.tensor(np.random.default_rng(4).standard_normal((2, 3, 5)), requires_grad=True)
    for of in (acceptance_rate, total_variation, residual):
        assert torch.autograd.gradcheck(lambda x, of=of: of(*torch.softmax(x, -1)), logits)
    inside = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64, requires_grad=True)
    for of in (lambda a: expected_tokens(a, 4), lambda a: accepted_distribution(a, 3), expected_tokens_by_position):
        assert torch.autograd.gradcheck(of, inside)
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    expected_tokens(ends, 4).sum().backward()
    assert ends.grad.tolist() == [1, 1 + 2 + 3 + 4]


def test_where_both_rows_agree_the_gradient_of_the_residual_stays_finite():
    torch = pytest.importorskip("torch")
    p = torch.tensor([[0.5, 0.5], [0.25, 0.75]], requires_grad=True)
    residual(p, torch.tensor([[0.5, 0.5], [0.5, 0.5]]))[:, 0].sum().backward()
    assert bool(torch.isfinite(p.grad).all())


GOOD = [0.5, 0.5]


@pytest.mark.parametrize("of", [acceptance_rate, total_variation, residual])
@pytest.mark.parametrize(
    ("p", "q", "said"),
    [
        (GOOD, [0.5, 0.25, 0.25], r"^q has shape \(3,\), needs that of p: \(2,\)"),
        (GOOD, [GOOD], r"^q has shape \(1, 2\), needs that of p"),
        ([-0.25, 1.25], GOOD, "^p has a row that is no distribution"),
        (GOOD, [float("nan"), 0.5], "^q has a row that is no distribution"),
        (GOOD, [float("inf"), 0.5], "^q has a row that is no distribution"),
        ([0.5, 0.4], GOOD, "^p has a row that is no distribution"),
        ([GOOD, GOOD], [GOOD, [0.5, 0.501]], "^q has a row that is no distribution"),
        ([0.0, 0.0], GOOD, "^p has a row that is no distribution"),
        ([], [], r"^p has shape \(0,\)"),
        (1.0, 1.0, r"^p has shape \(\)"),
    ],
)
def test_what_is_no_pair_of_distributions_is_refused_by_name(xp, unchecked, of, p, q, said):
    with pytest.raises(ValueError, match=said):
        of(xp.array(p), xp.array(q))


def test_whole_numbers_are_no_probabilities(xp, unchecked):
    with pytest.raises(ValueError, match=r"^p has shape .* dtype .*int64, needs floating"):
        residual(xp.array([0, 1], "int64"), xp.array([0, 1], "int64"))


def test_a_sum_may_miss_one_by_rounding_and_no_further(xp, unchecked):
    """4ε of the rows' dtype and 4ε·√v of the sum, so two entries pass with 4ε too much and fail with 32ε."""
    for dtype in xp.floats:
        eps = xp.eps(dtype)
        acceptance_rate(xp.array([0.5, 0.5 + 4 * eps], dtype), xp.array(GOOD, dtype))
        with pytest.raises(ValueError, match=r"^p has a row"):
            acceptance_rate(xp.array([0.5, 0.5 + 32 * eps], dtype), xp.array(GOOD, dtype))
        # In a large vocabulary, too, a tenth of the mass is missed: short dtypes are summed in 32 bits.
        flat = np.full(50_000, 1 / 50_000)
        with pytest.raises(ValueError, match=r"^q has a row"):
            acceptance_rate(xp.array(flat, dtype), xp.array(0.9 * flat, dtype))


OUTSIDE = [-0.1, 1.1, float("nan"), float("inf")]


@pytest.mark.parametrize("alpha", OUTSIDE)
def test_a_rate_outside_zero_to_one_is_refused_by_name(xp, unchecked, alpha):
    for of in (lambda a: expected_tokens(a, 2), lambda a: accepted_distribution(a, 2)):
        with pytest.raises(ValueError, match=f"^alpha is {alpha}, needs a number from 0 to 1"):
            of(alpha)
        with pytest.raises(ValueError, match=r"^alpha has"):
            of(xp.array([0.5, alpha]))
    with pytest.raises(ValueError, match=f"^alpha is {alpha}"):
        expected_tokens(alpha, xp.array([1, 2], "int64"))
    with pytest.raises(ValueError, match=r"^alphas has"):
        expected_tokens_by_position(xp.array([0.5, alpha]))


@pytest.mark.parametrize("gamma", [-1, 1.5, 2.0, True])
def test_a_horizon_that_is_no_whole_number_is_refused_by_name(unchecked, gamma):
    for of in (expected_tokens, accepted_distribution):
        with pytest.raises(ValueError, match=f"^gamma is {gamma!r}, needs a whole number ≥ 0"):
            of(0.5, gamma)


def test_a_rate_for_each_position_needs_positions(unchecked):
    with pytest.raises(ValueError, match=r"^alphas has no axis"):
        expected_tokens_by_position(0.5)


def test_arrays_of_horizons_must_be_whole_numbers_too(xp, unchecked):
    for gammas, dtype in (([1, -1], "int64"), ([1.0, 2.0], "float32")):
        for alpha in (0.5, xp.array([0.5])):
            with pytest.raises(ValueError, match=r"^gamma has dtype"):
                expected_tokens(alpha, xp.array(gammas, dtype))
    with pytest.raises(ValueError, match=r"^alpha has dtype .*int64, needs floating"):
        expected_tokens(xp.array([1], "int64"), 2)
