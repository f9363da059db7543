"""The cases of the bug hunts that only grading runs: other shapes, a fallback for one row of two, verifiers not seen before."""

from collections.abc import Iterator

import numpy as np

from course_lib.arrays import sample
from course_lib.checks import Draw, script
from course_lib.checks.cases import Case

from .checks import lab
from .hunts import (
    FEW,
    LENGTHS,
    MANY,
    NEARLY_ONE,
    PLACES,
    ROUNDED,
    ROWS,
    STANDING,
    as_lists,
    at_drafts,
    draws_case,
    from_p,
    greedy_case,
    missing_at,
    pair_case,
    plain,
    prefix_of,
    step_case,
    verified_case,
    verify_step,
    whole_case,
)


@lab.hidden("speculative_step")
def speculative_step(draw: Draw) -> Iterator[Case]:
    yield step_case(
        draw,
        "three sequences of two tokens",
        PLACES,
        [[0, 1], [2, 1], [1, 1]],
        1,
        0.5,
        [[0], [0], [0]],
        hint="The target's rows begin after the last token of the text, however many sequences there are.",
    )
    yield step_case(
        draw,
        "another rejected token and its replacement",
        ROWS,
        [[1]],
        1,
        0.4,
        [[0]],
        hint="The residual subtracts two rows, entry by entry.",
    )
    yield step_case(
        draw,
        "every drafted token of three sequences stands",
        STANDING,
        [[0, 0, 0], [1, 0, 1], [0, 1, 0]],
        1,
        0.0,
        [[1, 2], [2, 0], [1, 2]],
        hint="Each sequence draws its last token from its own last row.",
    )
    yield step_case(
        draw,
        "three sequences end their rounds at different places",
        LENGTHS,
        [[0, 0, 0], [1, 2, 1], [1, 1, 2]],
        2,
        0.5,
        [[2], [2, 0], [0]],
        hint="A rejection ends the round of its own sequence.",
    )
    yield draws_case(draw, f"{FEW + 200} equal sequences draw for themselves", FEW + 200, 0.15)
    yield step_case(
        draw,
        "rows that differ by a rounding error, beside rows that do not",
        ROUNDED,
        [[0, 0], [0, 1]],
        1,
        NEARLY_ONE,
        [[1], [0]],
        hint="Whether anything is left of a residual is a question for each row.",
    )
    yield whole_case(draw, f"everything at once, {MANY:,} times, three drafted tokens", [2], 3)


@lab.hidden("verify_draft")
def verify_draft(draw: Draw) -> Iterator[Case]:
    yield greedy_case(draw, "other rows that leave no choice", 5)
    yield script(
        "one round whose rows differ by a rounding error",
        verify_step(draw, [[0.5, 0.5]], [[0.5, 0.5 - 2**-20], [1, 0]], [1], NEARLY_ONE, [1]),
        hint="A rejection, and p is nowhere above q: draw from p.",
    )
    yield verified_case(
        draw,
        "everything at once, 1,000 times",
        # What replaces a rejected token is not the likeliest one, and p alone would offer three.
        np.array([[0.5, 0.2, 0.3], [0.2, 0.3, 0.5]]),
        np.array([[0.5, 0.35, 0.15], [0.35, 0.15, 0.5], [0.3, 0.6, 0.1]]),
        1000,
        False,
        hint="From left to right: accept, or replace from the residual and stop; after the last draft, one token more.",
    )


def upside_down(tokens, q, p, random):
    n = prefix_of(random(*tokens.shape) * at_drafts(p, tokens) < at_drafts(q, tokens))
    return as_lists(tokens, n, sample(missing_at(n, q, p), random(len(n))))


def residual_of_another_row(tokens, q, p, random):
    n = prefix_of(random(*tokens.shape) * at_drafts(q, tokens) < at_drafts(p, tokens))
    return as_lists(tokens, n, sample(missing_at(n, np.roll(q, 1, axis=1), p), random(len(n))))


def one_rate_for_all_tokens(tokens, q, p, random):
    alpha = np.minimum(q, p[:, :-1]).sum(axis=-1)
    n = prefix_of(random(*tokens.shape) < alpha)
    return as_lists(tokens, n, sample(missing_at(n, q, p), random(len(n))))


def any_that_stand(tokens, q, p, random):
    n = (random(*tokens.shape) * at_drafts(q, tokens) < at_drafts(p, tokens)).sum(axis=1)
    return as_lists(tokens, n, sample(missing_at(n, q, p), random(len(n))))


def bonus_from_the_row_before(tokens, q, p, random):
    n = prefix_of(random(*tokens.shape) * at_drafts(q, tokens) < at_drafts(p, tokens))
    return as_lists(
        tokens, n, sample(missing_at(n, q, np.concatenate([p[:, :-1], p[:, -2:-1]], axis=1)), random(len(n)))
    )


def rows_of_the_first_sequence(tokens, q, p, random):
    return plain(tokens, np.broadcast_to(q[:1], q.shape), np.broadcast_to(p[:1], p.shape), random)


def by_a_race(tokens, q, p, random):
    n = prefix_of(random(*tokens.shape) * at_drafts(q, tokens) < at_drafts(p, tokens))
    missing = missing_at(n, q, p)
    arrivals = -np.log1p(-random(*missing.shape)) / np.where(missing > 0, missing, 1)
    return as_lists(tokens, n, np.argmin(np.where(missing > 0, arrivals, np.inf), axis=-1))


@lab.hidden("is_wrong")
def is_wrong(draw: Draw) -> Iterator[Case]:
    shares = "Compare every share that a round can have with its probability, not the first token's alone."
    yield pair_case("wrong: the ratio is upside down", upside_down, plain, shares, draw)
    yield pair_case("wrong: the residual of another position", residual_of_another_row, plain, shares, draw)
    yield pair_case("wrong: every token stands with the same probability", one_rate_for_all_tokens, plain, shares, draw)
    yield pair_case("wrong: counts accepted tokens after a rejected one", any_that_stand, plain, shares, draw)
    yield pair_case("wrong: the last token from the row before", bonus_from_the_row_before, plain, shares, draw)
    yield pair_case(
        "wrong: reads the rows of the first sequence for all",
        rows_of_the_first_sequence,
        plain,
        "Equal sequences cannot show whose rows are read. Let a batch hold two kinds.",
        draw,
    )
    yield pair_case("right, and it draws by a race", from_p, by_a_race, "Compare shares, not tokens.", draw)
