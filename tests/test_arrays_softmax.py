"""Softmax and logsumexp against SciPy and finite differences, at the edges where each library would do something else.

Bounds. Let eps be the dtype's machine epsilon, d the distance of a score below its row's maximum, n the row's length.
The rounded difference x − m is off by at most d·eps/2, which exp turns into that relative error; exp and the division
add an eps each and a sum of n terms at most n·eps/2. So a softmax weight is right to (d + n + 4)·eps relative, with room
to spare, and to the smallest normal number where it underflows. A logsumexp is right to (1 + n + |result|)·eps: the term
d·exp(−d) that reaches it is below one, and adding the maximum back rounds once more.
"""

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from course_lib.arrays import logsumexp, masked, softmax

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

SHAPES_AND_AXES = [
    ((7,), -1),
    ((1,), 0),
    ((3, 5), 1),
    ((3, 5), -2),
    ((2, 3, 11), 0),
    ((2, 1, 13), -1),
    ((2, 3, 129), -1),
]


def stored(xp, values, dtype="float32"):
    """`values` as an array of `xp`, and in float64 exactly what that array holds after rounding to its dtype."""
    x = xp.array(values, dtype)
    return x, xp.numpy(x).astype(np.float64)


def softmax_error_allowed(xp, x, expected, axis, dtype):
    distance = np.max(x, axis=axis, keepdims=True) - x
    return expected * (distance + x.shape[axis] + 4) * xp.eps(dtype) + xp.tiny(dtype)


scores = arrays_of.arrays(
    np.float64,
    arrays_of.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=9),
    elements=st.floats(-1, 1, width=16),
)
scales = st.sampled_from([1e-3, 1.0, 30.0, 1e4])


@pytest.mark.parametrize(("shape", "axis"), SHAPES_AND_AXES)
def test_softmax_and_logsumexp_agree_with_scipy_in_every_dtype(xp, shape, axis):
    values = 5 * np.random.default_rng(0).standard_normal(shape)
    for dtype in xp.floats:
        x, exact = stored(xp, values, dtype)
        weights, total = softmax(x, axis=axis), logsumexp(x, axis=axis)
        assert weights.dtype == total.dtype == xp.dtype(dtype)

        expected = scipy.special.softmax(exact, axis=axis)
        assert np.all(np.abs(xp.numpy(weights) - expected) <= softmax_error_allowed(xp, exact, expected, axis, dtype))
        expected = scipy.special.logsumexp(exact, axis=axis)
        assert total.shape == expected.shape
        assert np.all(np.abs(xp.numpy(total) - expected) <= (1 + shape[axis] + np.abs(expected)) * xp.eps(dtype))


@given(values=scores, scale=scales)
def test_softmax_is_a_distribution_that_keeps_the_order_of_the_scores(xp, values, scale):
    x, exact = stored(xp, scale * values)
    weights = xp.numpy(softmax(x)).astype(np.float64)
    assert np.all(weights >= 0)
    assert np.all(np.abs(weights.sum(-1) - 1) <= (exact.shape[-1] + 4) * xp.eps("float32"))
    by_score = np.take_along_axis(weights, np.argsort(exact, axis=-1), axis=-1)
    assert np.all(np.diff(by_score, axis=-1) >= -4 * xp.eps("float32") * by_score[..., 1:])


@given(values=scores, scale=scales, shift=st.integers(-300, 300))
def test_a_shift_of_all_scores_changes_no_softmax_and_moves_logsumexp_by_itself(xp, values, scale, shift):
    whole = np.round(scale * values)  # integers, so that the shifted scores are exact in float32
    x, shifted, n = xp.array(whole), xp.array(whole + shift), whole.shape[-1]
    assert np.allclose(xp.numpy(softmax(x)), xp.numpy(softmax(shifted)), rtol=(n + 4) * xp.eps("float32"), atol=0)
    before, after = xp.numpy(logsumexp(x)).astype(np.float64), xp.numpy(logsumexp(shifted)).astype(np.float64)
    allowed = (2 + 2 * n + np.abs(before) + np.abs(after)) * xp.eps("float32")
    assert np.all(np.abs(after - before - shift) <= allowed)


def test_scores_of_ten_thousand_overflow_nothing(xp):
    for dtype in xp.floats:
        x, exact = stored(xp, [[1e4, 1e4, -1e4], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4]], dtype)
        weights = xp.numpy(softmax(x)).astype(np.float64)
        assert np.allclose(weights, [[0.5, 0.5, 0], [1 / 3] * 3, [1 / 3] * 3], rtol=4 * xp.eps(dtype), atol=0)
        expected = exact.max(-1) + np.log([2, 3, 3])
        assert np.allclose(xp.numpy(logsumexp(x)).astype(np.float64), expected, rtol=2 * xp.eps(dtype), atol=0)


