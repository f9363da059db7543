"""The bound on decoding: by hand on a device with round numbers, and as the two limits say it must behave."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.costs import DEVICES, PRESETS, Device, decode_bound

LLAMA = PRESETS["Llama-3.1-8B"]
ROUND = Device("round", bandwidth=1e12, flops=1e14, memory=20e9, source="made up for these tests")
models = st.sampled_from(sorted(PRESETS)).map(PRESETS.get)
devices = st.sampled_from(sorted(DEVICES)).map(DEVICES.get)
lengths, batches = st.integers(1, 200_000), st.integers(1, 4096)


def test_one_step_of_a_named_model_by_hand():
    """8,030,261,248 parameters, less an embedding table of 128,256 · 4,096 that a step only looks up, in two bytes each."""
    bound = decode_bound(LLAMA, 1000, ROUND)
    weights, cache = 15_009_849_344, 131_072_000
    assert (bound.weight_bytes, bound.cache_bytes) == (weights, cache)
    assert bound.bandwidth_seconds == pytest.approx((weights + cache) / 1e12, rel=1e-12)
    # The matrices without norms, two operations a weight, and 4·L·h·d_head for each of the 1,000 tokens seen.
    operations = 2 * (6_979_321_856 + 525_336_576) + 4 * 32 * 4096 * 1000
    assert bound.compute_seconds == pytest.approx(operations / 1e14, rel=1e-12)
    assert bound.wall == "bandwidth"
    assert bound.tokens_per_second == bound.per_sequence == pytest.approx(66.05, abs=0.01)


@given(model=models, device=devices, n=lengths, batch=batches)
def test_the_longer_of_the_two_times_is_the_wall(model, device, n, batch):
    bound = decode_bound(model, n, device, batch)
    longer = max(bound.bandwidth_seconds, bound.compute_seconds)
    assert bound.tokens_per_second == pytest.approx(batch / longer, rel=1e-12)
    assert bound.per_sequence == pytest.approx(1 / longer, rel=1e-12)
    assert bound.wall == ("compute" if bound.compute_seconds > bound.bandwidth_seconds else "bandwidth")


@given(model=models, device=devices, n=lengths, batch=batches)
def test_a_longer_context_never_helps_and_a_larger_batch_helps_all_but_the_one_sequence(model, device, n, batch):
    bound, longer = decode_bound(model, n, device, batch), decode_bound(model, 2 * n, device, batch)
    larger = decode_bound(model, n, device, 2 * batch)
    assert longer.tokens_per_second <= bound.tokens_per_second
    assert larger.tokens_per_second >= bound.tokens_per_second * (1 - 1e-12)
    assert larger.per_sequence <= bound.per_sequence


def test_one_sequence_meets_the_bandwidth_and_many_short_ones_meet_the_compute():
    for device in DEVICES.values():
        assert decode_bound(LLAMA, 1, device, batch=1).wall == "bandwidth"
        assert decode_bound(LLAMA, 1, device, batch=4096).wall == "compute"
        # However many share the reading of the weights, nobody shares a long cache: four operations a byte here.
        assert decode_bound(LLAMA, 200_000, device, batch=4096).wall == "bandwidth"


@given(model=models, n=lengths, batch=batches)
def test_a_device_twice_as_fast_in_both_decodes_twice_as_fast(model, n, batch):
    twice = replace(ROUND, bandwidth=2e12, flops=2e14)
    speeds = [decode_bound(model, n, device, batch).tokens_per_second for device in (ROUND, twice)]
    assert speeds[1] == pytest.approx(2 * speeds[0], rel=1e-12)


def test_smaller_weights_and_values_are_read_sooner():
    full, small = decode_bound(LLAMA, 5000, ROUND), decode_bound(LLAMA, 5000, ROUND, 1, 0.5, 1)
    assert small.weight_bytes == full.weight_bytes / 4
    assert small.cache_bytes == full.cache_bytes / 2
    assert small.compute_seconds == full.compute_seconds


def test_what_must_be_held_includes_the_embedding_that_is_not_read():
    bound = decode_bound(LLAMA, 1000, ROUND)
    assert bound.memory_bytes == 2 * 8_030_261_248 + 131_072_000
    assert bound.fits
    # 20 GB leave room for 3,939,477,504 bytes of cache: 30,055 tokens.
    assert decode_bound(LLAMA, 30_055, ROUND).fits
    assert not decode_bound(LLAMA, 30_056, ROUND).fits
    assert decode_bound(LLAMA, 30_056, ROUND).tokens_per_second > 0


def test_arrays_of_lengths_and_batches_give_what_their_entries_give():
    n, batch = np.array([[1], [999], [100_001]]), np.array([1, 8, 512, 4096])
    many = decode_bound(LLAMA, n, ROUND, batch)
    for i, j in np.ndindex(3, 4):
        one = decode_bound(LLAMA, int(n[i, 0]), ROUND, int(batch[j]))
        for field in one._fields:
            value = np.broadcast_to(getattr(many, field), (3, 4))[i, j]
            assert value == (getattr(one, field) if field in ("wall", "fits") else pytest.approx(getattr(one, field)))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n": 0}, "n"),
        ({"batch": 0}, "batch"),
        ({"bytes_per_weight": 0}, "bytes_per_weight"),
        ({"bytes_per_value": -1}, "bytes_per_value"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} is"):
        decode_bound(**{"shape": LLAMA, "n": 1, "device": ROUND} | arguments)
