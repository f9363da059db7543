"""How fast a device can decode at best, and which of its two walls it meets first.

One decode step makes one token for each sequence of the batch. It reads every weight once, however many sequences share
the reading, and each sequence's own cache; and it multiplies every token by every weight. The device can do neither
faster than its data sheet says, so the step takes at least the longer of the two times (the roofline of Williams et al.,
2009; Pope et al., 2022, §2).

    bytes of a step    weights + batch · cache(n)        → over the bandwidth
    FLOPs of a step    batch · (2·weights + 4·L·h·d_head·n)  → over the compute rate
"""

from typing import Any, NamedTuple

import numpy as np

from course_lib.costs.counting import checked_count, checked_positive, forward_flops, kv_cache_bytes, parameter_count
from course_lib.costs.devices import Device
from course_lib.costs.shapes import ModelShape


class DecodeBound(NamedTuple):
    """The best a device can do, and why. Each field is a number, or an array if `n` or `batch` was one."""

    tokens_per_second: Any
    """Tokens per second of the whole batch."""
    per_sequence: Any
    """Tokens per second that one sequence sees: the batch's divided by the batch."""
    wall: Any
    """"bandwidth" or "compute": what takes longer."""
    bandwidth_seconds: Any
    """Seconds to read the weights and the caches once."""
    compute_seconds: Any
    """Seconds to do the step's floating-point operations."""
    weight_bytes: Any
    """Bytes of weights that a step reads."""
    cache_bytes: Any
    """Bytes of keys and values that a step reads, over the batch."""
    memory_bytes: Any
    """Bytes that must be held: all stored weights, and the caches."""
    fits: Any
    """Whether the device's memory holds them. The speeds are stated even if it does not."""


def decode_bound(
    shape: ModelShape,
    n: Any,
    device: Device,
    batch: Any = 1,
    bytes_per_weight: int | float = 2,
    bytes_per_value: int | float = 2,
) -> DecodeBound:
    """The upper bound on tokens per second of a decode step, for `batch` sequences that see n tokens each.

    The bound takes for granted that the published rates are reached, that reading and multiplying overlap wholly, that
    nothing but weights and caches moves, and that products run at the 16-bit rate however few bytes a weight is stored
    in. Every sequence sees n tokens, the newest among them. `n` and `batch` may be arrays, which broadcast.

    Raises:
        ValueError: `n` or `batch` is below 1, or a number of bytes is not positive.
    """
    n, batch = checked_count("n", n), checked_count("batch", batch)
    parameters = parameter_count(shape)
    weight_bytes = parameters.read_per_step * checked_positive("bytes_per_weight", bytes_per_weight)
    cache_bytes = kv_cache_bytes(shape, n, batch, bytes_per_value)
    bandwidth_seconds = (weight_bytes + cache_bytes) / device.bandwidth
    compute_seconds = forward_flops(shape, 1, n - 1, batch).total / device.flops
    step_seconds = np.maximum(bandwidth_seconds, compute_seconds)
    memory_bytes = parameters.total * bytes_per_weight + cache_bytes
    wall = np.where(compute_seconds > bandwidth_seconds, "compute", "bandwidth")
    return DecodeBound(
        tokens_per_second=_plain(batch / step_seconds),
        per_sequence=_plain(1 / step_seconds),
        wall=_plain(wall),
        bandwidth_seconds=bandwidth_seconds,
        compute_seconds=compute_seconds,
        weight_bytes=weight_bytes,
        cache_bytes=cache_bytes,
        memory_bytes=memory_bytes,
        fits=memory_bytes <= device.memory,
    )


def _plain(value: Any) -> Any:
    """A Python number or word where NumPy made a scalar of it."""
    return value if np.ndim(value) else np.asarray(value).item()
