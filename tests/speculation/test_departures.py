"""What departs from p: rounding against torch's quantiser, the fit against scipy's singular values, the table against itself."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from course_lib.speculation import SamplingSettings, acceptance_rate, total_variation
from course_lib.speculation.departures import (
    BITS,
    SAMPLING,
    LogBilinear,
    departures,
    departures_of,
    round_to_nearest,
)

V, SMOOTHING = 12, 20.0


def chain(n: int, seed: int = 0) -> np.ndarray:
    """A text from a random Markov chain over V tokens, the last of which never comes."""
    rng = np.random.default_rng(seed)
    rows = np.cumsum(rng.dirichlet(np.full(V - 1, 0.3), V - 1), axis=-1)
    ids = [0]
    for u in rng.random(n - 1):
        ids.append(min(int(np.searchsorted(rows[ids[-1]], u)), V - 2))
    return np.array(ids)


TEXT = chain(3000)


# Fewer bits


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_rounding_is_that_of_torchs_quantiser(bits):
    """One scale for each row, integers from −(2^(b−1) − 1) up. The quantiser multiplies by 1/scale in float32: ε of a step."""
    torch = pytest.importorskip("torch")
    weights = torch.tensor(np.random.default_rng(1).standard_normal((40, 33)), dtype=torch.float32)
    top = 2 ** (bits - 1) - 1
    scale = weights.abs().max(-1).values / top
    theirs = torch.fake_quantize_per_channel_affine(weights, scale, torch.zeros(40, dtype=torch.int32), 0, -top, top)
    ours = round_to_nearest(weights, bits)
    assert float((ours - theirs).abs().max()) <= 4 * 2**-23 * float(weights.abs().max())


@given(seed=st.integers(0, 2**31), bits=st.integers(2, 8), axis=st.sampled_from([0, 1, -1]))
def test_rounded_weights_are_few_lie_near_and_stay_when_rounded_again(xp, seed, bits, axis):
    rng = np.random.default_rng(seed)
    for dtype in {"float64", "float32"} & set(xp.floats):
        weights = xp.array(rng.standard_normal((5, 7)) * 10.0 ** rng.integers(-3, 4), dtype)
        before = xp.numpy(weights).copy()
        result = round_to_nearest(weights, bits, axis)
        assert result.dtype == xp.dtype(dtype)
        rounded = xp.numpy(result)
        assert np.array_equal(xp.numpy(weights), before)
        scale = np.abs(before).max(axis, keepdims=True) / (2 ** (bits - 1) - 1)
        # Scale, quotient and product are each right to half an ε, and a quotient is at most 2^(b − 1).
        slack = 2 * 2**bits * xp.eps(dtype)
        assert np.all(np.abs(rounded - before) <= scale * (0.5 + slack))
        steps = rounded / scale
        assert np.all(np.abs(steps - np.round(steps)) <= slack)
        assert np.abs(np.round(steps)).max() == 2 ** (bits - 1) - 1
        again = xp.numpy(round_to_nearest(result, bits, axis))
        assert np.all(np.abs(again - rounded) <= slack * scale)
        assert np.array_equal(xp.numpy(round_to_nearest(-weights, bits, axis)), -rounded)


def test_by_hand_and_a_row_of_zeros_stays_one(xp):
    for dtype in xp.floats:
        weights = xp.array([[1.5, -0.4, 0.6, 0.0], [0, 0, 0, 0], [-3, 1, 0, 2]], dtype)
        expected = [[1.5, -0.5, 0.5, 0], [0, 0, 0, 0], [-3, 1, 0, 2]]  # three bits: steps of a third of the largest
        assert xp.numpy(round_to_nearest(weights, 3)).tolist() == expected


def test_rows_have_scales_of_their_own(xp):
    weights = xp.array([[1000.0, 3.0], [1.0, 0.003]], "float64")
    assert xp.numpy(round_to_nearest(weights, 8))[1] == pytest.approx([1, 0], abs=1e-12)
    assert xp.numpy(round_to_nearest(weights, 8, axis=0))[:, 1] == pytest.approx([3, 0], abs=1e-12)
    assert xp.numpy(round_to_nearest(weights, 12))[1, 1] == pytest.approx(6 / 2047, rel=1e-12)


# The model


def smoothed(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that the model is to come close to, counted one by one, and how often each context came."""
    counts = np.zeros((V, V))
    for a, b in pairwise(ids):
        counts[a, b] += 1
    frequency = (np.bincount(ids, minlength=V) + 1) / (len(ids) + V)
    return (counts + SMOOTHING * frequency) / (counts.sum(1, keepdims=True) + SMOOTHING), counts.sum(1)


