"""A search for one factor per pair: LongRoPE's idea in miniature.

No formula has to be the best one. LongRoPE keeps a population of lists of factors, scores each, and breeds the next from the
best by changing single factors (mutation) and by mixing two lists (crossover). It begins with the lists that formulas give, so it
never does worse than they, and it keeps every list rising: a slower pair is never slowed by less. There the score is the
perplexity of a real model on long documents. Here it is one of two numbers in closed form, both of which ask for the same
bargain: few new angles, little blur.

    factors        λᵢ: pair i turns at θᵢ/λᵢ                        (lists, pairs)     Ding et al., 2024 (LongRoPE), §3.1
    s              the stretch, length / trained_length
    population     lists; `parents` of them survive a generation                       §3.2, Alg. 1
    largest        λᵢ lies between 1 and 1.25·s in the paper                           §3.2
"""

from collections.abc import Callable, Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from course_lib.positions.decay import attention_decay
from course_lib.positions.rotary import Frequencies
from course_lib.positions.spectrum import turns

Cost = Callable[[Float[np.ndarray, "lists pairs"]], Float[np.ndarray, "lists"]]


class Found(NamedTuple):
    """The best list of a search."""

    factors: Float[np.ndarray, "pairs"]
    cost: float
    history: Float[np.ndarray, "generations"]
    """The least cost after each generation, that of the starts first; it never rises."""


def cost_by_pairs(
    trained: Float[np.ndarray, "pairs"], trained_length: int, length: int, blur_weight: float = 0.1
) -> Cost:
    """Each pair by itself: how much of what it reaches is new, squared, and how much it was slowed, squared; the mean.

    New is the share of the arc reached at `length` that training did not reach; slowed is ln λ / ln s. As the pairs do not
    depend on each other, the best list can be found exactly, which shows how near a search comes.

    Raises:
        ValueError: `length` is not above `trained_length`, or that is below 2.
    """
    _require_stretch(trained_length, length)
    known = np.minimum(turns(trained, trained_length), 1)

    def cost(factors: Float[np.ndarray, "lists pairs"]) -> Float[np.ndarray, "lists"]:
        reached = np.minimum(turns(trained / factors, length), 1)
        new = np.maximum(1 - known / reached, 0)
        slowed = np.log(factors) / log(length / trained_length)
        return np.mean(new**2 + blur_weight * slowed**2, axis=-1)

    return cost


def cost_by_profile(
    trained: Float[np.ndarray, "pairs"],
    trained_length: int,
    length: int,
    near: int = 64,
    far_weight: float = 1.0,
    samples: int = 128,
) -> Cost:
    """All pairs together, by the curve of `attention_decay`: as trained nearby, and far away as if distances were 1/s.

    The root of the mean squared difference from the trained curve at distances below `near`, and, weighted, from the trained
    curve stretched by s between there and `length`, at evenly spaced distances. Interpolation has nothing amiss far away and
    the most nearby; no change at all, the other way round. No formula for the best list is known.

    Raises:
        ValueError: `length` is not above `trained_length`, that is below 2, or `near` does not lie between 2 and it.
    """
    _require_stretch(trained_length, length)
    if not 2 <= near <= trained_length:
        raise ValueError(f"near is {near}, needs to lie between 2 and trained_length, {trained_length}")
    nearby, far = np.arange(1.0, near), np.linspace(near, length - 1, samples)
    stretched = attention_decay(Frequencies(trained), far * trained_length / length)
    wanted = np.concatenate([attention_decay(Frequencies(trained), nearby), stretched])
    weights = np.concatenate([np.full(len(nearby), 1 / len(nearby)), np.full(samples, far_weight / samples)])
    distances = np.concatenate([nearby, far])

    def cost(factors: Float[np.ndarray, "lists pairs"]) -> Float[np.ndarray, "lists"]:
        curves = np.stack([np.mean(np.cos(distances[:, None] * row), axis=-1) for row in trained / factors])
        return ((curves - wanted) ** 2 @ weights) ** 0.5

    return cost


