"""What attention knows of order: nothing without a mask, and what a mask gives away layer by layer.

Rounding: a layer sums n values under weights that sum to 1; a reordered sum differs by at most nε of the largest, and each
further layer multiplies that by what its weights do, which stays below 10 here.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.positions import Frequencies, equivariance_gap, inverse_frequencies, order_sensitivity, rotate, rotation
from course_lib.positions.order import marked_first_token_weights, random_layers, run

N, D = 7, 12


def tokens(xp, seed: int, batch: tuple = (), dtype: str = "float64"):
    return xp.array(np.random.default_rng(seed).normal(size=(*batch, N, D)), dtype)


def allowed(xp, x, layers: int) -> float:
    return N * D * 10**layers * xp.eps("float64") * float(np.abs(xp.numpy(x)).max())


@given(seed=st.integers(0, 2**31), n_layers=st.integers(1, 3), batch=st.sampled_from([(), (2,)]))
def test_without_a_mask_shuffled_tokens_give_shuffled_outputs(xp, seed, n_layers, batch):
    x, rng = tokens(xp, seed, batch), np.random.default_rng(seed)
    layers = random_layers(rng, n_layers, x)
    order = xp.array(rng.permutation(N), "int64")
    assert equivariance_gap(lambda x: run(x, layers, causal=False), x, order) <= allowed(xp, x, n_layers)


def test_a_mask_or_a_position_ends_it(xp):
    x, rng = tokens(xp, 0), np.random.default_rng(0)
    layers = random_layers(rng, 1, x)
    order = xp.array([*range(1, N), 0], "int64")
    assert equivariance_gap(lambda x: run(x, layers, causal=True), x, order) > 0.1
    frequencies = Frequencies(inverse_frequencies(D))
    by = rotation(xp.array(range(N), "int64"), frequencies, x)
    assert equivariance_gap(lambda x: run(rotate(x, by), layers, causal=False), x, order) > 0.1
    assert equivariance_gap(lambda x: x, x, order) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_last_output_of_one_causal_layer_ignores_the_order_before_it_and_of_two_does_not(xp, dtype):
    """Haviv et al., 2022; Kazemnejad et al., 2023. Mean over 4 shuffles of three sequences, seeded."""
    x = tokens(xp, 1, (3,), dtype)
    layers = random_layers(np.random.default_rng(1), 3, x)
    moved = [
        order_sensitivity(lambda x, n=n: run(x, layers[:n], causal=True), x, np.random.default_rng(2), shuffles=4)
        for n in (1, 2, 3)
    ]
    assert moved[0] <= N * D * xp.eps(dtype)
    assert moved[1] > 0.01
    assert moved[2] > moved[1]


def test_the_last_token_itself_is_no_matter_of_order(xp):
    """One layer still tells which token is last; it is the set before it that has no order."""
    x = tokens(xp, 3)
    layers = random_layers(np.random.default_rng(3), 1, x)
    swapped = xp.namespace.take(x, xp.array([*range(N - 2), N - 1, N - 2], "int64"), axis=-2)
    last = [xp.numpy(run(one, layers, causal=True))[-1] for one in (x, swapped)]
    assert np.abs(last[0] - last[1]).max() > 0.1


def test_equal_tokens_leave_nothing_to_count_without_a_mark(xp):
    """Any causal stack gives the same output at every place, and with a marked first token it does not."""
    x = xp.array(np.tile(np.random.default_rng(4).normal(size=D), (N, 1)), "float64")
    layers = random_layers(np.random.default_rng(4), 2, x)
    same = xp.numpy(run(x, layers, causal=True))
    assert np.abs(same - same[0]).max() <= allowed(xp, x, 2)
    marked = xp.numpy(run(x + xp.array(np.eye(N)[:, :1], "float64"), layers, causal=True))
    assert np.abs(np.diff(marked[1:], axis=0)).max(axis=-1).min() > 1e-4


def test_a_head_that_looks_at_all_alike_reads_its_position_off_the_mark(xp):
    for dtype in xp.floats:
        x = tokens(xp, 5, (), dtype)
        weights = marked_first_token_weights(x)
        assert weights.dtype == x.dtype
        t = np.arange(1, N + 1)
        assert np.abs(xp.numpy(weights).astype(np.float64) * t - 1).max() <= 4 * xp.eps(dtype)
        assert np.rint(1 / xp.numpy(weights).astype(np.float64)).tolist() == t.tolist()


def test_a_seed_gives_one_stack_in_every_library(xp):
    ours = random_layers(np.random.default_rng(6), 2, tokens(xp, 0))
    reference = random_layers(np.random.default_rng(6), 2, np.zeros((N, D)))
    for one, other in zip(ours, reference, strict=True):
        assert all(np.array_equal(xp.numpy(mine), theirs) for mine, theirs in zip(one, other, strict=True))


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7]])
def test_an_order_that_is_no_permutation_is_refused(xp, unchecked, order):
    with pytest.raises(ValueError, match=r"^order is"):
        equivariance_gap(lambda x: x, tokens(xp, 0), xp.array(order, "int64"))


def test_too_few_tokens_shuffles_or_layers_are_refused(xp, unchecked):
    rng, x = np.random.default_rng(0), tokens(xp, 0)
    with pytest.raises(ValueError, match=r"^x has 2 tokens"):
        order_sensitivity(lambda x: x, x[:2, :], rng)
    with pytest.raises(ValueError, match=r"shuffles is 0"):
        order_sensitivity(lambda x: x, x, rng, shuffles=0)
    with pytest.raises(ValueError, match=r"^n_layers is 0"):
        random_layers(rng, 0, x)
