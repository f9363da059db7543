"""Temperature and top-p against transformers' warpers, and the laws by which they change a distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.arrays import softmax
from course_lib.speculation import SamplingSettings

TEMPERATURES = [0.05, 0.3, 0.7, 1.0, 1.3, 5.0]
TOP_PS = [0.01, 0.3, 0.9, 0.999, 1.0]

# Whole numbers of 64ths: their sums are exact in every dtype used here, so that no rounding decides what a nucleus holds.
shares = st.lists(st.integers(0, 64), min_size=1, max_size=12).filter(any)


def in_64ths(weights):
    """Weights scaled down to whole 64ths that sum to one."""
    parts = np.floor(np.array(weights) * 64 / sum(weights))
    parts[np.argmax(parts)] += 64 - parts.sum()
    return parts / 64


def warped(logits, temperature, top_p):
    """What transformers draws from: its warpers in the order in which `generate` applies them."""
    import torch
    from transformers.generation.logits_process import TemperatureLogitsWarper, TopPLogitsWarper

    scores = TemperatureLogitsWarper(temperature)(None, torch.asarray(logits))
    return torch.softmax(TopPLogitsWarper(top_p)(None, scores), dim=-1).numpy()


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("top_p", TOP_PS)
def test_agrees_with_transformers(xp, temperature, top_p):
    """They start from logits, we from probabilities.

    Subtracting the largest logit is off by an ε of their range, which makes as large a relative error of the probability; a
    power and a division add a few ε; 1/T multiplies all of it. A sum that normalises v entries adds v ε at most, on either side.
    """
    v = 257
    logits = np.random.default_rng(3).normal(scale=2.0, size=(7, v))
    p = xp.array(softmax(logits), "float64")
    ours = xp.numpy(SamplingSettings(temperature, top_p).apply(p))
    relative = xp.eps("float64") * ((np.ptp(logits) + 8) / min(temperature, 1) + 2 * v)
    np.testing.assert_allclose(ours, warped(logits, temperature, top_p), rtol=relative, atol=xp.tiny("float64"))


def test_of_equal_tokens_the_first_are_kept_and_transformers_keeps_as_many():
    """Which of several equal tokens are in "the smallest set" nobody defines: transformers keeps the last, we the first."""
    p = np.array([[0.125, 0.25, 0.25, 0.25, 0.125]])
    ours, theirs = SamplingSettings(top_p=0.5).apply(p), warped(np.log(p), 1.0, 0.5)
    assert ours.tolist() == [[0, 0.5, 0.5, 0, 0]]
    assert sorted(theirs[0].tolist()) == pytest.approx(sorted(ours[0].tolist()))


def test_of_equal_tokens_greedy_takes_the_first(xp):
    p = xp.array([[0.25, 0.375, 0.375], [0.25, 0.25, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    assert xp.numpy(SamplingSettings(temperature=0).apply(p)).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


@given(weights=shares, top_p=st.integers(1, 64))
def test_top_p_keeps_the_smallest_set_of_likeliest_tokens_that_reaches_it(xp, weights, top_p):
    p, top_p = in_64ths(weights), top_p / 64
    kept = xp.numpy(SamplingSettings(top_p=top_p).apply(xp.array(p))) > 0
    assert p[kept].sum() >= top_p, "the kept mass reaches top_p"
    assert p[kept].sum() - p[kept].min() < top_p, "without the least likely of them it would not"
    assert np.all(p[~kept] <= p[kept].min()), "nothing likelier was left out"
    equal = np.flatnonzero(p == p[kept].min())
    assert list(kept[equal]) == sorted(kept[equal], reverse=True), "of equal tokens the first are kept"


@given(weights=shares, top_p=st.floats(0.01, 1))
def test_top_p_leaves_ratios_alone(xp, weights, top_p):
    p = in_64ths(weights)
    cut = xp.numpy(SamplingSettings(top_p=top_p).apply(xp.array(p, "float64")))
    kept = cut > 0
    # One rounding of the division; the sum of 64ths has none.
    np.testing.assert_allclose(cut[kept] * p[kept].sum(), p[kept], rtol=2 * xp.eps("float64"))


def test_the_smallest_top_p_leaves_one_token(xp):
    p = xp.array([[0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    assert xp.numpy(SamplingSettings(top_p=1e-9).apply(p)).tolist() == [[0, 1, 0], [0, 0, 1]]


def test_one_and_one_change_nothing(xp):
    for dtype in ("float32", "float64"):
        p = xp.array(softmax(np.random.default_rng(0).normal(size=(3, 1, 40))), dtype)
        assert np.array_equal(xp.numpy(SamplingSettings().apply(p)), xp.numpy(p))


@given(weights=shares, first=st.sampled_from([0.5, 2.0, 4.0]), second=st.sampled_from([0.5, 0.25, 2.0]))
def test_temperatures_one_after_the_other_multiply(xp, weights, first, second):
    p = xp.array(in_64ths(weights), "float64")
    one_by_one = SamplingSettings(second).apply(SamplingSettings(first).apply(p))
    at_once = SamplingSettings(first * second).apply(p)
    # At most 12 entries are summed: the first result is off by 9 ε, so a ratio of two of its entries by 18 ε, and 1 / second,
    # at most 4, multiplies that. Powers, sums and divisions of the other two results add less than 28 ε.
    bound = 100 * xp.eps("float64")
    np.testing.assert_allclose(xp.numpy(one_by_one), xp.numpy(at_once), rtol=bound, atol=xp.tiny("float64"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_temperatures_end_at_greedy_and_at_uniform(xp, dtype):
    """A tiny temperature must not turn every power into 0, and so a row into NaN."""
    p = xp.array([[0.25, 0.375, 0.125, 0.25, 0.0], [1e-30, 3e-30, 0.0, 1.0, 0.0]], dtype)
    cold, hot = (xp.numpy(SamplingSettings(temperature).apply(p)) for temperature in (1e-4, 1e9))
    assert cold.tolist() == xp.numpy(SamplingSettings(0).apply(p)).tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
    # p^(1/T) is within 70 / T of 1 for p ≥ 1e-30; what is impossible stays so.
    possible = xp.numpy(p) > 0
    np.testing.assert_allclose(hot, possible / possible.sum(-1, keepdims=True), atol=1e-7 + 4 * xp.eps(dtype))
    assert np.all(hot[~possible] == 0)


def test_temperature_comes_before_top_p(xp):
    """T = ½ makes [0.5, 0.25, 0.25] into [2/3, 1/6, 1/6]: two tokens reach 0.8. Without it all three are needed."""
    p = xp.array([0.5, 0.25, 0.25], "float64")
    together = xp.numpy(SamplingSettings(temperature=0.5, top_p=0.8).apply(p))
    np.testing.assert_allclose(together, [0.8, 0.2, 0], rtol=8 * xp.eps("float64"))
    reverse = xp.numpy(SamplingSettings(temperature=0.5).apply(SamplingSettings(top_p=0.8).apply(p)))
    assert np.all(reverse > 0)


@pytest.mark.parametrize("settings", [SamplingSettings(0), SamplingSettings(0.7), SamplingSettings(1.5, 0.6)])
def test_rows_of_a_batch_are_changed_each_by_itself_and_the_argument_stays(xp, settings):
    values = softmax(2 * np.random.default_rng(1).normal(size=(2, 3, 17)))
    p = xp.array(values, "float64")
    whole = xp.numpy(settings.apply(p))
    assert np.array_equal(xp.numpy(p), values)
    rows = [[xp.numpy(settings.apply(xp.array(row, "float64"))) for row in matrix] for matrix in values]
    # 17 entries summed in another order: 17 ε; a vectorised power whose last bit differs: 2 ε.
    np.testing.assert_allclose(whole, rows, rtol=20 * xp.eps("float64"))


@pytest.mark.parametrize("settings", [SamplingSettings(0), SamplingSettings(0.7, 0.9), SamplingSettings(3.0)])
def test_sixteen_bits_come_back_as_a_distribution_in_32(xp, settings):
    for dtype in set(xp.floats) & {"float16", "bfloat16"}:
        p = xp.array(softmax(np.random.default_rng(2).normal(size=(5, 100))), dtype)
        changed = settings.apply(p)
        assert changed.dtype == xp.dtype("float32")
        again = settings.apply(changed)  # refused unless its rows sum to one
        assert again.dtype == xp.dtype("float32")


@pytest.mark.parametrize("temperature", [-0.1, float("inf"), float("nan")])
def test_a_temperature_that_is_none_is_refused(unchecked, temperature):
    with pytest.raises(ValueError, match=f"temperature is {temperature}, needs a finite number ≥ 0"):
        SamplingSettings(temperature=temperature)


@pytest.mark.parametrize("top_p", [0.0, -0.5, 1.0001, float("nan")])
def test_a_top_p_that_is_none_is_refused(unchecked, top_p):
    with pytest.raises(ValueError, match=f"top_p is {top_p}, needs a number above 0 and at most 1"):
        SamplingSettings(top_p=top_p)


@pytest.mark.parametrize("row", [[0.5, 0.4], [1.5, -0.5], [float("nan"), 1.0], [2.0, 3.0]])
def test_logits_and_other_rows_that_are_no_distribution_are_refused(xp, unchecked, row):
    for settings in (SamplingSettings(), SamplingSettings(0), SamplingSettings(0.5, 0.5)):
        with pytest.raises(ValueError, match="p has a row that is no distribution"):
            settings.apply(xp.array(row))
