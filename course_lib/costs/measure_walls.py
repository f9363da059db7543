"""Measuring the two walls on this machine: what attention's square costs, and what reading the weights again costs.

A shape tells how many operations and bytes a model needs; only a clock tells which of them one waits for. Two experiments,
each small enough for one core and 2 GB. The first computes one head of attention at growing lengths and notes time and
memory. The second sends the same tokens through the same matrices, first one after another, as decoding must, then several
in one pass, as reading a prompt may. Both ways do the same multiplications and give the same states; they differ in how
often the weights come out of main memory, so the matrices together must be larger than any cache.

    n             tokens
    weights       L matrices, each (width, width); together far larger than the processor's caches
    state         what goes in and comes out of all L matrices for one token    (width,)
    positions     tokens that pass the matrices together
"""

import tracemalloc
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from course_lib.arrays import like, softmax
from course_lib.costs.probes import timer, timers


class AttentionRun(NamedTuple):
    """One head of attention over n tokens, as measured."""

    n: int
    seconds: float
    """The median time of one computation."""
    peak_bytes: int
    """The most memory that its arrays held at once, beyond its inputs."""


class PassRun(NamedTuple):
    """Tokens that pass the weights together, as measured."""

    positions: int
    """Tokens in each pass."""
    seconds_per_token: float
    """The median time of a pass, divided by its tokens."""
    bytes_per_second: float
    """Bytes of weights that a pass reads, over its time."""
    flops_per_second: float
    """Floating-point operations of a pass, over its time."""


def naive_attention(
    q: Float[np.ndarray, "n d_k"], k: Float[np.ndarray, "m d_k"], v: Float[np.ndarray, "m d_v"]
) -> Float[np.ndarray, "n d_v"]:
    """Attention as its formula reads: the whole (n, m) matrix of scores is held (Vaswani et al., 2017, eq. 1)."""
    scores = q @ k.T * np.float32(q.shape[-1] ** -0.5)
    return softmax(scores) @ v


def measure_attention(
    lengths: Sequence[int] = (1024, 2048, 4096), d_head: int = 64, repeats: int = 5, seed: int = 0
) -> list[AttentionRun]:
    """Times one head of naive attention in float32 at each length, and counts the memory that it takes.

    Raises:
        ValueError: a length or `d_head` is below 1.
    """
    for name, value in (("lengths", min(lengths, default=0)), ("d_head", d_head)):
        if value < 1:
            raise ValueError(f"{name} has {value}, needs whole numbers of at least 1")
    rng = np.random.default_rng(seed)
    inputs = {n: rng.standard_normal((3, n, d_head), dtype=np.float32) for n in lengths}
    timings = timers({n: lambda n=n: naive_attention(*inputs[n]) for n in lengths}, repeats)
    return [AttentionRun(n, timings[n].median, _peak_bytes(naive_attention, *inputs[n])) for n in lengths]


def random_weights(n_matrices: int = 12, width: int = 2048, seed: int = 0) -> list[Float[np.ndarray, "width width"]]:
    """float32 matrices that stand in for a model's weights: 12 of 2048 × 2048 are 201 MB.

    Raises:
        ValueError: `n_matrices` or `width` is below 1.
    """
    for name, value in (("n_matrices", n_matrices), ("width", width)):
        if value < 1:
            raise ValueError(f"{name} is {value}, needs to be at least 1")
    rng = np.random.default_rng(seed)
    weights = []
    for _ in range(n_matrices):
        matrix = rng.standard_normal((width, width), dtype=np.float32)
        matrix *= np.float32(width**-0.5)
        weights.append(matrix)
    return weights


def through(states: Float[Any, "*batch width"], weights: Sequence[Any]) -> Float[Any, "*batch width"]:
    """One pass of the states through every matrix, each followed by a normalisation to a root mean square of 1.

    Every state passes on its own: a batch of them gives what they give one by one, up to rounding.
    """
    for matrix in weights:
        states = states @ matrix
        states = states / (states * states).mean(-1, keepdims=True) ** 0.5
    return states


def one_by_one(
    start: Float[np.ndarray, "width"], weights: Sequence[Any], n: int
) -> Float[np.ndarray, "n_plus_1 width"]:
    """The start and n further states, each made from the one before it: all weights are read n times.

    Raises:
        ValueError: n is below 1.
    """
    if n < 1:
        raise ValueError(f"n is {n}, needs to be at least 1")
    states = [start]
    for _ in range(n):
        states.append(through(states[-1], weights))
    return np.stack(states)


def measure_passes(
    weights: Sequence[Float[Any, "width width"]],
    positions: Sequence[int] = (1, 4, 16, 64),
    repeats: int = 5,
    synchronize: Callable[[], Any] | None = None,
    seed: int = 0,
) -> list[PassRun]:
    """Times passes of different numbers of tokens through the same weights, in NumPy or in torch, where the weights lie.

    For weights on a GPU pass `synchronize=torch.cuda.synchronize`, since it returns before it has finished.

    Raises:
        ValueError: there are no weights, or a number of positions is below 1.
    """
    if not weights or min(positions, default=0) < 1:
        raise ValueError(f"weights has {len(weights)} matrices and positions is {positions}, needs at least 1 of each")
    rng = np.random.default_rng(seed)
    states = like(weights[0], rng.standard_normal((max(positions), len(weights[0])), dtype=np.float32))
    n_bytes = sum(matrix.nbytes for matrix in weights)
    n_flops = 2 * sum(prod(matrix.shape) for matrix in weights)
    # One token is a vector, not a matrix with one row: that is how a decoder multiplies it.
    batches = {count: states[0] if count == 1 else states[:count] for count in positions}
    timings = timers(
        {count: lambda batch=batch: through(batch, weights) for count, batch in batches.items()},
        repeats,
        synchronize=synchronize,
    )
    seconds = {count: timing.median for count, timing in timings.items()}
    return [PassRun(p, seconds[p] / p, n_bytes / seconds[p], p * n_flops / seconds[p]) for p in positions]


def reading_rate(
    weights: Sequence[Float[Any, "width width"]], repeats: int = 5, synchronize: Callable[[], Any] | None = None
) -> float:
    """Bytes a second at which the weights come out of memory when hardly anything is done with them.

    Each matrix is multiplied with itself, entry by entry, and summed: the least work for which every byte must arrive. It
    runs on as many cores as a product of a vector and a matrix does, so the two can be compared.

    Raises:
        ValueError: there are no weights.
    """
    if not weights:
        raise ValueError("weights is empty, needs at least one matrix")
    flat = [matrix.reshape(-1) for matrix in weights]
    seconds = timer(lambda: [values @ values for values in flat], repeats, synchronize=synchronize).median
    return sum(matrix.nbytes for matrix in weights) / seconds


def _peak_bytes(function: Any, *arguments: Any) -> int:
    """The most bytes that a call's new arrays held at once; NumPy reports its buffers to tracemalloc."""
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
