"""The array helpers keep library, dtype and device, write into nothing, and say what does not fit."""

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from course_lib.arrays import (
    arange_like,
    array_namespace,
    like,
    logsumexp,
    masked,
    sample,
    softmax,
    take_last,
    to_numpy,
    uniforms,
)


def test_no_mask_leaves_the_scores_as_they_are(xp):
    x = xp.array([[1.0, 2.0]])
    assert masked(x, None) is x


def test_a_mask_broadcasts_and_puts_minus_infinity_where_it_is_false(xp):
    for dtype in xp.floats:
        values = np.arange(12.0).reshape(2, 2, 3)
        x, mask = xp.array(values, dtype), np.array([[True, False, True], [False, False, False]])
        hidden = masked(x, xp.array(mask, "bool"))
        assert hidden.dtype == xp.dtype(dtype)
        assert np.array_equal(xp.numpy(hidden), np.where(mask, values, -np.inf))


def test_a_constant_takes_the_dtype_of_the_array_it_meets(xp):
    for dtype in xp.floats:
        x = xp.array([1.0, 2.0], dtype)
        for values in (0.5, [0.5, 0.25], np.float64(0.5), np.array([0.5, 0.25])):
            constant = like(x, values)
            assert constant.dtype == x.dtype
            assert np.array_equal(xp.numpy(constant), values)
            assert (x / constant).dtype == x.dtype
        assert like(x, [1, 2], dtype=xp.dtype("int64")).dtype == xp.dtype("int64")


def test_a_constant_shares_no_memory_with_what_it_came_from(xp):
    values = np.array([1.0, 2.0])
    constant = like(xp.array(0.0, "float64"), values)
    values[0] = 9
    assert xp.numpy(constant).tolist() == [1, 2]
    original = xp.array([1.0, 2.0], "float64")
    copy = like(original, original)
    copy[0] = 9
    assert xp.numpy(original).tolist() == [1, 2]


def test_arange_counts_in_int64_beside_any_array(xp):
    for dtype in xp.floats:
        x = xp.array([1.0], dtype)
        assert arange_like(x, 5).dtype == xp.dtype("int64")
        assert xp.numpy(arange_like(x, 5)).tolist() == [0, 1, 2, 3, 4]
        assert xp.numpy(arange_like(x, 2, 9, 3)).tolist() == [2, 5, 8]
        assert arange_like(x, 5, dtype=x.dtype).dtype == x.dtype


@pytest.mark.parametrize("shape", [(5,), (1, 7), (2, 3, 5)])
def test_take_last_picks_one_entry_of_each_row(xp, shape):
    rng = np.random.default_rng(4)
    values, index = rng.standard_normal(shape), rng.integers(0, shape[-1], shape[:-1])
    expected = np.take_along_axis(values, index[..., None], axis=-1)[..., 0]
    for dtype in ("int32", "int64"):
        picked = take_last(xp.array(values, "float64"), xp.array(index, dtype))
        assert np.array_equal(xp.numpy(picked), expected)


def test_take_last_sends_the_gradient_to_the_entry_it_picked():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    take_last(x, torch.tensor([2, 0])).sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_every_array_can_become_a_numpy_array(xp):
    for dtype in [*xp.floats, "int64", "bool"]:
        x = xp.array([[0, 1, 1], [1, 0, 1]], dtype)
        assert type(to_numpy(x)) is np.ndarray
        assert np.array_equal(to_numpy(x), [[0, 1, 1], [1, 0, 1]])
        assert np.array_equal(to_numpy(x.mT), [[0, 1], [1, 0], [1, 1]])


def test_a_tensor_that_wants_its_gradient_can_become_a_numpy_array():
    torch = pytest.importorskip("torch")
    assert to_numpy(torch.ones(3, requires_grad=True) * 2).tolist() == [2, 2, 2]


def test_the_namespace_of_an_array_follows_the_standard(xp):
    assert hasattr(array_namespace(xp.array([1.0])), "take_along_axis")
    assert array_namespace(xp.array([1.0]), xp.array([2.0])) is array_namespace(xp.array([1.0]))


