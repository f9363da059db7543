"""Measuring this machine: how long something takes, and how fast memory can be read.

One run is an anecdote: other programs interrupt, caches are cold, clocks change. So everything that the course times goes
through `timer`, which runs it once unmeasured, then several times, and states the median and how far the middle half of
the runs lies apart. Two things are compared by `timers`, which alternates between them, so that a slow moment of the
machine falls on both.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

MOST_THREADS = 16


class Timing(NamedTuple):
    """Seconds that one call took."""

    median: float
    """The median of the measured calls."""
    spread: float
    """From the first quartile to the third: the width of the middle half of the calls."""
    samples: tuple[float, ...]
    """Every measured call, in order."""

    def __str__(self) -> str:
        scale, unit = next((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")) if self.median >= s or u == "µs")
        return f"{self.median / scale:.3g} {unit} (middle half of {len(self.samples)} runs: {self.spread / scale:.2g} wide)"


class Bandwidth(NamedTuple):
    """Bytes per second that move between main memory and the cores."""

    median: float
    """The median of the measured passes."""
    spread: float
    """From the first quartile to the third."""
    nbytes: int
    """Bytes of main memory that one pass touched."""
    counts: str
    """Which bytes are counted."""

    def __str__(self) -> str:
        return f"{self.median / 1e9:.3g} GB/s ({self.counts}; middle half: {self.spread / 1e9:.2g} GB/s wide)"


def timer(
    run: Callable[[], Any], repeats: int = 7, warmup: int = 1, synchronize: Callable[[], Any] | None = None
) -> Timing:
    """How long `run()` takes, over `repeats` calls after `warmup` unmeasured ones.

    A GPU returns before it has finished: pass `synchronize=torch.cuda.synchronize`, which then ends every measured call.

    Raises:
        ValueError: `repeats` is below 1 or `warmup` negative.
    """
    return timers({"run": run}, repeats, warmup, synchronize)["run"]


def timers(
    runs: Mapping[Any, Callable[[], Any]],
    repeats: int = 7,
    warmup: int = 1,
    synchronize: Callable[[], Any] | None = None,
) -> dict[Any, Timing]:
    """As `timer`, for several things to compare: each round calls every one of them once, in turn.

    Raises:
        ValueError: `repeats` is below 1 or `warmup` negative.
    """
    if repeats < 1 or warmup < 0:
        raise ValueError(
            f"repeats is {repeats} and warmup {warmup}, needs repeats of at least 1 and warmup of at least 0"
        )
    seconds: dict[Any, list[float]] = {name: [] for name in runs}
    for turn in range(warmup + repeats):
        for name, run in runs.items():
            start = perf_counter()
            run()
            if synchronize is not None:
                synchronize()
            elapsed = perf_counter() - start
            if turn >= warmup:
                seconds[name].append(elapsed)
    return {name: Timing(*_median_and_spread(samples), tuple(samples)) for name, samples in seconds.items()}


def memory_bandwidth(nbytes: int | None = None, pattern: str = "read", repeats: int = 7) -> Bandwidth:
    """How fast all cores together move `nbytes` bytes, in bytes per second.

    "read" reads an array once and writes nothing, as decoding reads its weights; every byte counts once. "copy" copies one
    half of the bytes over the other; it counts each byte read and each byte written, but not that most processors fetch
    a line of memory before they write to it, so that it tends to come out lower.

    A cache that held the array would be measured instead of the memory. Without `nbytes` it has 256 MiB, or a quarter
    of the memory that is free if that is less.

    Raises:
        ValueError: `nbytes` is below 1 MiB or not whole, `pattern` is neither word, or `repeats` is below 1.
    """
    if nbytes is None:
        free = available_memory()
        nbytes = 1 << 28 if free is None else max(1 << 20, min(1 << 28, free // 4))
    if int(nbytes) != nbytes or nbytes < 1 << 20:
        raise ValueError(
            f"nbytes is {nbytes}, needs a whole number of at least {1 << 20}: less would measure the cost of starting threads"
        )
    if pattern not in ("read", "copy"):
        raise ValueError(f"pattern is {pattern!r}, needs to be 'read' or 'copy'")
    cores = min(MOST_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    values = np.ones(int(nbytes) // 4, dtype=np.float32)
    with ThreadPoolExecutor(cores) as pool:
        if pattern == "read":
            parts = np.array_split(values, cores)
            timing = timer(lambda: list(pool.map(np.dot, parts, parts)), repeats)
            touched = values.nbytes
        else:
            half = len(values) // 2
            sources = np.array_split(values[:half], cores)
            targets = np.array_split(values[half : 2 * half], cores)
            timing = timer(lambda: list(pool.map(np.copyto, targets, sources)), repeats)
            touched = values[: 2 * half].nbytes
    median, spread = _median_and_spread([touched / seconds for seconds in timing.samples])
    counts = "bytes read" if pattern == "read" else "bytes read plus bytes written"
    return Bandwidth(median, spread, touched, counts)


def available_memory() -> int | None:
    """Bytes that this process may still take without being stopped or swapped out; None where the system does not say.

    On Linux the least of what the kernel reckons available and what the container's limit leaves.
    """
    bounds = []
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            bounds.append(int(line.split()[1]) * 1024)
    cgroup = "/sys/fs/cgroup/"
    # The names of version 2, then of version 1.
    for limit, used, stat, reclaimable in (
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
    ):
        most, now = "".join(_lines(cgroup + limit)).strip(), "".join(_lines(cgroup + used)).strip()
        if most.isdigit() and now.isdigit():
            # Cached files count as used, but the kernel drops them first.
            cached = sum(int(line.split()[1]) for line in _lines(cgroup + stat) if line.split()[0] == reclaimable)
            bounds.append(max(0, int(most) - int(now) + cached))
    return min(bounds, default=None)


def _median_and_spread(samples: list[float]) -> tuple[float, float]:
    first, median, third = np.percentile(samples, (25, 50, 75))
    return float(median), float(third - first)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
