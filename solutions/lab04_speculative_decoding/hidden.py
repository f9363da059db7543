"""The cases of lab 04 that only grading runs: other shapes, longer rounds, and several mistakes at once."""

from collections.abc import Iterator

from course_lib.checks import Draw, script
from course_lib.checks.cases import Case

from .checks import (
    array_of_alphas,
    decode_inputs,
    equal_at,
    factor_case,
    gamma_case,
    inner_best,
    lab,
    overlap_case,
    pairs,
    residual_case,
    text_steps,
    verify_case,
)


@lab.hidden("acceptance_rate")
def acceptance_rate(draw: Draw) -> Iterator[Case]:
    yield overlap_case(
        "three leading axes",
        *draw.probabilities(2, 2, 1, 3, 11),
        hint="Sum along the last axis only, however many stand before it.",
    )


@lab.hidden("residual")
def residual(draw: Draw) -> Iterator[Case]:
    yield residual_case(
        "three leading axes, some rows with p = q",
        *equal_at(*pairs(draw, 2, 3, 2, 9), (0, 1), (1, 2, 0)),
        hint="Each row by itself, and p where nothing is left.",
    )


@lab.hidden("verify")
def verify(draw: Draw) -> Iterator[Case]:
    yield verify_case(
        draw,
        "seven sequences, γ = 6",
        ["~+~+~+", "+~+~-+", "------", "~~~~~-", "+-++++", "++~-~~", "~+-+-+"],
        11,
        "Each sequence goes its own way, to the end of the round or to its first rejection.",
    )
    yield verify_case(draw, "one draft a round, float32", ["~"], 5, "γ may be 1.", dtype="float32")


@lab.hidden("factors")
def factors(draw: Draw) -> Iterator[Case]:
    yield factor_case("the factor for a longer array of α", (array_of_alphas(draw, 9), draw.integers(7, 12), 0.125))


@lab.hidden("best_gamma")
def best_gamma(draw: Draw) -> Iterator[Case]:
    yield gamma_case(
        "twelve more",
        [inner_best(draw, draw.integers(9, 30)) for _ in range(12)],
        "Work out the factor for every γ from 0 to gamma_max.",
    )


@lab.hidden("speculative_decode")
def speculative_decode(draw: Draw) -> Iterator[Case]:
    yield script(
        "one draft a round",
        *text_steps(decode_inputs(draw, 16, 1)),
        hint="γ may be 1.",
    )


from . import hidden_hunts  # noqa: F401
