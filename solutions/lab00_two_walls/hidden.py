"""The cases of lab 00 that only grading runs: other shapes and lengths, and two mistakes at once."""

from collections.abc import Iterator

import numpy as np

from course_lib.checks import Draw, script
from course_lib.checks.cases import Case

from .checks import (
    drop_case,
    lab,
    masked,
    nbytes_case,
    negative_case,
    reused_buffer_case,
    softmax_case,
    whole_number_case,
    whole_sequence_step,
)


@lab.hidden("softmax")
def softmax(draw: Draw) -> Iterator[Case]:
    yield softmax_case(
        "four axes, float64 stays float64",
        draw.normal(2, 3, 4, 11, dtype="float64"),
        dtype="float64",
        hint="Keep the precision that the scores came in.",
    )
    far = np.float32([[[1e4], [-1e4]], [[0.0], [0.0]]])
    yield softmax_case(
        "rows far apart, and a head that sees nothing",
        masked(draw.normal(2, 2, 13) + far, (1,), (0, 1, slice(0, 5))),
        hint="Each row needs its own maximum, and a row of −∞ needs neither maximum nor sum.",
    )
    yield softmax_case(
        "the caller's array, with a row that sees nothing",
        masked(draw.normal(3, 5), (0,), (2, slice(1, 3))),
        unchanged=True,
        hint="Write into arrays of your own only.",
    )


@lab.hidden("score_entries")
def score_entries(draw: Draw) -> Iterator[Case]:
    # Beyond 2⁵³, where floats skip whole numbers.
    yield whole_number_case("ten million tokens, as a whole number", 10_000_019 + 2 * draw.integers(0, 1000), 128, 126)
    yield negative_case("another negative number of tokens", -draw.integers(10, 1000))


@lab.hidden("generate")
def generate(draw: Draw) -> Iterator[Case]:
    prompt = draw.integers(1, 50, 9).tolist()
    yield script("another prompt, and no new token", whole_sequence_step(prompt, 12), whole_sequence_step(prompt, 0))


@lab.hidden("cache_bug")
def cache_bug(draw: Draw) -> Iterator[Case]:
    k, v = draw.normal(2, 7, 3, 5, dtype="float64"), draw.normal(2, 7, 3, 5, dtype="float64")
    yield reused_buffer_case("the caller overwrites its arrays, float64", k[0], v[0])
    yield nbytes_case("the bytes of what is left", k[1], v[1], dropped=2)
    yield drop_case("dropping three of seven tokens, then none", k[1], v[1], 3, 0)
