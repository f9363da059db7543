"""Drawing from distributions against `np.searchsorted`, and the uniforms it is done with.

Statistical claims are tests at a fixed seed, with the probability stated at which a right sampler would fail at another.
"""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from course_lib.arrays import sample, uniforms


@st.composite
def weights_and_uniforms(draw):
    """Integer weights and dyadic uniforms: their products and sums are exact in float32, so is the right answer."""
    rows, n = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    row = st.lists(st.integers(0, 7), min_size=n, max_size=n).filter(any)
    weights = np.array([draw(row) for _ in range(rows)])
    return weights, np.array([draw(st.integers(0, 255)) / 256 for _ in range(rows)])


@given(drawn=weights_and_uniforms())
def test_sample_inverts_the_cumulative_sum_of_each_row(xp, drawn):
    weights, u = drawn
    expected = [
        np.searchsorted(np.cumsum(w), u_row * w.sum(), side="right") for w, u_row in zip(weights, u, strict=True)
    ]
    drawn = sample(xp.array(weights), xp.array(u))
    assert drawn.dtype == xp.dtype("int64")
    assert xp.numpy(drawn).tolist() == expected


@pytest.mark.parametrize("batch", [(), (1,), (2, 3)])
def test_sample_keeps_the_shape_of_the_batch(xp, batch):
    weights = np.tile([0.0, 1.0, 0.0], (*batch, 1))
    drawn = xp.numpy(sample(xp.array(weights), xp.array(np.full(batch, 0.75))))
    assert drawn.shape == batch
    assert np.all(drawn == 1)


@given(seed=st.integers(0, 2**31), total=st.sampled_from([1.0, 0.3, 7.0]))
def test_what_has_no_probability_is_never_drawn(xp, seed, total):
    rng = np.random.default_rng(seed)
    weights = rng.random((4, 3001)) * (rng.random((4, 3001)) < 0.5)
    weights[0, -1500:], weights[1, :1500], weights[2, 7] = 0, 0, 1
    weights *= total / weights.sum(-1, keepdims=True)
    for dtype in xp.floats:
        p = xp.array(weights, dtype)
        for u in (0.0, 0.5, 1 - xp.eps(dtype) / 2):
            drawn = xp.numpy(sample(p, xp.array(np.full(4, u), dtype)))
            assert np.all((drawn >= 0) & (drawn < 3001))
            assert np.all(np.take_along_axis(xp.numpy(p), drawn[:, None], axis=-1) > 0)


def test_a_threshold_that_rounds_up_to_the_whole_sum_falls_to_the_last_that_is_possible(xp):
    least = 2.0**-1074  # three quarters of float64's smallest number are that number
    for p in ([0, least, 0], [least, 0, 0], [0, 0, least]):
        drawn = sample(xp.array(p, "float64"), xp.array(0.75, "float64"))
        assert int(drawn) == p.index(least)


def test_a_large_vocabulary_is_summed_to_its_end_in_every_dtype(xp):
    """Equal weights of one: a sum kept in bfloat16 stops growing at 256, one in float16 at 2,048."""
    for dtype in xp.floats:
        drawn = sample(xp.array(np.ones((2, 50_000)), dtype), xp.array([0.75, 0.25], dtype))
        assert xp.numpy(drawn).tolist() == [37_500, 12_500]


def test_sample_draws_each_index_as_often_as_it_should(xp):
    """Chi-square at seed 20: a right sampler of other uniforms would fail with probability 1e-6 per row."""
    p, n = np.array([[0.4, 0.0, 0.1, 0.05, 0.25, 0.2, 0.0], [0.0, 1, 2, 3, 4, 5, 6]]), 20_000
    u = uniforms(np.random.default_rng(20), (n, 2), xp.array(0.0))
    drawn = xp.numpy(sample(xp.array(np.tile(p, (n, 1, 1))), u))
    for row in range(2):
        counts, possible = np.bincount(drawn[:, row], minlength=7), p[row] > 0
        assert counts[~possible].sum() == 0
        expected = n * p[row, possible] / p[row].sum()
        statistic = np.sum((counts[possible] - expected) ** 2 / expected)
        assert statistic < scipy.stats.chi2.ppf(1 - 1e-6, possible.sum() - 1)


def test_uniforms_come_in_the_shape_and_dtype_asked_for_and_again_from_the_same_seed(xp):
    for dtype in xp.floats:
        x = xp.array([0.0], dtype)
        rng = np.random.default_rng(5)
        first, second = (uniforms(rng, (3, 7), x) for _ in range(2))
        assert first.shape == (3, 7)
        assert first.dtype == xp.dtype(dtype)
        assert not np.array_equal(xp.numpy(first), xp.numpy(second))
        assert np.array_equal(xp.numpy(uniforms(np.random.default_rng(5), (3, 7), x)), xp.numpy(first))


def test_one_seed_draws_the_same_numbers_for_every_library(xp):
    exact = np.random.default_rng(8).random(1000)
    for dtype in xp.floats:
        drawn = xp.numpy(uniforms(np.random.default_rng(8), 1000, xp.array([0.0], dtype))).astype(np.float64)
        assert np.all((drawn <= exact) & (exact - drawn < xp.eps(dtype) / 2))


def rng_about_to_draw_its_largest() -> np.random.Generator:
    """A generator whose next 64 random bits are all ones, found by undoing PCG64's step (O'Neill, 2014, §6.3)."""
    multiplier, increment, modulus = 0x2360ED051FC65DA44385DF649FCCF645, 1, 1 << 128
    after = (1 << 64) - 1  # the output is the xor of the two halves, rotated: ones whatever the rotation
    state = (after - increment) * pow(multiplier, -1, modulus) % modulus
    rng = np.random.Generator(np.random.PCG64(0))
    rng.bit_generator.state |= {"state": {"state": state, "inc": increment}}
    return rng


def test_the_largest_uniform_is_below_one_in_every_dtype(xp):
    assert rng_about_to_draw_its_largest().random() == 1 - 2**-53
    for dtype in xp.floats:
        largest = float(xp.numpy(uniforms(rng_about_to_draw_its_largest(), (1,), xp.array([0.0], dtype)))[0])
        assert 1 - 4 * xp.eps(dtype) <= largest < 1


def test_uniforms_fill_the_interval_from_zero_to_one(xp):
    """Kolmogorov–Smirnov at seed 6: a right source would fail with probability 1e-6."""
    for dtype in set(xp.floats) & {"float32", "float64"}:
        drawn = xp.numpy(uniforms(np.random.default_rng(6), (20_000,), xp.array([0.0], dtype)))
        assert drawn.min() >= 0
        assert drawn.max() < 1
        assert scipy.stats.kstest(drawn, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_torch_generator_serves_as_well(dtype):
    torch = pytest.importorskip("torch")
    x = torch.zeros(1, dtype=getattr(torch, dtype))
    first, again = (uniforms(torch.Generator().manual_seed(7), (100_000,), x) for _ in range(2))
    assert torch.equal(first, again)
    assert first.dtype == x.dtype
    assert first.min() >= 0
    assert first.max() < 1
    assert abs(first.double().mean().item() - 0.5) < 0.005 + torch.finfo(x.dtype).eps  # 5 standard errors of 0.00091
