"""What a round is worth: the factors against the paper's table and exact rationals, the best γ against a search by hand."""

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.arrays import like
from course_lib.speculation import (
    acceptance_rate,
    best_gamma,
    expected_tokens,
    guaranteed_factor,
    improvement_factor,
    operation_factor,
    speculative_decode,
    token_ceiling,
)

HUNDREDTHS = [0.0, 0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.75, 0.8, 0.9, 0.99, 1.0]
COSTS = [0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.25, 0.5, 0.6, 0.9, 1.0, 1.5]


def tokens(alpha: Fraction, gamma: int) -> Fraction:
    return sum((alpha**i for i in range(gamma + 1)), Fraction(0))


def factors(alpha: Fraction, c: Fraction, gamma_max: int) -> list[Fraction]:
    """E[N] / (γc + 1) for γ = 0, …, gamma_max in exact rationals (Leviathan et al., 2023, Thm. 3.8)."""
    return [tokens(alpha, gamma) / (gamma * c + 1) for gamma in range(gamma_max + 1)]


@pytest.mark.parametrize(
    ("alpha", "gamma", "operations", "speed"),
    [
        (0.6, 2, 1.53, 1.96),
        (0.7, 3, 1.58, 2.53),
        (0.8, 2, 1.23, 2.44),
        (0.8, 5, 1.63, 3.69),
        (0.9, 2, 1.11, 2.71),
        (0.9, 10, 1.60, 6.86),
    ],
)
def test_the_factors_are_those_that_the_paper_prints(alpha, gamma, operations, speed):
    """Leviathan et al., 2023, Table 1, for c = ĉ = 0; it has two decimals."""
    assert improvement_factor(alpha, gamma, 0) == pytest.approx(speed, abs=0.005)
    assert operation_factor(alpha, gamma, 0) == pytest.approx(operations, abs=0.005)


@given(
    alpha=st.floats(0, 1), gamma=st.integers(0, 12), c=st.floats(0, 3), verification=st.sampled_from([0.5, 1.0, 2.75])
)
def test_the_factors_are_tokens_over_cost_and_work_over_tokens(alpha, gamma, c, verification):
    """As rationals of the very floats; γ + 4 roundings for E[N] and a few for the rest."""
    a, cost = Fraction(alpha), Fraction(c)
    exact = tokens(a, gamma) / (gamma * cost + Fraction(verification)) if gamma else 1
    bound = (gamma + 12) * 2**-52
    assert improvement_factor(alpha, gamma, c, verification) == pytest.approx(float(exact), rel=bound)
    work = (gamma * cost + gamma + 1) / tokens(a, gamma)
    assert operation_factor(alpha, gamma, c) == pytest.approx(float(work), rel=bound)


def test_arrays_of_all_arguments_broadcast_and_give_what_their_entries_give(xp):
    alphas, gammas, costs = np.array([[[0.0]], [[0.75]], [[1.0]]]), np.array([[0], [1], [5]]), np.array([0.0, 0.25])
    for dtype in xp.floats:
        alpha, c, gamma = xp.array(alphas, dtype), xp.array(costs, dtype), xp.array(gammas, "int64")
        twice = like(c, 2)
        for found, of in (
            (improvement_factor(alpha, gamma, c), improvement_factor),
            (improvement_factor(alpha, gamma, c, twice), lambda *a: improvement_factor(*a, 2.0)),
            (operation_factor(alpha, gamma, c), operation_factor),
        ):
            assert found.dtype == xp.dtype(dtype)
            assert found.shape == (3, 3, 2)
            for i, j, k in np.ndindex(3, 3, 2):
                one = of(float(alphas[i, 0, 0]), int(gammas[j, 0]), float(costs[k]))
                assert xp.numpy(found)[i, j, k] == pytest.approx(one, rel=20 * xp.eps(dtype))


def test_each_argument_alone_may_be_an_array(xp):
    some, gammas = xp.array([0.25, 0.5], "float64"), xp.array([0, 3], "int64")
    for found, expected in (
        (improvement_factor(some, 2, 0.5), [improvement_factor(a, 2, 0.5) for a in (0.25, 0.5)]),
        (improvement_factor(0.5, gammas, 0.5), [1.0, improvement_factor(0.5, 3, 0.5)]),
        (improvement_factor(0.5, 2, some), [improvement_factor(0.5, 2, c) for c in (0.25, 0.5)]),
        (improvement_factor(0.5, 2, 0.5, some), [improvement_factor(0.5, 2, 0.5, t) for t in (0.25, 0.5)]),
        (operation_factor(0.5, gammas, 0.5), [1.0, operation_factor(0.5, 3, 0.5)]),
        (operation_factor(0.5, 2, some), [operation_factor(0.5, 2, c) for c in (0.25, 0.5)]),
        (token_ceiling(some), [4 / 3, 2.0]),
    ):
        assert xp.numpy(found).tolist() == pytest.approx(expected, rel=1e-14)
    assert type(improvement_factor(0.5, 2, 0.5)) is type(operation_factor(0.5, 2, 0.5)) is float


