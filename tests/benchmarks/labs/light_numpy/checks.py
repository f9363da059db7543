"""The checks of a light lab, for measuring graders: twelve small things, each worth a point and done in no time.

The lab is there twice, with NumPy and with torch. `tests/benchmarks/course.py` makes the second of the first: its notebook
imports torch as `xp` instead of NumPy, and its arrays are tensors.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.checks import Draw, Lab, call, case, rounding, script
from course_lib.checks.cases import Case
from course_lib.checks.values import Tensor

ARRAYS = "numpy"
lab = Lab(f"light_{ARRAYS}", "Twelve small things", minutes=12)

TEXT = ["the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "sat", "on", "the", "cat"]


def given(array: np.ndarray) -> Any:
    """An array as an answer gets it."""
    return array if ARRAYS == "numpy" else Tensor(array, str(array.dtype))


def near(name: str, *args: Any, expect: np.ndarray, terms: int, scale: float = 1.0) -> Case:
    """One call, and an array or a number up to rounding."""
    arguments = [given(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    return case(name, arguments, expect=given(expect), bound=rounding(terms, scale, "float64"))


def exactly(name: str, *args: Any, expect: Any) -> Case:
    """One call, and the very value."""
    arguments = [given(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    return case(name, arguments, expect=expect)


def softmax_case(name: str, x: np.ndarray) -> Case:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return near(name, x, expect=weights / weights.sum(axis=-1, keepdims=True), terms=8)


@lab.check(points=1, target="softmax(x) -> p")
def softmax(draw: Draw) -> Iterator[Case]:
    """Scores become weights."""
    yield softmax_case("three rows", draw.normal(3, 5, dtype="float64"))
    yield softmax_case("large scores", draw.normal(2, 4, dtype="float64") + 1000)


def norms_case(name: str, x: np.ndarray) -> Case:
    return near(name, x, expect=np.sqrt((x * x).sum(axis=-1)), terms=8, scale=8)


@lab.check(points=1, target="norms(x) -> lengths")
def norms(draw: Draw) -> Iterator[Case]:
    """The length of each row."""
    yield norms_case("four rows", draw.normal(4, 3, dtype="float64"))
    yield norms_case("a row alone", draw.normal(6, dtype="float64"))


def at_least_case(name: str, x: np.ndarray) -> Case:
    low = int(x.flat[0])
    return exactly(name, x, low, expect=int((x >= low).sum()))


@lab.check(points=1, target="at_least(x, low) -> int")
def at_least(draw: Draw) -> Iterator[Case]:
    """How many entries are no smaller than a bound."""
    yield at_least_case("a table", draw.integers(0, 9, 4, 6))
    yield at_least_case("a list", draw.integers(5, 9, 7))


def likeliest_case(name: str, p: np.ndarray) -> Case:
    return exactly(name, p, expect=given(p.argmax(axis=-1)))


@lab.check(points=1, target="likeliest(p) -> tokens")
def likeliest(draw: Draw) -> Iterator[Case]:
    """The token with the largest probability, row by row."""
    yield likeliest_case("five rows", draw.probabilities(5, 7))
    yield likeliest_case("a batch of rows", draw.probabilities(2, 3, 4))


def causal_case(name: str, n: int) -> Case:
    return exactly(name, n, expect=given(np.tril(np.ones((n, n))) == 1))


@lab.check(points=1, target="causal(n) -> mask")
def causal(draw: Draw) -> Iterator[Case]:
    """Which positions a position may see."""
    yield causal_case("a few positions", draw.integers(3, 7))
    yield causal_case("one position", 1)


def one_hot_case(name: str, tokens: np.ndarray, v: int) -> Case:
    return exactly(name, tokens, v, expect=given(np.eye(v)[tokens]))


@lab.check(points=1, target="one_hot(tokens, v) -> rows")
def one_hot(draw: Draw) -> Iterator[Case]:
    """A row for each token, with a single 1 in it."""
    yield one_hot_case("six tokens", draw.integers(0, 5, 6), 5)
    yield one_hot_case("a batch of tokens", draw.integers(0, 4, 2, 3), 4)


def pooled_case(name: str, x: np.ndarray, mask: np.ndarray) -> Case:
    kept = mask[..., None]
    return near(name, x, mask, expect=(x * kept).sum(axis=-2) / kept.sum(axis=-2), terms=8, scale=4)


@lab.check(points=1, target="pooled(x, mask) -> means")
def pooled(draw: Draw) -> Iterator[Case]:
    """The mean of the rows that are not masked out."""
    yield pooled_case("one sequence", draw.normal(4, 3, dtype="float64"), np.array([1, 1, 0, 0]))
    yield pooled_case("two sequences", draw.normal(2, 3, 2, dtype="float64"), np.array([[1, 1, 1], [1, 0, 0]]))


def entropy_case(name: str, p: np.ndarray) -> Case:
    expect = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)
    return near(name, p, expect=expect, terms=8, scale=2)


@lab.check(points=1, target="entropy(p) -> nats")
def entropy(draw: Draw) -> Iterator[Case]:
    """How undecided a distribution is."""
    yield entropy_case("three distributions", draw.probabilities(3, 5))
    yield entropy_case("one that is certain", np.eye(4))


def counts_case(name: str, draw: Draw, n: int, v: int, missing: int) -> Case:
    tokens = np.concatenate([np.arange(v - missing), draw.integers(0, v - missing, n)])
    return exactly(name, tokens, v, expect=np.bincount(tokens, minlength=v).tolist())


@lab.check(points=1, target="counts(tokens, v) -> list")
def counts(draw: Draw) -> Iterator[Case]:
    """How often each token occurs."""
    yield counts_case("twenty tokens", draw, 14, 6, missing=0)
    yield counts_case("one that is missing", draw, 8, 5, missing=1)


def window_case(name: str, size: int, numbers: list[int]) -> Case:
    half = len(numbers) // 2
    return script(
        name,
        call(0, size, keep="window"),
        *(call("window", number, method="put") for number in numbers[:half]),
        call("window", method="items", expect=numbers[:half][-size:]),
        *(call("window", number, method="put") for number in numbers[half:]),
        call("window", method="items", expect=numbers[-size:]),
    )


@lab.check(points=1, target="Window(size)")
def window(draw: Draw) -> Iterator[Case]:
    """An object that remembers the last few items."""
    yield window_case("three of eight", 3, draw.integers(0, 100, 8).tolist())
    yield window_case("room to spare", 9, draw.integers(0, 100, 4).tolist())


def words_case(name: str, words: list[str]) -> Case:
    return exactly(name, " ".join(words), expect={word: words.count(word) for word in words})


@lab.check(points=1, target="words(text) -> dict")
def words(draw: Draw) -> Iterator[Case]:
    """The words of a text, counted."""
    yield words_case("a sentence", TEXT)
    yield words_case("some of it", draw.rng.permutation(TEXT)[:6].tolist())


def chunks_case(name: str, n: int, size: int) -> Case:
    items = list(range(n))
    return script(
        name,
        call(0, items, size, expect=[items[i : i + size] for i in range(0, n, size)]),
        call(0, items, 0, raises="ValueError"),
    )


@lab.check(points=1, target="chunks(items, size) -> list")
def chunks(draw: Draw) -> Iterator[Case]:
    """A list cut into pieces of one size; the last may be shorter."""
    yield chunks_case("pieces of four", draw.choice([9, 10, 11]), 4)
    yield chunks_case("one piece", 3, 5)