def test_at_full_rank_the_model_has_the_smoothed_frequencies():
    rows, _ = smoothed(TEXT)
    model = LogBilinear.fit(TEXT, V, V)
    assert np.abs(model.rows(np.arange(V)) - rows).max() <= 1e-12
    assert np.all(model.rows(np.array([V - 1])) > 0)  # a token that never came has a row, too


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_at_a_lower_rank_no_model_comes_closer_in_weighted_squares(rank):
    """Eckart & Young: what is left are the singular values beyond the rank, here as scipy finds them."""
    rows, times = smoothed(TEXT)
    logs = np.log(rows) - np.log(rows).mean(1, keepdims=True)
    weight = np.sqrt(times + SMOOTHING)[:, None]
    values = scipy.linalg.svdvals(weight * logs)
    model = LogBilinear.fit(TEXT, V, rank)
    assert model.embedding.shape == model.output.shape == (V, rank)
    left = np.sum((weight * (logs - model.embedding @ model.output.T)) ** 2)
    assert left == pytest.approx(np.sum(values[rank:] ** 2), rel=1e-10)
    logits = model.embedding @ model.output.T
    assert np.abs(model.rows(np.arange(V)) - np.exp(logits) / np.exp(logits).sum(1, keepdims=True)).max() <= 1e-14


def test_rounding_a_model_rounds_both_its_matrices():
    model = LogBilinear.fit(TEXT, V, 5)
    rounded = model.quantised(4)
    assert np.array_equal(rounded.embedding, round_to_nearest(model.embedding, 4))
    assert np.array_equal(rounded.output, round_to_nearest(model.output, 4))


# The table


MODEL = LogBilinear.fit(TEXT, V, 6)
CONTEXTS = np.array([0, 3, 3, 3, 7, 1, 0, 10])
TABLE = departures_of(MODEL, CONTEXTS)
P = MODEL.rows(CONTEXTS)


def test_only_speculation_leaves_the_distribution_as_it_is_whatever_the_draft():
    by_kind = {kind: [row for row in TABLE if row.kind == kind] for kind in ("sampling", "weights", "speculation")}
    assert sum(map(len, by_kind.values())) == len(TABLE)
    assert all(row.largest <= 1e-12 for row in by_kind["speculation"])
    assert all(row.mean > 1e-3 and row.acceptance is None for row in by_kind["sampling"] + by_kind["weights"])
    assert all(0 < row.acceptance < 1 for row in by_kind["speculation"])
    assert [len(by_kind[kind]) for kind in by_kind] == [len(SAMPLING), len(BITS), 3]


def test_each_number_is_the_total_variation_over_the_contexts_each_as_often_as_it_comes():
    emitted = [settings.apply(P) for settings in SAMPLING.values()] + [MODEL.quantised(b).rows(CONTEXTS) for b in BITS]
    for row, changed in zip(TABLE[: len(emitted)], emitted, strict=True):
        distance = total_variation(P, changed)
        assert row.mean == pytest.approx(distance.mean(), rel=1e-12)
        assert row.largest == pytest.approx(distance.max(), rel=1e-12)