def search(
    cost: Cost,
    starts: Sequence[Float[Any, "pairs"]],
    largest: float,
    rng: np.random.Generator,
    generations: int = 100,
    population: int = 64,
    parents: int = 16,
    mutation: float = 0.3,
) -> Found:
    """An evolutionary search over rising lists of factors between 1 and `largest` (Ding et al., 2024, Alg. 1).

    Args:
        starts: lists to begin with, those of interpolation and NTK-aware scaling among them, as a rule.
        mutation: the chance of each factor to be changed in a child; by how much shrinks with the generations.

    Raises:
        ValueError: there is no start, or one is not a rising list of factors between 1 and `largest`; a number of the search
            is below 1, `parents` below 2 or above `population`, or `mutation` outside (0, 1].
    """
    if generations < 1 or not 2 <= parents <= population or not 0 < mutation <= 1:
        raise ValueError(
            f"generations is {generations}, parents {parents} of a population of {population}, mutation {mutation}: "
            "needs 1 or more, from 2 to the population, and above 0 up to 1"
        )
    if not len(starts):
        raise ValueError("starts is empty, needs at least one list of factors")
    lists = np.array(starts, dtype=np.float64)
    # Interpolation is a start, and s may exceed the largest factor by rounding.
    if np.any(np.diff(lists) < -1e-9) or np.any(lists < 1 - 1e-9) or np.any(lists > largest * (1 + 1e-9)):
        raise ValueError(
            f"starts has a list that falls, or leaves the range from 1 to {largest}, needs rising ones inside"
        )
    scores = cost(lists)
    history = [scores.min()]
    for generation in range(generations):
        best = np.argsort(scores, kind="stable")[:parents]
        lists, scores = lists[best], scores[best]
        scale = 0.5 * (1 - generation / generations)
        n_mutated = (population - len(lists)) // 2
        children = np.concatenate(
            [
                _mutated(lists, n_mutated, mutation, scale, rng),
                _crossed(lists, population - len(lists) - n_mutated, rng),
            ]
        )
        children = _rising(np.clip(children, 1, largest), rng)
        lists, scores = np.concatenate([lists, children]), np.concatenate([scores, cost(children)])
        history.append(scores.min())
    return Found(lists[scores.argmin()], float(scores.min()), np.array(history))


def _mutated(lists: Any, n: int, chance: float, scale: float, rng: np.random.Generator) -> Any:
    """Copies of some lists with some factors changed, by about e^±scale: none, one or many, as lists differ in what they lack."""
    chosen = lists[rng.integers(len(lists), size=n)]
    rate = chance * rng.random((n, 1))
    size = scale * rng.random((n, 1)) ** 2
    changed = rng.random(chosen.shape) < rate
    return chosen * np.exp(np.where(changed, size * rng.normal(size=chosen.shape), 0))


def _crossed(lists: Any, n: int, rng: np.random.Generator) -> Any:
    """Each factor from one of two lists."""
    mothers, fathers = (lists[rng.integers(len(lists), size=n)] for _ in range(2))
    return np.where(rng.random(mothers.shape) < 0.5, mothers, fathers)


def _rising(lists: Any, rng: np.random.Generator) -> Any:
    """Where a list falls, either what follows is raised or what precedes is lowered; always raising would drift upwards."""
    raised = np.maximum.accumulate(lists, axis=-1)
    lowered = np.minimum.accumulate(lists[:, ::-1], axis=-1)[:, ::-1]
    return np.where(rng.random((len(lists), 1)) < 0.5, raised, lowered)


def _require_stretch(trained_length: int, length: int) -> None:
    if not 2 <= trained_length < length:
        raise ValueError(f"trained_length is {trained_length} and length {length}, needs 2 ≤ trained_length < length")
