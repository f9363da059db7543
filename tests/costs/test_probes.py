"""The one timer and the bandwidth probe, on a clock that the test turns: nothing here depends on how fast a machine is."""

import numpy as np
import pytest

from course_lib.costs import available_memory, memory_bandwidth, probes, timer, timers


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until the test moves it by `clock.now += seconds`."""

    class Clock:
        now = 0.0

    clock = Clock()
    monkeypatch.setattr(probes, "perf_counter", lambda: clock.now)
    return clock


def test_the_median_and_the_middle_half_ignore_one_bad_moment(clock):
    durations = iter([50.0, 1.0, 2.0, 3.0, 4.0, 100.0])  # the first is the warm-up

    def run():
        clock.now += next(durations)

    timing = timer(run, repeats=5)
    assert timing.samples == (1, 2, 3, 4, 100)
    assert timing.median == 3
    assert timing.spread == 2  # from 2 to 4


@pytest.mark.parametrize(("repeats", "warmup"), [(1, 0), (3, 2), (7, 1)])
def test_what_is_timed_runs_once_for_each_warm_up_and_repeat(repeats, warmup):
    calls = []
    timing = timer(lambda: calls.append(1), repeats, warmup)
    assert len(calls) == repeats + warmup
    assert len(timing.samples) == repeats


def test_things_to_compare_take_turns(clock):
    order = []

    def run(name, seconds):
        order.append(name)
        clock.now += seconds

    timings = timers({"a": lambda: run("a", 1), "b": lambda: run("b", 5)}, repeats=2, warmup=1)
    assert order == ["a", "b"] * 3
    assert {name: timing.median for name, timing in timings.items()} == {"a": 1, "b": 5}


def test_waiting_for_a_device_counts_as_time(clock):
    def synchronize():
        clock.now += 2

    assert timer(lambda: None, repeats=3, synchronize=synchronize).samples == (2, 2, 2)


@pytest.mark.parametrize(
    ("seconds", "unit"), [(2.5, "2.5 s"), (0.0025, "2.5 ms"), (2.5e-6, "2.5 µs"), (0.0, "0 µs"), (2.5e-9, "0.0025 µs")]
)
def test_a_time_is_printed_in_a_unit_that_suits_it(clock, seconds, unit):
    def run():
        clock.now = clock.now + seconds if seconds > 1e-8 else 0.0

    timing = timer(run, repeats=1)
    assert str(timing._replace(median=seconds)).startswith(unit)


@pytest.mark.parametrize(("repeats", "warmup"), [(0, 1), (-1, 1), (1, -1)])
def test_a_timer_needs_something_to_time(repeats, warmup):
    with pytest.raises(ValueError, match=f"repeats is {repeats} and warmup {warmup}"):
        timer(lambda: None, repeats, warmup)


@pytest.mark.parametrize("pattern", ["read", "copy"])
def test_bandwidth_is_the_bytes_of_one_pass_over_its_time(monkeypatch, pattern):
    ticks = iter(range(1000))
    monkeypatch.setattr(probes, "perf_counter", lambda: 0.5 * next(ticks))  # so that every pass takes half a second
    nbytes = 3 * (1 << 20) + 40
    bandwidth = memory_bandwidth(nbytes, pattern, repeats=3)
    assert nbytes - 8 <= bandwidth.nbytes <= nbytes
    assert bandwidth.median == bandwidth.nbytes / 0.5
    assert bandwidth.spread == 0
    assert "read" in bandwidth.counts
    assert ("written" in bandwidth.counts) == (pattern == "copy")


@pytest.mark.parametrize("pattern", ["read", "copy"])
def test_a_pass_touches_every_byte_it_counts(monkeypatch, pattern):
    touched = []
    for name in ("dot", "copyto"):
        real = getattr(np, name)

        def spy(*arrays, real=real):
            touched.append(sum(array.nbytes for array in {id(array): array for array in arrays}.values()))
            return real(*arrays)

        monkeypatch.setattr(np, name, spy)
    bandwidth = memory_bandwidth(1 << 20, pattern, repeats=2)
    assert sum(touched) == 3 * bandwidth.nbytes  # one warm-up and two repeats


def test_without_a_size_the_array_is_larger_than_any_cache_and_fits_what_is_free(monkeypatch):
    sizes = []
    monkeypatch.setattr(probes.np, "ones", lambda n, dtype: sizes.append(4 * n) or np.zeros(1 << 18, dtype))
    for free in (None, 1 << 40, 1 << 28, 0):
        monkeypatch.setattr(probes, "available_memory", lambda free=free: free)
        memory_bandwidth(repeats=1)
    assert sizes == [1 << 28, 1 << 28, 1 << 26, 1 << 20]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"nbytes": 1000}, "nbytes is 1000"),
        ({"pattern": "write"}, "pattern is 'write'"),
        ({"repeats": 0}, "repeats is 0"),
    ],
)
def test_a_bandwidth_that_cannot_be_measured_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        memory_bandwidth(**{"nbytes": 1 << 20} | arguments)


def test_the_memory_that_is_free_is_unknown_or_a_number_of_bytes():
    free = available_memory()
    assert free is None or (isinstance(free, int) and free >= 0)


def test_the_memory_that_is_free_is_the_least_that_anyone_allows(monkeypatch):
    files = {
        "/proc/meminfo": ["MemTotal: 8000 kB", "MemAvailable: 5000 kB"],
        "/sys/fs/cgroup/memory.max": ["3000000"],
        "/sys/fs/cgroup/memory.current": ["1000000"],
        "/sys/fs/cgroup/memory.stat": ["anon 5", "inactive_file 500000"],
    }
    monkeypatch.setattr(probes, "_lines", lambda path: files.get(path, []))
    assert available_memory() == 2_500_000
    files["/sys/fs/cgroup/memory.max"] = ["max"]
    assert available_memory() == 5_120_000
    files.clear()
    assert available_memory() is None
