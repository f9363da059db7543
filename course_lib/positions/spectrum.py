"""What a rule does to each pair: wavelength, turns, angles that training never showed, and how far apart neighbours are.

A rule trades two things. Slowing a pair keeps it within the angles it was trained on, and brings neighbouring positions closer
together on its circle. Which pairs pay which price is the whole difference between the rules; here are the numbers, in closed
form, over arrays of any number of leading axes.

    inverse      radians a position under a rule                              (*batch, pairs)
    trained      radians a position in training                               (*batch, pairs)
    wavelength   λᵢ = 2π/θᵢ, positions a turn                                 Peng et al., 2023 (YaRN), §2.3
    turns        turns within a length; a pair below one has not shown the whole circle in training
    unseen       radians of the circle that a length reaches and training did not
    resolution   angle between neighbours, as a share of the trained one: 1 is as trained, 1/s is interpolation
"""

from math import pi
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from course_lib.positions.scaling import Rule


class Spectrum(NamedTuple):
    """A rule at a length, pair by pair, beside what the model was trained on."""

    wavelengths: Float[np.ndarray, "pairs"]
    trained_turns: Float[np.ndarray, "pairs"]
    turns: Float[np.ndarray, "pairs"]
    unseen: Float[np.ndarray, "pairs"]
    resolution: Float[np.ndarray, "pairs"]


def wavelengths(inverse: Float[np.ndarray, "*batch pairs"]) -> Float[np.ndarray, "*batch pairs"]:
    """Positions that a pair takes for one turn; ∞ for one that stands still."""
    with np.errstate(divide="ignore"):
        return 2 * pi / inverse


def turns(inverse: Float[np.ndarray, "*batch pairs"], length: int) -> Float[np.ndarray, "*batch pairs"]:
    """Turns of each pair from the first of `length` positions to the last.

    Raises:
        ValueError: length is below 1.
    """
    if length < 1:
        raise ValueError(f"length is {length}, needs to be at least 1")
    return inverse * (length - 1) / (2 * pi)


def unseen_angles(
    inverse: Float[np.ndarray, "*batch pairs"],
    length: int,
    trained: Float[np.ndarray, "*#batch pairs"],
    trained_length: int,
) -> Float[np.ndarray, "*batch pairs"]:
    """Radians of the circle that distances below `length` reach, and those below `trained_length` did not in training.

    A pair that turned once in training has shown every angle, so 0 is all it can get; it may still meet *combinations* with
    other pairs that it never saw.

    Raises:
        ValueError: a length is below 1.
    """
    reached, known = np.minimum(turns(inverse, length), 1), np.minimum(turns(trained, trained_length), 1)
    return 2 * pi * np.maximum(reached - known, 0)


def spectrum(rule: Rule, length: int, trained: Rule, trained_length: int) -> Spectrum:
    """A rule at a length beside the rule, mostly the plain one, and the length of training.

    Raises:
        ValueError: a length is below 1, or the rules differ in their number of pairs.
    """
    inverse, before = rule.at(length).inverse, trained.at(trained_length).inverse
    if inverse.shape != before.shape:
        raise ValueError(f"rule has {len(inverse)} pairs, needs as many as trained, which has {len(before)}")
    return Spectrum(
        wavelengths(inverse),
        turns(before, trained_length),
        turns(inverse, length),
        unseen_angles(inverse, length, before, trained_length),
        inverse / before,
    )


def last_pair_with_a_whole_turn(trained: Any, trained_length: int) -> int:
    """The index of the slowest pair that turned at least once in training, −1 if none did: the *critical* pair.

    Pairs up to it have shown every angle (Liu et al., 2024, Scaling Laws of RoPE-based Extrapolation, call the number of
    their features the critical dimension).

    Raises:
        ValueError: trained_length is below 1.
    """
    return int(np.sum(turns(trained, trained_length) >= 1)) - 1
