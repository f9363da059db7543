"""Rotation against complex numbers in float64, and what it promises: distances count, lengths stay, turns add up.

Rounding: cosine, sine, two products and a sum are at most four roundings of numbers no longer than the pair, in the dtype in
which they are turned, and one into x's dtype; the reference has as many in float64. A position m adds m·2⁻⁵² to an angle.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.positions import (
    Frequencies,
    angles,
    inverse_frequencies,
    regroup,
    rope,
    rotate,
    rotation,
)

LAYOUTS = ["half", "interleaved"]
WIDE = {"float64": "float64", "float32": "float32", "float16": "float32", "bfloat16": "float32"}
layouts = st.sampled_from(LAYOUTS)
seeds = st.integers(0, 2**31)


def plain(d: int, theta: float = 10_000.0) -> Frequencies:
    return Frequencies(inverse_frequencies(d, theta))


def turned_as_complex(x: np.ndarray, positions: np.ndarray, frequencies: Frequencies, layout: str) -> np.ndarray:
    """Each pair of x, of shape (…, n, d), as a complex number times e^{imθ}; positions (…, n) broadcast from the right."""
    pairs = len(frequencies.inverse)
    where = (
        (slice(0, pairs), slice(pairs, 2 * pairs))
        if layout == "half"
        else (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2))
    )
    z = (x[..., where[0]] + 1j * x[..., where[1]]) * np.exp(1j * positions[..., None] * frequencies.inverse)
    result = x.astype(np.float64).copy()
    result[..., where[0]], result[..., where[1]] = (
        z.real * frequencies.attention_factor,
        z.imag * frequencies.attention_factor,
    )
    return result


def rounding(xp, dtype: str, largest: float, position: float = 0) -> float:
    """What the module's docstring allows, for pairs whose features are at most `largest`."""
    return 2**0.5 * largest * (5 * xp.eps(WIDE[dtype]) + xp.eps(dtype) + position * 2**-52)


def as_float64(xp, x) -> np.ndarray:
    return xp.numpy(x).astype(np.float64)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("d_head", "d"), [(2, 2), (10, 10), (10, 6), (7, 4), (64, 16)])
def test_every_pair_is_turned_by_its_own_angle_and_the_rest_passes(xp, layout, d_head, d):
    """In every dtype, at scattered positions, with an attention factor; nothing is written into x."""
    rng = np.random.default_rng(1)
    where = rng.integers(-50, 5000, 9)
    frequencies = Frequencies(inverse_frequencies(d, 500.0), attention_factor=1.25)
    for dtype in xp.floats:
        x = xp.array(rng.normal(size=(3, 9, d_head)), dtype)
        before = as_float64(xp, x).copy()
        result = rotate(x, rotation(xp.array(where, "int64"), frequencies, x), layout)
        assert result.dtype == x.dtype
        assert np.array_equal(as_float64(xp, x), before)
        expected = turned_as_complex(before, where, frequencies, layout)
        bound = 1.25 * rounding(xp, dtype, np.abs(before).max(), 5000)
        assert np.abs(as_float64(xp, result) - expected).max() <= bound
        assert np.array_equal(as_float64(xp, result)[..., d:], before[..., d:])


def test_the_worked_example_of_two_pairs(xp):
    """θ = 4, d = 4: angles of 1 and ½ a position. At position π the first pair is upside down, the second a quarter on."""
    assert np.allclose(inverse_frequencies(4, 4.0), [1, 0.5], rtol=0, atol=2**-52)
    x = xp.array([[1.0, 2.0, 3.0, 4.0]], "float64")
    by = rotation(xp.array([np.pi], "float64"), plain(4, 4.0), x)
    assert np.allclose(xp.numpy(rotate(x, by, "half")), [[-1, -4, -3, 2]], rtol=0, atol=1e-14)
    assert np.allclose(xp.numpy(rotate(x, by, "interleaved")), [[-1, -2, -4, 3]], rtol=0, atol=1e-14)


