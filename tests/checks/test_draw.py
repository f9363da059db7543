"""What cases draw can tell right from wrong: nothing constant, nothing sorted, the same under one seed."""

import numpy as np
import pytest

from course_lib.checks.draw import Draw

DRAWS = {
    "normal": lambda draw: draw.normal(5, 7),
    "integers": lambda draw: draw.integers(0, 10**6, 5, 7),
    "uniforms": lambda draw: draw.uniforms(5, 7),
    "probabilities": lambda draw: draw.probabilities(5, 7),
}


@pytest.mark.parametrize("make", DRAWS.values(), ids=DRAWS.keys())
def test_what_is_drawn_is_neither_constant_nor_in_order(make):
    drawn = make(Draw(3, "a"))
    assert drawn.shape == (5, 7)
    assert len(np.unique(drawn)) == 35
    assert not np.all(np.diff(drawn.ravel()) > 0)
    for axis in (0, 1):
        assert not np.any(np.all(np.diff(drawn, axis=axis) > 0, axis=axis))


@pytest.mark.parametrize("make", DRAWS.values(), ids=DRAWS.keys())
def test_a_seed_and_a_name_decide_what_is_drawn(make):
    assert make(Draw(3, "a")).tolist() == make(Draw(3, "a")).tolist()
    assert not np.any(make(Draw(3, "a")) == make(Draw(4, "a")))
    assert not np.any(make(Draw(3, "a")) == make(Draw(3, "b")))
    draw = Draw(3, "a")
    assert not np.any(make(draw) == make(draw))


def test_normal_numbers_have_the_scale_and_dtype_asked_for():
    drawn = Draw(1).normal(101, 99, scale=30.0, dtype="float16")
    assert drawn.dtype == np.float16
    # The standard deviation of n normal numbers strays from σ by σ/√(2n): five times that is passed once in 1.7 million.
    assert abs(drawn.astype("f8").std() - 30) < 5 * 30 / np.sqrt(2 * drawn.size)
    assert Draw(1).normal(3).dtype == np.float32


def test_whole_numbers_reach_both_ends_and_not_beyond():
    assert set(Draw(1).integers(-2, 3, 200).tolist()) == {-2, -1, 0, 1, 2}
    one = Draw(1).integers(4, 5)
    assert type(one) is int
    assert one == 4


def test_probabilities_are_distributions_along_the_last_axis():
    for concentration in (0.05, 1.0, 50.0):
        drawn = Draw(1).probabilities(4, 3, 11, concentration=concentration)
        assert drawn.shape == (4, 3, 11)
        assert np.all(drawn >= 0)
        np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-12)


def test_every_option_is_chosen_sooner_or_later():
    draw = Draw(1)
    assert {draw.choice(("a", None, 7)) for _ in range(100)} == {"a", None, 7}