def test_everything_stays_on_the_device_of_its_input():
    """array-api-strict pretends to have a second device and refuses to mix the two: a GPU for those who have none."""
    strict = pytest.importorskip("array_api_strict")
    elsewhere = strict.Device("device1")
    x = strict.asarray([[0.0, 1.0, 2.0], [3.0, -1.0, 0.0]], dtype=strict.float32, device=elsewhere)
    results = [
        softmax(x),
        logsumexp(x),
        masked(x, x > 0),
        like(x, [1.0, 2.0]),
        arange_like(x, 3),
        take_last(x, strict.asarray([0, 2], device=elsewhere)),
        sample(softmax(x), strict.asarray([0.1, 0.9], dtype=strict.float32, device=elsewhere)),
        uniforms(np.random.default_rng(0), (2, 3), x),
    ]
    assert [result.device for result in results] == [elsewhere] * len(results)


def test_no_helper_writes_into_what_it_was_given(xp):
    before = np.random.default_rng(3).random((3, 5)).astype(np.float32)
    x, u, index, mask = xp.array(before), xp.array([0.1, 0.5, 0.9]), xp.array([4, 0, 2], "int64"), before > 0.5
    softmax(x), logsumexp(x), masked(x, xp.array(mask, "bool")), sample(x, u), take_last(x, index), to_numpy(x)
    assert np.array_equal(xp.numpy(x), before)
    assert xp.numpy(index).tolist() == [4, 0, 2]


# Errors name the argument, what it had and what it needs

floats, whole = np.ones((2, 3)), ("int64", np.ones((2, 3)))


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (softmax, [whole], "x has dtype .*int64"),
        (logsumexp, [whole], "x has dtype .*int64"),
        (softmax, [floats, 2], r"axis is 2.*\(2, 3\)"),
        (logsumexp, [floats, -3], r"axis is -3.*\(2, 3\)"),
        (softmax, [np.ones(())], r"axis is -1.*\(\)"),
        (masked, [floats, floats], "mask has dtype .*float32"),
        (masked, [floats, ("bool", np.ones(2))], r"mask has shape \(2,\).*\(2, 3\)"),
        (masked, [np.ones((1, 3)), ("bool", np.ones((2, 3)))], r"mask has shape \(2, 3\).*\(1, 3\)"),
        (sample, [floats, np.zeros(3)], r"uniforms has shape \(3,\).*\(?2"),
        (sample, [floats, np.zeros((2, 1))], r"uniforms has shape \(2, 1\)"),
        (sample, [floats, np.zeros(())], r"uniforms has shape \(\)"),
        (sample, [np.ones(()), np.zeros(())], r"p has shape \(\)"),
        (sample, [np.ones((2, 0)), np.zeros(2)], r"p has shape \(2, 0\)"),
        (sample, [floats, np.array([0.0, 1.0])], "uniforms has entries outside"),
        (sample, [floats, np.array([-0.1, 0.5])], "uniforms has entries outside"),
        (sample, [floats, np.array([np.nan, 0.5])], "uniforms has entries outside"),
        (sample, [np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros(2)], "p has a row"),
        (sample, [np.array([[1.0, -1.0], [1.0, 0.0]]), np.zeros(2)], "p has a row"),
        (sample, [np.array([[1.0, np.nan], [1.0, 0.0]]), np.zeros(2)], "p has a row"),
        (sample, [np.array([[1.0, np.inf], [1.0, 0.0]]), np.zeros(2)], "p has a row"),
        (take_last, [floats, ("int64", np.zeros(3))], r"index has shape \(3,\).*\(2, 3\)"),
        (take_last, [floats, np.zeros(2)], "index has dtype .*float32"),
        (take_last, [floats, ("int64", np.array([0, 3]))], r"index has entries outside \[0, 3\)"),
        (take_last, [floats, ("int64", np.array([0, -1]))], "index has entries outside"),
    ],
)
def test_an_argument_that_does_not_fit_is_named_with_what_it_had(xp, unchecked, function, arguments, said):
    def given(argument):
        if isinstance(argument, int):
            return argument
        dtype, values = argument if isinstance(argument, tuple) else ("float32", argument)
        return xp.array(values, dtype)

    with pytest.raises(ValueError, match=said):
        function(*map(given, arguments))


def test_uniforms_says_what_may_be_a_generator_and_what_they_may_resemble(xp, unchecked):
    with pytest.raises(ValueError, match="rng has type int"):
        uniforms(7, (2,), xp.array([0.0]))
    with pytest.raises(ValueError, match=r"like has dtype .*int64"):
        uniforms(np.random.default_rng(0), (2,), xp.array([0], "int64"))


def test_a_shape_that_contradicts_its_annotation_is_caught_while_tests_run(xp):
    with pytest.raises(TypeCheckError):
        sample(xp.array(np.ones((2, 3))), xp.array(np.zeros(3)))