def test_whoever_drafts_nothing_decodes_as_before_whatever_verification_costs(xp):
    for alpha, c, verification in ((0.3, 0.0, 1.0), (1.0, 2.0, 7.5), (0.0, 0.1, 0.25)):
        assert improvement_factor(alpha, 0, c, verification) == 1
        found = improvement_factor(xp.array([alpha]), 0, xp.array([[c], [1.0]]), verification)
        assert xp.numpy(found).tolist() == [[1.0], [1.0]]
        assert operation_factor(alpha, 0, c) == 1


def test_verification_that_takes_as_long_as_all_its_positions_gains_nothing(xp):
    """Where a run over γ + 1 positions takes γ + 1 times as long, even a free draft loses unless all of it stands."""
    gammas = np.arange(1, 9)
    found = improvement_factor(0.9, xp.array(gammas, "int64"), 0.0, xp.array(gammas + 1.0, "float64"))
    assert np.all(xp.numpy(found) < 1)
    perfect = improvement_factor(1.0, xp.array(gammas, "int64"), 0.0, xp.array(gammas + 1.0, "float64"))
    assert np.all(xp.numpy(perfect) == 1)


def test_the_arithmetic_of_the_decoding_loop_is_the_operation_factor():
    """Counted over 30,000 rounds at seed 6, one for each prompt: a draft position costs ĉ and a target position 1.

    Rows that depend on nothing make α the same everywhere. The work of a round is fixed; its tokens lie within [1, γ + 1], so
    by Hoeffding their mean is off by t with probability 2·exp(−2nt²/γ²) at most, and that is 1e-6 here.
    """
    p, q, gamma, n, c_hat = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5]), 3, 30_000, 0.125
    positions = {"draft": 0, "target": 0}

    def model(name, row):
        def rows(sequences, n_last):
            positions[name] += len(sequences) * n_last
            return np.broadcast_to(row, (len(sequences), n_last, 3))

        return rows

    done = speculative_decode(model("draft", q), model("target", p), [[0]] * n, 1, gamma, np.random.default_rng(6))
    emitted = sum(accepted + 1 for rounds in done.rounds for accepted in rounds)
    assert all(len(rounds) == 1 for rounds in done.rounds)
    work = positions["draft"] * c_hat + positions["target"]
    assert work == n * (gamma * c_hat + gamma + 1)
    expected, alpha = operation_factor(0.7, gamma, c_hat), float(acceptance_rate(p, q))
    assert alpha == pytest.approx(0.7, rel=1e-15)
    off = gamma * (log(2e6) / (2 * n)) ** 0.5 / expected_tokens(alpha, gamma)
    assert work / emitted == pytest.approx(expected, rel=off / (1 - off))


def test_the_best_horizon_is_that_of_a_search_in_exact_rationals():
    """All pairs of a grid, with α and c at 0 and 1, c ≥ α, and ties; a tie goes to the smallest."""
    ties = 0
    for alpha in HUNDREDTHS:
        for c in COSTS:
            gains = factors(Fraction(str(alpha)), Fraction(str(c)), 30)
            for gamma_max in (0, 1, 2, 5, 30):
                upto = gains[: gamma_max + 1]
                assert best_gamma(alpha, c, gamma_max) == upto.index(max(upto)), (alpha, c, gamma_max)
            ties += gains.count(max(gains)) > 1
    assert ties > 5


@pytest.mark.parametrize(
    ("alpha", "c", "gamma_max", "best"),
    [
        (0.5, 0.2, 9, 1),  # 1.5 / 1.2 = 1.75 / 1.4
        (0.6, 0.6, 9, 0),  # 1.6 / 1.6
        (1, 1, 9, 0),
        (1, 0.999, 9, 9),
        (0.25, 0, 200, 200),
        (1, 0, 0, 0),
        (0.99, 0.01, 1000, 113),
    ],
)
def test_a_tie_on_paper_is_a_tie_and_a_gain_without_end_goes_to_the_end(alpha, c, gamma_max, best):
    assert best_gamma(alpha, c, gamma_max) == best
    assert type(best_gamma(alpha, c, gamma_max)) is int


