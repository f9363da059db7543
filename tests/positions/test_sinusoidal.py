"""Waves against transformers in both of their orders, and the shift that is a rotation wherever it starts."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions

from course_lib.positions import add_sinusoidal, shift_matrix, sinusoidal

N, D = 600, 32


def test_interleaved_waves_are_those_of_distilbert(xp):
    """Computed in float64 by NumPy there, and kept in float32."""
    theirs = torch.nn.Parameter(torch.empty(N, D), requires_grad=False)
    create_sinusoidal_embeddings(N, D, theirs)
    x = xp.array(np.zeros(1))
    ours = sinusoidal(xp.array(np.arange(N), "int64"), D, x)
    assert ours.dtype == x.dtype
    assert np.abs(xp.numpy(ours) - theirs.numpy()).max() <= 2**-23 + 4 * N * 2**-52


def test_halves_of_sines_and_cosines_are_those_of_gpt_j():
    """Angles in float32 there: two roundings, of θᵢ and of the product, of an angle of up to N."""
    ours = sinusoidal(np.arange(N), D, np.zeros(1), layout="half")
    assert np.abs(ours - create_sinusoidal_positions(N, D).numpy()).max() <= 8 * N * 2**-23


def test_the_first_waves_by_hand(xp):
    """Position 1 with θ = 4 and d = 4: angles of 1 and ½."""
    ours = xp.numpy(sinusoidal(xp.array([0, 1], "int64"), 4, xp.array(0.0, "float64"), theta=4.0))
    expected = [[0, 1, 0, 1], [np.sin(1), np.cos(1), np.sin(0.5), np.cos(0.5)]]
    assert np.abs(ours - expected).max() <= 2**-52


@given(
    offset=st.integers(-5000, 5000),
    start=st.integers(-5000, 5000),
    layout=st.sampled_from(["interleaved", "half"]),
    d=st.sampled_from([2, 6, 64]),
)
def test_a_shift_is_one_linear_map_wherever_it_starts_and_a_rotation(offset, start, layout, d):
    """Vaswani et al., 2017, §3.5. The angles of m, of the shift and of their sum are rounded each."""
    m = start + np.arange(9)
    shift = shift_matrix(offset, d, layout=layout)
    before, after = (sinusoidal(where, d, np.zeros(1), layout=layout) for where in (m, m + offset))
    assert np.abs(before @ shift.T - after).max() <= 4 * 15_000 * 2**-52
    assert np.abs(shift @ shift.T - np.eye(d)).max() <= 4 * 2**-52
    assert np.linalg.det(shift) == pytest.approx(1)


def test_every_vector_is_equally_long(xp):
    waves = xp.numpy(sinusoidal(xp.array([[0, 7, 10**6]], "int64"), D, xp.array(0.0, "float64")))
    assert waves.shape == (1, 3, D)
    assert np.abs((waves**2).sum(-1) - D / 2).max() <= D * 4 * 2**-52


def test_they_are_added_and_each_sequence_has_its_own_positions(xp):
    rng = np.random.default_rng(0)
    for dtype in xp.floats:
        x = xp.array(rng.normal(size=(2, 3, 5, 6)), dtype)
        where = xp.array(rng.integers(0, 99, (2, 5)), "int64")
        result = add_sinusoidal(x, where)
        assert result.dtype == x.dtype
        waves = xp.numpy(sinusoidal(where, 6, x))[:, None]
        assert np.abs(xp.numpy(result) - (xp.numpy(x) + waves)).max() <= 4 * xp.eps(dtype)


def test_what_is_no_vector_of_pairs_is_refused(xp, unchecked):
    where, x = xp.array([0, 1], "int64"), xp.array(np.zeros((2, 5)))
    with pytest.raises(ValueError, match=r"^d is 5"):
        add_sinusoidal(x, where)
    with pytest.raises(ValueError, match=r"^positions has shape"):
        add_sinusoidal(xp.array(np.zeros((3, 4))), where)
    with pytest.raises(ValueError, match=r"^target is 'both'"):
        sinusoidal(where, 4, x, layout="both")