@given(seed=seeds, layout=layouts, shift=st.integers(-(2**20), 2**20))
def test_scores_see_distances_and_no_common_shift(xp, seed, layout, shift):
    """d products of turned features: 8ε for the turns of both and dε for the sum, of the product of lengths."""
    rng, d = np.random.default_rng(seed), 12
    m, n = (xp.array(rng.integers(0, 300, size), "int64") for size in (5, 7))
    for dtype in ("float32", "float64"):
        q, k = (xp.array(rng.normal(size=(size, d)), dtype) for size in (5, 7))

        def scores(c, q=q, k=k):
            left = rotate(q, rotation(m + c, plain(d), q), layout)
            return as_float64(xp, left @ rotate(k, rotation(n + c, plain(d), k), layout).mT)

        lengths = np.linalg.norm(as_float64(xp, q), axis=1)[:, None] * np.linalg.norm(as_float64(xp, k), axis=1)
        bound = ((20 + 2 * d) * xp.eps(dtype) + 2 * (abs(shift) + 300) * 2**-52) * lengths
        assert np.all(np.abs(scores(shift) - scores(0)) <= bound)


@given(seed=seeds, layout=layouts)
def test_lengths_stay_and_position_zero_is_the_identity(xp, seed, layout):
    rng, d = np.random.default_rng(seed), 10
    x = xp.array(rng.normal(size=(2, 6, d)), "float64")
    where = xp.array([0, *rng.integers(-(2**20), 2**20, 5)], "int64")
    result = xp.numpy(rotate(x, rotation(where, plain(d), x), layout))
    assert np.array_equal(result[:, 0], xp.numpy(x)[:, 0])
    lengths = np.linalg.norm(xp.numpy(x), axis=-1)
    assert np.all(np.abs(np.linalg.norm(result, axis=-1) - lengths) <= 16 * 2**-52 * lengths)


@given(seed=seeds, layout=layouts, m=st.integers(-5000, 5000), n=st.integers(-5000, 5000))
def test_turns_add_up_so_a_turned_key_can_be_moved(xp, seed, layout, m, n):
    x = xp.array(np.random.default_rng(seed).normal(size=(1, 8)), "float64")

    def turn(x, position):
        return rotate(x, rotation(xp.array([position], "int64"), plain(8), x), layout)

    twice, once = xp.numpy(turn(turn(x, m), n)), xp.numpy(turn(x, m + n))
    bound = rounding(xp, "float64", np.abs(xp.numpy(x)).max()) * 3 + 3 * 10_000 * 2**-52 * np.abs(xp.numpy(x)).max()
    assert np.abs(twice - once).max() <= bound
    assert np.abs(xp.numpy(turn(turn(x, m), -m)) - xp.numpy(x)).max() <= bound


@given(seed=seeds, d=st.sampled_from([2, 6, 10]))
def test_the_layouts_are_one_rotation_of_features_in_another_order(xp, seed, d):
    """To the last bit, as each feature goes through the same operations; scores, whose sums are reordered, to dε."""
    rng = np.random.default_rng(seed)
    q, k = (xp.array(rng.normal(size=(2, 5, 10))) for _ in range(2))
    where = xp.array(rng.integers(0, 3000, 5), "int64")
    by = rotation(where, plain(d), q)
    for source, target in (LAYOUTS, LAYOUTS[::-1]):
        mine = rotate(q, by, source)
        theirs = regroup(rotate(regroup(q, source, target, d), by, target), target, source, d)
        assert np.array_equal(xp.numpy(mine), xp.numpy(theirs))
        assert np.array_equal(xp.numpy(regroup(regroup(q, source, target, d), target, source, d)), xp.numpy(q))
    pair = [regroup(x, "interleaved", "half", d) for x in (q, k)]
    one = as_float64(xp, rotate(q, by, "interleaved") @ rotate(k, by, "interleaved").mT)
    other = as_float64(xp, rotate(pair[0], by, "half") @ rotate(pair[1], by, "half").mT)
    assert np.abs(one - other).max() <= 20 * xp.eps("float32") * np.abs(xp.numpy(q)).max() ** 2 * 10


def test_regrouping_names_the_features_one_by_one(xp):
    x = xp.array([[0.0, 1, 2, 3, 4, 5, 6]])
    assert xp.numpy(regroup(x, "interleaved", "half", 6)).tolist() == [[0, 2, 4, 1, 3, 5, 6]]
    assert xp.numpy(regroup(x, "half", "interleaved", 6)).tolist() == [[0, 3, 1, 4, 2, 5, 6]]