@given(alpha=st.floats(0, 1), c=st.floats(0, 2), gamma_max=st.integers(1, 8))
def test_drafting_pays_just_where_a_draft_agrees_more_often_than_it_costs(alpha, c, gamma_max):
    """Leviathan et al., 2023, Cor. 3.9: then γ = 1 gains (1 + α) / (1 + c), and the best γ no less."""
    best, promised = best_gamma(alpha, c, gamma_max), guaranteed_factor(alpha, c)
    assert (best > 0) == (alpha > c)
    gained = factors(Fraction(repr(alpha)), Fraction(repr(c)), gamma_max)
    assert gained[best] == max(gained)
    assert promised == pytest.approx(float(gained[1] if alpha > c else 1), rel=4 * 2**-52)
    assert promised <= float(gained[best]) * (1 + 4 * 2**-52)
    if alpha > c:
        assert improvement_factor(alpha, 1, c) == pytest.approx(promised, rel=4 * 2**-52)


@given(alpha=st.floats(0, 1))
def test_no_horizon_emits_more_than_the_ceiling_and_long_ones_come_near(alpha):
    ceiling = token_ceiling(alpha)
    assert type(ceiling) is float
    assert ceiling == (inf if alpha == 1 else pytest.approx(float(1 / (1 - Fraction(alpha))), rel=2**-51))
    for gamma in (0, 3, 300):
        found = improvement_factor(alpha, gamma, 0)
        assert found <= ceiling * (1 + 305 * 2**-52)
        # What is missing is the tail of the series, α^{γ+1} / (1 − α).
        if alpha < 1:
            assert found == pytest.approx((1 - alpha ** (gamma + 1)) * ceiling, rel=1e-9)


def test_the_ceiling_of_an_array_keeps_its_dtype_and_has_no_end_at_one(xp):
    for dtype in xp.floats:
        found = token_ceiling(xp.array([[0.0, 0.5], [0.75, 1.0]], dtype))
        assert found.dtype == xp.dtype(dtype)
        assert xp.numpy(found).tolist() == [[1, 2], [4, inf]]


def test_the_factors_have_gradients_that_are_finite_at_the_ends():
    torch = pytest.importorskip("torch")
    inside = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in ([0.2, 0.9], [0.1, 0.4], [1.0, 2.0])]
    gammas = torch.tensor([3, 5])
    assert torch.autograd.gradcheck(lambda a, c, t: improvement_factor(a, gammas, c, t), inside)
    assert torch.autograd.gradcheck(lambda a, c: operation_factor(a, gammas, c), inside[:2])
    ends = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64, requires_grad=True)
    token_ceiling(ends).sum().backward()
    assert ends.grad.tolist() == [1, 4, 0]  # a constant ∞ has no slope


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: improvement_factor(1.5, 2, 0.1), "^alpha is 1.5"),
        (lambda: improvement_factor(0.5, 2.5, 0.1), "^gamma is 2.5"),
        (lambda: improvement_factor(0.5, 2, -0.1), "^c is -0.1, needs a number ≥ 0"),
        (lambda: improvement_factor(0.5, 2, inf), "^c is inf"),
        (lambda: improvement_factor(0.5, 2, np.array([0.1, -0.1])), "^c has entries"),
        (lambda: improvement_factor(0.5, 2, 0.1, 0), "^verification is 0.0, needs a number > 0"),
        (lambda: improvement_factor(0.5, 2, 0.1, np.array([1.0, 0.0])), "^verification has entries"),
        (lambda: improvement_factor(0.5, 2, 0.1, np.array([1.0, np.nan])), "^verification has entries"),
        (lambda: operation_factor(-0.5, 2, 0.1), "^alpha is -0.5"),
        (lambda: operation_factor(0.5, -2, 0.1), "^gamma is -2"),
        (lambda: operation_factor(0.5, 2, -1), "^c_hat is -1"),
        (lambda: operation_factor(0.5, 2, np.array([np.inf])), "^c_hat has entries"),
        (lambda: guaranteed_factor(2, 0.1), "^alpha is 2"),
        (lambda: guaranteed_factor(0.5, -1), "^c is -1"),
        (lambda: token_ceiling(1.01), "^alpha is 1.01"),
        (lambda: token_ceiling(np.array([0.5, np.nan])), "^alpha has"),
        (lambda: best_gamma(float("nan"), 0.1, 3), "^alpha is nan"),
        (lambda: best_gamma("0.5", 0.1, 3), "^alpha is '0.5'"),
        (lambda: best_gamma(0.5, inf, 3), "^c is inf"),
        (lambda: best_gamma(0.5, 0.1, -1), "^gamma_max is -1"),
        (lambda: best_gamma(0.5, 0.1, 3.0), "^gamma_max is 3.0"),
        (lambda: best_gamma(0.5, 0.1, True), "^gamma_max is True"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(unchecked, call, said):
    with pytest.raises(ValueError, match=said):
        call()
