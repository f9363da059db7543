"""The cases of the light lab that only grading runs."""

from collections.abc import Iterator

import numpy as np

from course_lib.checks import Draw
from course_lib.checks.cases import Case

from .checks import (
    TEXT,
    at_least_case,
    causal_case,
    chunks_case,
    counts_case,
    entropy_case,
    lab,
    likeliest_case,
    norms_case,
    one_hot_case,
    pooled_case,
    softmax_case,
    window_case,
    words_case,
)


@lab.hidden("softmax")
def softmax(draw: Draw) -> Iterator[Case]:
    yield softmax_case("hidden: three axes", draw.normal(2, 3, 6, dtype="float64"))


@lab.hidden("norms")
def norms(draw: Draw) -> Iterator[Case]:
    yield norms_case("hidden: three axes", draw.normal(2, 3, 4, dtype="float64"))


@lab.hidden("at_least")
def at_least(draw: Draw) -> Iterator[Case]:
    yield at_least_case("hidden: another bound", draw.integers(-9, 9, 30))


@lab.hidden("likeliest")
def likeliest(draw: Draw) -> Iterator[Case]:
    yield likeliest_case("hidden: a larger vocabulary", draw.probabilities(3, 50))


@lab.hidden("causal")
def causal(draw: Draw) -> Iterator[Case]:
    yield causal_case("hidden: more positions", draw.integers(8, 20))


@lab.hidden("one_hot")
def one_hot(draw: Draw) -> Iterator[Case]:
    yield one_hot_case("hidden: a larger vocabulary", draw.integers(0, 30, 4), 30)


@lab.hidden("pooled")
def pooled(draw: Draw) -> Iterator[Case]:
    yield pooled_case("hidden: holes", draw.normal(2, 4, 3, dtype="float64"), np.array([[0, 1, 0, 1], [1, 0, 1, 1]]))


@lab.hidden("entropy")
def entropy(draw: Draw) -> Iterator[Case]:
    yield entropy_case("hidden: two axes", draw.probabilities(2, 2, 6))


@lab.hidden("counts")
def counts(draw: Draw) -> Iterator[Case]:
    yield counts_case("hidden: a hundred tokens", draw, 90, 12, missing=2)


@lab.hidden("window")
def window(draw: Draw) -> Iterator[Case]:
    yield window_case("hidden: five of twelve", 5, draw.integers(0, 100, 12).tolist())


@lab.hidden("words")
def words(draw: Draw) -> Iterator[Case]:
    yield words_case("hidden: more of it", draw.rng.choice(TEXT, 20).tolist())


@lab.hidden("chunks")
def chunks(draw: Draw) -> Iterator[Case]:
    yield chunks_case("hidden: many", draw.integers(50, 90), draw.integers(5, 9))
