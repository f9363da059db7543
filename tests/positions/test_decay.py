"""Scores over distance: the closed form against vectors that are really turned, and RoFormer's bound against all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.positions import Frequencies, Interpolation, Rule, inverse_frequencies
from course_lib.positions.decay import attention_decay, decay_bound, score_by_distance

D = 16
SHARP = Frequencies(inverse_frequencies(D), attention_factor=1.2)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_the_curve_is_the_score_of_a_vector_of_ones_with_itself(xp, layout):
    """Of any q = k whose pairs are equally long; the mean over all directions of it is the same."""
    distances = xp.array([0, 1, 2, 17, 500, 99_999], "int64")
    curve = attention_decay(SHARP, distances)
    assert curve.dtype == xp.dtype("float64")
    ones = xp.array(np.ones(D), "float64")
    scores = score_by_distance(ones, ones, distances, SHARP, layout)
    assert np.abs(xp.numpy(scores) / D - xp.numpy(curve)).max() <= 20 * D * 2**-52 + 4 * 99_999 * 2**-52
    assert xp.numpy(curve)[0] == pytest.approx(1.44, rel=1e-15)


def test_it_is_the_mean_over_directions():
    """20,000 normal vectors, seed 0. Each score over D has a standard deviation of at most √(2/D)·factor²; 5 of the mean's are
    allowed: a right curve fails at one of these 4 distances with a probability below 3e-6."""
    q = np.random.default_rng(0).normal(size=(20_000, D))
    distances = np.array([0, 1, 10, 1000])
    scores = score_by_distance(q, q, distances, SHARP) / D
    allowed = 5 * np.sqrt(2 / D) * 1.44 / np.sqrt(len(q))
    assert np.abs(scores.mean(0) - attention_decay(SHARP, distances)).max() <= allowed
    other = np.random.default_rng(1).normal(size=(20_000, D))
    assert np.abs((score_by_distance(q, other, distances, SHARP) / D).mean(0)).max() <= allowed


@given(seed=st.integers(0, 2**31), layout=st.sampled_from(["half", "interleaved"]))
def test_no_score_exceeds_roformers_bound(seed, layout):
    """Su et al., 2021, eq. 37: max |h_{j+1} − h_j| · Σ|S_j|, with h beyond the last pair being 0."""
    rng = np.random.default_rng(seed)
    q, k = rng.normal(size=(2, D))
    distances = rng.integers(0, 5000, 40)
    pairs = (slice(0, D, 2), slice(1, D, 2)) if layout == "interleaved" else (slice(0, D // 2), slice(D // 2, D))
    h = (q[pairs[0]] + 1j * q[pairs[1]]) * (k[pairs[0]] - 1j * k[pairs[1]])
    bound = np.abs(np.diff([*h, 0])).max() * decay_bound(SHARP, distances) * D / 2
    assert np.all(np.abs(score_by_distance(q, k, distances, SHARP, layout)) <= bound * (1 + 1e-12))


def test_the_bound_falls_with_distance_and_starts_at_the_mean_of_one_to_half_d(xp):
    distances = xp.array(range(256), "int64")
    bound = xp.numpy(decay_bound(Frequencies(inverse_frequencies(128)), distances))
    assert bound[0] == (64 + 1) / 2
    blocks = bound.reshape(8, 32).mean(1)
    assert np.all(np.diff(blocks) < 0)


def test_interpolation_stretches_the_curve_by_s():
    distances = np.arange(100)
    plain, stretched = Rule(D).at(1), Interpolation(D, factor=4.0).at(1)
    assert np.array_equal(attention_decay(stretched, distances * 4), attention_decay(plain, distances))