def test_a_row_of_minus_infinity_has_no_weights_and_a_logsumexp_of_minus_infinity(xp):
    for dtype in xp.floats:
        x = xp.array([[-np.inf] * 3, [0.0, -np.inf, 0.0], [-np.inf, -1e4, -np.inf]], dtype)
        assert xp.numpy(softmax(x)).tolist() == [[0, 0, 0], [0.5, 0, 0.5], [0, 1, 0]]
        total = xp.numpy(logsumexp(x))
        assert total[0] == -np.inf
        assert np.all(np.isfinite(total[1:]))


def test_an_overflow_upstream_stays_visible(xp):
    """NaN and +∞ spoil their row, in place of passing for a distribution, and no other row."""
    x = xp.array(
        [[0.0, np.nan, 1.0], [np.nan, -np.inf, -np.inf], [np.inf, 0.0, 1.0], [np.inf] * 3, [0.0, 0.0, -np.inf]]
    )
    assert np.isnan(xp.numpy(softmax(x))).all(-1).tolist() == [True, True, True, True, False]
    total = xp.numpy(logsumexp(x))
    assert np.isnan(total).tolist() == [True, True, False, False, False]
    assert total[2:4].tolist() == [np.inf, np.inf]


def test_a_batch_of_no_rows_is_a_batch_like_any_other(xp):
    x = xp.array(np.zeros((0, 5)))
    assert xp.numpy(softmax(x)).shape == (0, 5)
    assert xp.numpy(logsumexp(x)).shape == (0,)


def test_a_row_of_no_scores_weighs_nothing(xp):
    x = xp.array(np.zeros((3, 0)))
    assert xp.numpy(softmax(x)).shape == (3, 0)
    assert xp.numpy(logsumexp(x)).tolist() == [-np.inf] * 3


def test_a_view_with_strides_gives_what_its_copy_gives(xp):
    values = 5 * np.random.default_rng(1).standard_normal((6, 14))
    view, copy = xp.array(values).mT[::2, :], xp.array(values.T[::2, :].copy())
    for axis in (0, -1):
        assert np.allclose(xp.numpy(softmax(view, axis=axis)), xp.numpy(softmax(copy, axis=axis)), rtol=1e-6, atol=0)
        assert np.allclose(
            xp.numpy(logsumexp(view, axis=axis)), xp.numpy(logsumexp(copy, axis=axis)), rtol=1e-6, atol=0
        )


def test_the_axis_that_logsumexp_sums_away_can_stay_as_one(xp):
    x = xp.array(np.random.default_rng(2).standard_normal((3, 4, 5)))
    kept, dropped = xp.numpy(logsumexp(x, axis=1, keepdims=True)), xp.numpy(logsumexp(x, axis=1))
    assert kept.shape == (3, 1, 5)
    assert np.array_equal(kept[:, 0], dropped)


def test_a_row_longer_than_float16_can_count_is_still_a_distribution(xp):
    """The sum of 70,000 ones passes float16's largest number, 65,504: the weights are 1/70,000 all the same."""
    for dtype in xp.floats:
        x, steps = xp.array(np.zeros((2, 70_000)), dtype), 2.0**-24  # float16's spacing near zero
        weights = xp.numpy(softmax(x)).astype(np.float64)
        assert np.all(np.abs(weights - 1 / 70_000) <= xp.eps(dtype) / 70_000 + steps)
        assert np.allclose(xp.numpy(logsumexp(x)).astype(np.float64), np.log(70_000), rtol=xp.eps(dtype), atol=1e-6)


@pytest.mark.parametrize("axis", [-1, 0])
def test_gradients_agree_with_finite_differences(axis):
    torch = pytest.importorskip("torch")
    x = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    mask = torch.ones(4, 5, dtype=torch.bool)
    mask[0, 1] = mask[2, 3] = False
    assert torch.autograd.gradcheck(lambda x: softmax(masked(x, mask), axis=axis), x)
    assert torch.autograd.gradcheck(lambda x: logsumexp(masked(x, mask), axis=axis), x)


def test_a_row_that_may_attend_to_nothing_has_a_gradient_of_zero():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[1.0, 2.0, 3.0], [1e4, -1e4, 0.0], [0.0, 0.0, 1.0]], requires_grad=True)
    mask = torch.tensor([[False] * 3, [True] * 3, [True, False, True]])
    for function in (softmax, logsumexp):
        (gradient,) = torch.autograd.grad((function(masked(x, mask)) ** 2)[mask.any(-1)].sum(), x, retain_graph=True)
        assert torch.isfinite(gradient).all()
        (gradient,) = torch.autograd.grad(function(masked(x, mask))[0].sum(), x)
        assert (gradient == 0).all()
