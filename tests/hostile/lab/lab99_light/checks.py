"""The checks of a small lab that nobody is taught with: hostile and broken notebooks are graded against it.

Six light checks meet every kind of thing that a check can ask for: an array, a whole number and an error, a truth value, a
number typed by hand, an object with state, and a function that stays with the judge. A constant passes no case of any of them.
"""

from collections.abc import Iterator

import numpy as np

from course_lib.checks import Draw, Lab, call, case, kept, rounding, script, typed
from course_lib.checks.cases import Case

lab = Lab("lab99_light", "Six small things", minutes=5)


def reference_softmax(x: np.ndarray) -> np.ndarray:
    """The softmax along the last axis."""
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def softmax_case(name: str, x: np.ndarray) -> Case:
    """One softmax; `x` must be left alone."""
    return case(name, (x,), expect=reference_softmax(x), bound=rounding(x.shape[-1], dtype="float64"))


@lab.check(points=4, target="softmax(x) -> p")
def softmax(draw: Draw) -> Iterator[Case]:
    """Scores become weights."""
    yield softmax_case("one row", draw.normal(6, dtype="float64"))
    yield softmax_case("three rows", draw.normal(3, 5, dtype="float64"))


def pairs_case(name: str, n: int, negative: int) -> Case:
    """A count, and the error that a negative number of things is."""
    return script(name, call(0, n, expect=n * (n - 1) // 2), call(0, negative, raises="ValueError"))


@lab.check(points=2, target="pairs(n) -> int")
def pairs(draw: Draw) -> Iterator[Case]:
    """How many pairs n things make."""
    yield pairs_case("a few things", draw.integers(5, 40), -1)


def nearly_case(name: str, x: np.ndarray) -> Case:
    """An array beside itself, nearly itself, and something else."""
    return script(
        name,
        call(0, x, x, expect=True),
        call(0, x, x + 1e-12, expect=True),
        call(0, x, x + 1e-3, expect=False),
    )


@lab.check(points=1, target="nearly(a, b) -> bool")
def nearly(draw: Draw) -> Iterator[Case]:
    """Whether no two entries differ by more than 1e-6."""
    yield nearly_case("five numbers", draw.normal(5, dtype="float64"))


@lab.check(points=1, target="seconds")
def by_hand(draw: Draw) -> Iterator[Case]:
    """A number worked out by hand."""
    yield typed("seconds in a leap year", 366 * 24 * 3600)


def tally_case(name: str, numbers: list[int]) -> Case:
    """Numbers added one by one, with a look at the sum on the way."""
    half = len(numbers) // 2
    return script(
        name,
        call(0, keep="tally"),
        *(call("tally", number, method="add") for number in numbers[:half]),
        call("tally", method="total", expect=sum(numbers[:half])),
        *(call("tally", number, method="add") for number in numbers[half:]),
        call("tally", method="total", expect=sum(numbers)),
    )


@lab.check(points=2, target="Tally")
def tally(draw: Draw) -> Iterator[Case]:
    """An object that remembers."""
    yield tally_case("six numbers", draw.integers(1, 100, 6).tolist())


def mixes(number):
    """The next number of a sequence."""
    return (number * 1103 + 12345) % 65536


def follow_case(name: str, start: int, steps: int) -> Case:
    """A chain of calls of a function that only the judge has."""
    expect = [start]
    for _ in range(steps):
        expect.append(mixes(expect[-1]))
    return case(name, (kept(mixes), start, steps), expect=expect, unchanged=False)


@lab.check(points=2, target="follow(step, start, n) -> list")
def follow(draw: Draw) -> Iterator[Case]:
    """A chain of calls."""
    yield follow_case("five steps", draw.integers(1, 1000), 5)