def test_drafts_are_accepted_as_often_as_they_share_the_targets_mass():
    three_bit, uniform, upside_down = (row.acceptance for row in TABLE if row.kind == "speculation")
    assert three_bit == pytest.approx(acceptance_rate(P, MODEL.quantised(3).rows(CONTEXTS)).mean(), rel=1e-12)
    assert uniform == pytest.approx(np.minimum(P, 1 / V).sum(-1).mean(), rel=1e-12)
    exchanged = np.empty_like(P)
    for row, p in zip(exchanged, P, strict=True):
        row[np.argsort(p)] = np.sort(p)[::-1]
    assert upside_down == pytest.approx(acceptance_rate(P, exchanged).mean(), rel=1e-12)
    assert three_bit > uniform > upside_down


def test_the_fewer_bits_the_farther_from_the_model_and_no_change_is_no_departure():
    rows = departures_of(MODEL, CONTEXTS, {"as it is": SamplingSettings()}, (16, 8, 4, 3, 2))
    assert rows[0].largest == 0
    means = [row.mean for row in rows if row.kind == "weights"]
    assert means == sorted(means)
    assert means[0] < 1e-3


def test_a_departure_reads_as_one_line():
    for row in TABLE:
        assert "\n" not in str(row)
        assert row.name in str(row)
        assert ("drafts accepted" in str(row)) == (row.kind == "speculation")


def test_what_is_measured_was_held_out_of_the_fit():
    """The first nine tenths are fitted and the rest gives the contexts: changing the rest leaves the model as it was."""
    table = departures(TEXT, V, rank=6, n_contexts=50)
    model = LogBilinear.fit(TEXT[:2700], V, 6)
    rest = TEXT[2700:]
    spaced = rest[np.linspace(0, 299, 50).astype(int)]
    assert table == departures_of(model, spaced)
    all_of_it = departures(TEXT, V, rank=6, n_contexts=10_000)
    assert all_of_it == departures_of(model, rest)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: round_to_nearest(np.ones(3), 1), r"^bits is 1, needs to be from 2 to 16"),
        (lambda: round_to_nearest(np.ones(3), 17), r"^bits is 17"),
        (lambda: round_to_nearest(np.array([1.0, np.nan]), 8), r"^weights has entries"),
        (lambda: round_to_nearest(np.array([1.0, np.inf]), 8), r"^weights has entries"),
        (lambda: LogBilinear(np.ones((3, 2)), np.ones((4, 2))), r"^output has shape \(4, 2\)"),
        (lambda: LogBilinear(np.ones(3), np.ones(3)), r"^output has shape \(3,\)"),
        (lambda: LogBilinear.fit(np.array([1]), V, 2), r"^ids has 1 entries"),
        (lambda: LogBilinear.fit(np.array([1, V]), V, 2), r"^ids has 2 entries, needs .* in \[0, 12\)"),
        (lambda: LogBilinear.fit(np.array([1, -1]), V, 2), r"^ids has 2 entries"),
        (lambda: LogBilinear.fit(TEXT, V, 0), r"^rank is 0"),
        (lambda: LogBilinear.fit(TEXT, V, V + 1), r"^rank is 13"),
        (lambda: LogBilinear.fit(TEXT, V, 2, 0.0), r"^smoothing is 0.0"),
        (lambda: LogBilinear.fit(TEXT, V, 2, float("nan")), r"^smoothing is nan"),
        (lambda: MODEL.quantised(1), r"^bits is 1"),
        (lambda: departures_of(MODEL, np.array([], int)), r"^contexts has 0 entries"),
        (lambda: departures_of(MODEL, np.array([0, V])), r"^contexts has 2 entries"),
        (lambda: departures(TEXT, V, n_contexts=0), r"^n_contexts is 0"),
        (lambda: departures(TEXT[:19], V), r"^n_contexts is 200 and ids has 19"),
        (lambda: departures(TEXT, V, rank=48), r"^rank is 48"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(unchecked, call, said):
    with pytest.raises(ValueError, match=said):
        call()