# Which position belongs to which token


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_sequence_has_its_own_positions_also_when_there_are_as_many_heads(xp, layout):
    """Three sequences and three heads: aligned from the right, positions of sequences would become those of heads."""
    rng = np.random.default_rng(2)
    x, where = rng.normal(size=(3, 3, 4, 8)), rng.integers(0, 900, (3, 4))
    values = xp.array(x, "float64")
    result = xp.numpy(rotate(values, rotation(xp.array(where, "int64"), plain(8), values), layout))
    expected = turned_as_complex(x, where[:, None, :], plain(8), layout)
    assert np.abs(result - expected).max() <= rounding(xp, "float64", np.abs(x).max(), 900)


HEADS = [
    ((4,), (4, 6)),
    ((4,), (2, 3, 4, 6)),
    ((2, 4), (2, 4, 6)),
    ((2, 4), (2, 5, 4, 6)),
    ((1, 4), (2, 5, 4, 6)),
    ((2, 5, 4), (2, 5, 4, 6)),
    ((2, 1, 4), (2, 5, 4, 6)),
]


@pytest.mark.parametrize(("positions", "x"), HEADS)
def test_positions_lead_and_heads_follow(xp, positions, x):
    rng = np.random.default_rng(3)
    where, values = rng.integers(0, 500, positions), rng.normal(size=x)
    given = xp.array(values, "float64")
    result = xp.numpy(rotate(given, rotation(xp.array(where, "int64"), plain(6), given)))
    middle = where.reshape(*positions[:-1], *(1,) * (len(x) - 1 - len(positions)), positions[-1])
    assert np.abs(result - turned_as_complex(values, middle, plain(6), "half")).max() <= rounding(xp, "float64", 5, 500)


def test_tokens_one_at_a_time_are_tokens_together(xp):
    """Decoding with a cache: the position is given, not counted from the tokens at hand."""
    x = xp.array(np.random.default_rng(4).normal(size=(2, 7, 8)))
    together = xp.numpy(rotate(x, rotation(xp.array(range(7), "int64"), plain(8), x)))
    for t in range(7):
        one = rotate(x[:, t : t + 1, :], rotation(xp.array([t], "int64"), plain(8), x))
        assert np.array_equal(xp.numpy(one)[:, 0], together[:, t])


def test_queries_and_keys_may_differ_in_heads(xp):
    rng = np.random.default_rng(5)
    q, k = xp.array(rng.normal(size=(2, 6, 5, 8))), xp.array(rng.normal(size=(2, 2, 5, 8)))
    where = xp.array(rng.integers(0, 100, (2, 5)), "int64")
    for layout in LAYOUTS:
        both = rope(q, k, where, plain(8), layout)
        for x, turned in zip((q, k), both, strict=True):
            assert np.array_equal(xp.numpy(turned), xp.numpy(rotate(x, rotation(where, plain(8), x), layout)))


def test_a_position_between_two_is_what_interpolation_means(xp):
    """Positions m/s turn as frequencies θ/s do."""
    x = xp.array(np.random.default_rng(6).normal(size=(9, 8)), "float64")
    squeezed = rotate(x, rotation(xp.array(np.arange(9) / 4, "float64"), plain(8), x))
    slowed = rotate(x, rotation(xp.array(np.arange(9), "int64"), Frequencies(inverse_frequencies(8) / 4), x))
    assert np.array_equal(xp.numpy(squeezed), xp.numpy(slowed))  # 4 is a power of two


# Precision


@pytest.mark.parametrize("length", [4096, 2**17, 2**20])
def test_scores_of_float32_angles_drift_with_the_position_and_those_of_float64_do_not(length):
    """The same q and k at the same distances, near 0 and near `length`. A product of float32 is off by half of ε of itself.

    What was measured stands in the docstring of `angles`: 0.06 radians at 2²⁰, 0.0002 at 4,096.
    """
    d, n, eps = 128, 64, 2**-23
    inverse, late = inverse_frequencies(d), np.arange(length - n, length)
    lost = np.abs(angles(late, inverse, "float32").astype(np.float64) - angles(late, inverse)).max()
    assert 0.1 * eps * length <= lost <= eps * length * (1 + eps)
    x = np.ones((n, d))

    def scores(positions, precision):
        turned = rotate(x, rotation(positions, Frequencies(inverse), x, precision))
        return turned @ turned.T / d

    near, exact = (np.abs(scores(late, p) - scores(np.arange(n), p)).max() for p in ("float32", "float64"))
    assert exact <= 4 * length * 2**-52
    assert near >= 1000 * exact


