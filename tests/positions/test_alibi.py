"""The price on distance against BLOOM's, and what it does to far keys."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

from course_lib.arrays import masked, softmax
from course_lib.positions import alibi_bias, alibi_slopes


def test_the_slopes_of_a_power_of_two_are_the_papers_series():
    assert alibi_slopes(8).tolist() == [2.0**-k for k in range(1, 9)]
    assert np.allclose(alibi_slopes(16), 2.0 ** (-np.arange(1, 17) / 2), rtol=1e-15, atol=0)
    assert alibi_slopes(1).tolist() == [2.0**-8]


@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 8, 12, 14, 20, 71, 112])
def test_slopes_and_attention_weights_are_those_of_bloom(xp, n_heads):
    """BLOOM adds slope · j: under a causal mask the same weights, as a row's constant cancels. Its powers are float32's."""
    n = 9
    theirs = build_alibi_tensor(torch.ones(1, n), n_heads, torch.float32)
    assert np.allclose(theirs[:, 0, 1].numpy(), alibi_slopes(n_heads), rtol=n_heads * 2**-23, atol=0)
    scores = xp.array(np.random.default_rng(0).normal(size=(n_heads, n, n)))
    where, causal = xp.array(range(n), "int64"), xp.array(np.tri(n), "bool")
    ours = xp.numpy(softmax(masked(scores + alibi_bias(where, where, alibi_slopes(n_heads), scores), causal)))
    expected = torch.softmax(
        (torch.tensor(xp.numpy(scores)) + theirs).masked_fill(~torch.ones(n, n).tril().bool(), -np.inf), -1
    )
    assert np.abs(ours - expected.numpy()).max() <= (n_heads * n + 40) * 2**-23


@given(seed=st.integers(0, 2**31), shift=st.integers(-(10**6), 10**6))
def test_only_distances_count_and_each_costs_the_slope_more(xp, seed, shift):
    rng = np.random.default_rng(seed)
    i, j = (rng.integers(0, 1000, size) for size in (4, 6))
    slopes, scores = alibi_slopes(3), xp.array(np.zeros(1), "float64")
    bias = xp.numpy(alibi_bias(xp.array(i, "int64"), xp.array(j, "int64"), slopes, scores))
    assert np.array_equal(bias, -slopes[:, None, None] * np.abs(i[:, None] - j))
    shifted = alibi_bias(xp.array(i + shift, "int64"), xp.array(j + shift, "int64"), slopes, scores)
    assert np.array_equal(xp.numpy(shifted), bias)


def test_near_keys_far_out_are_told_apart_in_sixteen_bits_too(xp):
    """Distances are taken in whole numbers: rounded to bfloat16 first, positions 1,024 and 1,027 would be one."""
    for dtype in xp.floats:
        scores = xp.array(np.zeros(1), dtype)
        late = xp.array([1024, 1027], "int64")
        bias = alibi_bias(late, late, xp.array([0.5]), scores)
        assert bias.dtype == scores.dtype
        assert xp.numpy(bias).tolist() == [[[0, -1.5], [-1.5, 0]]]


def test_what_lies_far_beyond_training_has_next_to_no_weight():
    """The contrast to rotation: at a slope of ½, all keys more than 50 back share less than 1e-10 of a query's attention."""
    where = np.arange(4096)
    weights = softmax(alibi_bias(where[-1:], where, np.array([0.5]), np.zeros(1)))[0, 0]
    assert weights[: 4096 - 51].sum() < 1e-10
    gentle = softmax(alibi_bias(where[-1:], where, np.array([2.0**-8]), np.zeros(1)))[0, 0]
    assert gentle[: 4096 - 51].sum() > 0.5


def test_no_heads_are_refused(unchecked):
    with pytest.raises(ValueError, match=r"^n_heads is 0"):
        alibi_slopes(0)
