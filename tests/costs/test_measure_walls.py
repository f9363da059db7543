"""The two experiments compute what they claim, on counts and shapes that no clock decides."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from course_lib.costs import measure_walls, probes
from course_lib.costs.measure_walls import (
    measure_attention,
    measure_passes,
    naive_attention,
    one_by_one,
    random_weights,
    reading_rate,
    through,
)


@pytest.fixture(params=["numpy", "torch"])
def held(request):
    """What holds weights and states as an array of one library."""
    return np.asarray if request.param == "numpy" else torch.as_tensor


@pytest.fixture
def half_second_calls(monkeypatch):
    """A clock that moves on by half a second each time it is read."""
    now = iter(range(10**6))
    monkeypatch.setattr(probes, "perf_counter", lambda: 0.5 * next(now))


@pytest.mark.parametrize(("n", "m", "d_k", "d_v"), [(1, 1, 1, 1), (5, 23, 7, 3), (33, 17, 64, 40)])
def test_naive_attention_agrees_with_torchs(n, m, d_k, d_v):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((n, d_k), (m, d_k), (m, d_v)))
    expected = torch.nn.functional.scaled_dot_product_attention(*(torch.tensor(x)[None].double() for x in (q, k, v)))
    result = naive_attention(q, k, v)
    assert result.dtype == np.float32
    # A score is a sum of d_k products; the exponential turns its error into a relative one, the last sum adds m more.
    largest = np.abs(q @ k.T).max() / d_k**0.5
    allowed = np.finfo(np.float32).eps * (largest * (d_k + 2) + m + 4) * np.abs(v).max()
    assert np.abs(result - expected[0].numpy()).max() <= allowed


def test_the_memory_of_attention_grows_by_its_square():
    small, large = measure_attention((256, 512), repeats=1)
    assert (small.n, large.n) == (256, 512)
    # The scores, and what the softmax makes of them, at least once each.
    assert small.peak_bytes >= 2 * 4 * 256**2
    assert 3.5 <= large.peak_bytes / small.peak_bytes <= 4.5


def test_tokens_that_pass_together_come_out_as_they_would_alone(held):
    weights = [held(matrix) for matrix in random_weights(3, 40)]
    states = held(np.random.default_rng(1).standard_normal((5, 40)).astype(np.float32))
    together = np.asarray(through(states, weights))
    alone = np.stack([np.asarray(through(state, weights)) for state in states])
    assert together.shape == alone.shape == (5, 40)
    assert np.allclose(together, alone, rtol=0, atol=3 * 40 * np.finfo(np.float32).eps * np.abs(alone).max())
    assert np.allclose((together**2).mean(-1), 1, rtol=40 * np.finfo(np.float32).eps)


def test_a_pass_multiplies_by_every_matrix_and_normalises_after_each_by_hand():
    first, second = np.array([[0.0, 2], [0, 0]], np.float32), np.array([[1.0, 0], [3, 3]], np.float32)
    # (1, 7) becomes (0, 2), normalised (0, √2), then (3√2, 3√2), normalised (1, 1).
    assert through(np.array([1, 7], np.float32), [first, second]).tolist() == pytest.approx([1, 1])


def test_one_by_one_each_state_follows_from_the_one_before():
    weights, start = random_weights(2, 16), np.ones(16, dtype=np.float32)
    states = one_by_one(start, weights, 4)
    assert states.shape == (5, 16)
    assert np.array_equal(states[0], start)
    for before, after in pairwise(states):
        assert np.array_equal(after, through(before, weights))


def test_weights_come_again_from_the_same_seed():
    one, again, other = random_weights(2, 8), random_weights(2, 8), random_weights(2, 8, seed=1)
    assert [matrix.shape for matrix in one] == [(8, 8)] * 2
    assert all(matrix.dtype == np.float32 for matrix in one)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_prompt_read_in_one_pass_gives_the_states_that_were_made_one_by_one():
    weights = random_weights(4, 24)
    states = one_by_one(weights[0][0], weights, 6)
    # Each of 4 products sums 24 terms of values that are about 1.
    assert np.abs(through(states[:-1], weights) - states[1:]).max() <= 4 * 24 * np.finfo(np.float32).eps * 5


def test_a_pass_is_stated_in_seconds_bytes_and_operations(half_second_calls, held):
    runs = measure_passes([held(matrix) for matrix in random_weights(3, 16)], (1, 4), repeats=3)
    n_weights = 3 * 16 * 16
    for run, positions in zip(runs, (1, 4), strict=True):
        assert run.positions == positions
        assert run.seconds_per_token == 0.5 / positions
        assert run.bytes_per_second == 4 * n_weights / 0.5
        assert run.flops_per_second == 2 * n_weights * positions / 0.5


def test_one_token_alone_is_a_vector_and_several_are_a_matrix(monkeypatch):
    shapes = []
    monkeypatch.setattr(measure_walls, "through", lambda states, weights: shapes.append(states.shape))
    measure_passes(random_weights(1, 8), (1, 3), repeats=1)
    assert set(shapes) == {(8,), (3, 8)}


def test_a_reading_is_all_bytes_of_the_weights_over_its_time(half_second_calls, held):
    weights = [held(matrix) for matrix in random_weights(3, 16)]
    assert reading_rate(weights, repeats=3) == 4 * 3 * 16 * 16 / 0.5


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: measure_attention(()), "lengths has 0"),
        (lambda: measure_attention((4, 0)), "lengths has 0"),
        (lambda: measure_attention((4,), d_head=0), "d_head has 0"),
        (lambda: random_weights(0, 4), "n_matrices is 0"),
        (lambda: random_weights(1, 0), "width is 0"),
        (lambda: one_by_one(np.ones(4, dtype=np.float32), random_weights(1, 4), 0), "n is 0"),
        (lambda: measure_passes([], (1,)), "weights has 0"),
        (lambda: measure_passes(random_weights(1, 4), (1, 0)), r"positions is \(1, 0\)"),
        (lambda: measure_passes(random_weights(1, 4), ()), r"positions is \(\)"),
        (lambda: reading_rate([]), "weights is empty"),
    ],
)
def test_an_experiment_on_nothing_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