def test_positions_in_sixteen_bits_are_lost(xp):
    if "bfloat16" in xp.floats:
        where = xp.array([256, 257, 258], "int64")
        turns = as_float64(xp, angles(where, inverse_frequencies(2), "bfloat16"))[:, 0]
        assert turns.tolist() == [256, 256, 258]


def test_sixteen_bits_are_turned_in_thirty_two_and_rounded_once(xp):
    """Half an ε of the result, and what 32 bits lose; with cosine and sine in 16 bits it would be three times as much."""
    for dtype in set(xp.floats) & {"float16", "bfloat16"}:
        x = xp.array(np.random.default_rng(7).normal(size=(500, 16)), dtype)
        where = np.arange(500) * 37
        result = as_float64(xp, rotate(x, rotation(xp.array(where, "int64"), plain(16), x)))
        expected = turned_as_complex(as_float64(xp, x), where, plain(16), "half")
        bound = xp.eps(dtype) / 2 * np.abs(expected) + rounding(xp, "float32", 5) + xp.tiny(dtype) * xp.eps(dtype)
        assert np.all(np.abs(result - expected) <= bound)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_is_the_rotation_back(layout):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(8)
    x, upstream = (torch.tensor(rng.normal(size=(2, 5, 10))) for _ in range(2))
    x.requires_grad_()
    where = torch.tensor(rng.integers(0, 800, 5))
    rotate(x, rotation(where, plain(8), x), layout).backward(upstream)
    back = rotate(upstream, rotation(-where, plain(8), upstream), layout)
    assert torch.abs(x.grad - back).max() <= 10 * 2**-52 * torch.abs(upstream).max()


# What is refused


@pytest.mark.parametrize(
    ("d", "theta"), [(0, 1e4), (3, 1e4), (-2, 1e4), (4, 0), (4, -1), (4, float("inf")), (4, float("nan"))]
)
def test_features_that_make_no_pairs_and_bases_that_are_none_are_refused(unchecked, d, theta):
    with pytest.raises(ValueError, match=r"^(d is|theta is)"):
        inverse_frequencies(d, theta)


@pytest.mark.parametrize(
    ("positions", "x"),
    [((3,), (4, 6)), ((1,), (4, 6)), ((4,), (6,)), ((2, 4), (4, 6)), ((3, 4), (2, 4, 6)), ((5, 4), (2, 5, 4, 6))],
)
def test_positions_that_fit_no_tokens_are_refused(xp, unchecked, positions, x):
    """A single position for several tokens too: broadcast, it would put a whole prompt at one place."""
    x = xp.array(np.zeros(x))
    with pytest.raises(ValueError, match=r"^positions has shape"):
        rotate(x, rotation(xp.array(np.zeros(positions), "int64"), plain(6), x))


def test_more_pairs_than_features_unknown_layouts_and_precisions_are_refused(xp, unchecked):
    x, where = xp.array(np.zeros((2, 4))), xp.array([0, 1], "int64")
    with pytest.raises(ValueError, match="the rotation has 3 pairs"):
        rotate(x, rotation(where, plain(6), x))
    with pytest.raises(ValueError, match=r"^layout is 'neox', needs to be one of 'interleaved', 'half'"):
        rotate(x, rotation(where, plain(4), x), "neox")
    with pytest.raises(ValueError, match=r"^target is 'pairs'"):
        regroup(x, "half", "pairs")
    with pytest.raises(ValueError, match=r"^d is 5"):
        regroup(x, "half", "interleaved", 5)
    for precision in ("float8", "int64", "float_power"):
        with pytest.raises(ValueError, match=r"^precision is"):
            angles(where, inverse_frequencies(4), precision)
    with pytest.raises(ValueError, match=r"^positions has no axis"):
        angles(xp.array(3, "int64"), inverse_frequencies(4))
