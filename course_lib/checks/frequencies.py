"""Whether draws follow a distribution: Pearson's chi-square test, without anything but the standard library and NumPy.

counts    how often each outcome came up                     (k,)
expected  how often it should, draws · probability           (k,)
χ²        Σ (counts − expected)² / expected; large when the draws do not follow      Pearson, 1900
"""

import math
from typing import Any, NamedTuple

import numpy as np

from course_lib.checks.cases import Frequencies
from course_lib.checks.values import Tensor

FEWEST = 25  # expected draws in a cell: below, counts are too skewed for a tail of 1e-9


class Tally(NamedTuple):
    """Draws sorted by outcome; `strange` holds the first draw that is no outcome, `strays` how many are none."""

    counts: np.ndarray
    strange: list | None
    strays: int


def as_draws(value: Any, expect: Frequencies) -> np.ndarray | None:
    """The value as an array of as many draws as expected, or None if it is no such thing."""
    try:
        array = value.array if isinstance(value, Tensor) else np.asarray(value)
    except ValueError:  # ragged
        return None
    return array if array.dtype.kind in "iu" and array.shape == (expect.draws, *expect.outcomes.shape[1:]) else None


def tally(draws: np.ndarray, expect: Frequencies) -> Tally:
    """Counts how often each outcome was drawn. An outcome of probability 0 is none."""
    flat = expect.outcomes.reshape(len(expect.outcomes), -1).tolist()
    place = {tuple(row): i for i, row in enumerate(flat) if expect.probabilities[i] > 0}
    rows = draws.reshape(len(draws), -1)
    kinds, repeated = np.unique(rows, axis=0, return_counts=True)
    counts, strange, strays = np.zeros(len(flat), dtype=np.int64), None, 0
    for kind, count in zip(kinds.tolist(), repeated.tolist(), strict=True):
        if tuple(kind) in place:
            counts[place[tuple(kind)]] += count
        else:
            strange, strays = strange or kind, strays + count
    return Tally(counts, strange, strays)


def p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """The probability that right draws lie this far off or further; 1 where there is only one cell."""
    expected = counts.sum() * probabilities
    order = np.argsort(expected)
    cells: list[list[float]] = [[0.0, 0.0]]
    for got, want in zip(counts[order].tolist(), expected[order].tolist(), strict=True):
        if cells[-1][1] >= FEWEST:
            cells.append([0.0, 0.0])
        cells[-1][0] += got
        cells[-1][1] += want
    if len(cells) > 1 and cells[-1][1] < FEWEST:
        got, want = cells.pop()
        cells[-1][0] += got
        cells[-1][1] += want
    if len(cells) == 1:
        return 1.0
    return chi_square_tail(sum((got - want) ** 2 / want for got, want in cells), len(cells) - 1)


def chi_square_tail(x: float, freedom: int) -> float:
    """P(χ² > x) for a whole number of degrees of freedom: the finite sums of Abramowitz & Stegun, 1964, 26.4.4 and 26.4.5."""
    half = x / 2
    if half == 0:
        return 1.0
    # Terms half^s / Γ(s + 1), for s = 0, 1, … or ½, 3/2, …: in logarithms, since each factor alone may overflow.
    start = 0.0 if freedom % 2 == 0 else 0.5
    count = freedom // 2
    terms = (math.exp((start + i) * math.log(half) - half - math.lgamma(start + i + 1)) for i in range(count))
    return min(1.0, sum(terms) + (math.erfc(math.sqrt(half)) if freedom % 2 else 0.0))
