"""Frequencies for texts longer than those a model was trained on: interpolation, NTK-aware, and its dynamic form.

A model that was trained on L positions has seen the slow pairs turn through a part of the circle only, and on a longer text
it meets angles that it never saw. RoPE by itself extrapolates badly (Chen et al., 2023, §2.2), so one slows the pairs down.
*How much, for which pair* is all in which the rules differ. Every rule has one form: `rule.at(length)` gives the frequencies,
and what scores are multiplied by, for a sequence of so many positions. This module has the rules with a single knob;
`by_parts` and `longrope` treat pairs one by one.

    d, theta       as in `rotary`: features that are turned, base                            → θᵢ
    original, L    the length that the model was trained on
    factor, s      how many times as long the text may be
    interpolation  θᵢ / s: every pair alike                                   Chen et al., 2023, eq. 4
    NTK-aware      base θ·s^(d/(d−2)): the fastest pair as it was, the slowest slowed by exactly s, the others in between
                                                                              bloc97, 2023; Peng et al., 2023 (YaRN), §3.1
    dynamic        NTK-aware with the s that the *present* length asks for     emozilla, 2023; Peng et al., 2023, §3.3
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np
from jaxtyping import Float

from course_lib.positions.rotary import Frequencies, inverse_frequencies


@dataclass(frozen=True)
class Rule:
    """The frequencies as they were trained, for every length: what all other rules start from.

    Raises:
        ValueError: d is not an even number of at least 2, θ is not a finite number above 0, or a further field of a rule is
            out of its range.
    """

    d: int
    theta: float = 10_000.0

    def __post_init__(self) -> None:
        self.trained  # noqa: B018  complains of d and θ

    @property
    def trained(self) -> Float[np.ndarray, "pairs"]:
        """θᵢ before any scaling."""
        return inverse_frequencies(self.d, self.theta)

    def at(self, length: int) -> Frequencies:
        """Frequencies and factors for a sequence of `length` positions, its largest position plus one.

        Raises:
            ValueError: length is below 1.
        """
        _require_length(length)
        return self._at(length)

    def _at(self, length: int) -> Frequencies:
        return Frequencies(self.trained)


@dataclass(frozen=True)
class Interpolation(Rule):
    """Position interpolation: every pair slowed down by s (Chen et al., 2023, eq. 4), as if positions were m/s.

    No angle is new. But neighbours, too, are now 1/s apart: the fine differences that the fast pairs tell are blurred.
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least_one("factor", self.factor)

    def _at(self, length: int) -> Frequencies:
        return Frequencies(self.trained / self.factor)


@dataclass(frozen=True)
class NTKAware(Rule):
    """A larger base, θ·s^(d/(d−2)), so that pair i is slowed by s^(2i/(d−2)): the first not at all, the last by s.

    Pairs in between that had not turned once in training are slowed by less than s, and leave their trained angles.
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least_one("factor", self.factor)
        _require_two_pairs(self.d)

    def _at(self, length: int) -> Frequencies:
        return Frequencies(inverse_frequencies(self.d, ntk_base(self.theta, self.d, self.factor)))


@dataclass(frozen=True)
class DynamicNTK(Rule):
    """NTK-aware with s from the present length n: s = factor·n/L − (factor − 1) beyond L, and as trained up to it.

    With factor 1 that is n/L; a larger one stretches as much more as it is larger (emozilla's α, as in transformers). The
    frequencies change with every token beyond L: keys turned before do not fit any more (see `stale`).
    """

    original: int = 2048
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least_one("factor", self.factor)
        require_at_least_one("original", self.original)
        _require_two_pairs(self.d)

    def _at(self, length: int) -> Frequencies:
        stretch = self.factor * max(length, self.original) / self.original - (self.factor - 1)
        return Frequencies(inverse_frequencies(self.d, ntk_base(self.theta, self.d, stretch)))


def ntk_base(theta: float, d: int, factor: float) -> float:
    """θ·s^(d/(d−2)): the base that slows the slowest of d/2 pairs by s (bloc97, 2023; Peng et al., 2023, §3.1)."""
    return theta * factor ** (d / (d - 2))


def stale(rule: Rule, before: int, after: int) -> bool:
    """Whether keys that were turned at length `before` are wrong for a query at length `after`.

    A cache holds turned keys. If the rule gives other frequencies, or another factor, for the longer text, they have to be
    turned anew, or be kept unturned; of a mixture nothing complains, and the text turns to noise.

    Raises:
        ValueError: a length is below 1.
    """
    first, then = rule.at(before), rule.at(after)
    return not np.array_equal(first.inverse, then.inverse) or first[1:] != then[1:]


def require_at_least_one(name: str, value: float) -> None:
    """Complains of what is not a finite number of at least 1.

    Raises:
        ValueError: it is not; the text names the argument.
    """
    if not (isfinite(value) and value >= 1):
        raise ValueError(f"{name} is {value}, needs to be a finite number of at least 1")


def _require_length(length: int) -> None:
    if length < 1:
        raise ValueError(f"length is {length}, needs to be at least 1")


def _require_two_pairs(d: int) -> None:
    if d < 4:
        raise ValueError(
            f"d is {d}, needs to be at least 4: with one pair no base slows the last by s and the first not"
        )
