"""Sampling settings: what is done to a model's distribution before a token is drawn from it.

A reader who sets a temperature or top-p asks for tokens from the *changed* distribution. Speculation gives them exactly that,
if the same settings are applied to draft and target before the two are compared, and the drafted tokens are drawn from the
changed draft. Comparing rows from which nobody has drawn is a fault that real programs had.

    p             a model's own distribution, softmax of its logits      (*batch, v)
    temperature   T: p^(1/T), normalised, which is softmax of logits / T; 0 puts all mass on the likeliest token
    top_p         the smallest set of likeliest tokens with at least this mass is kept    Holtzman et al., 2020, §3.1
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from jaxtyping import Float

from course_lib.arrays import arange_like, array_namespace, like
from course_lib.speculation.theory import distribution


@dataclass(frozen=True)
class SamplingSettings:
    """Temperature and top-p, in this order, as one draws with them.

    Raises:
        ValueError: the temperature is negative or not finite, or top_p lies outside (0, 1].
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not (self.temperature >= 0 and isfinite(self.temperature)):
            raise ValueError(f"temperature is {self.temperature}, needs a finite number ≥ 0")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}, needs a number above 0 and at most 1")

    def apply(self, p: Float[Any, "*batch v"]) -> Float[Any, "*batch v"]:
        """The distribution that one draws from, given the model's own; a distribution again, in at least 32 bits.

        Equal probabilities are ranked by their index: of two likeliest tokens, greedy decoding takes the first.

        Raises:
            ValueError: a row of p is no distribution.
        """
        p = distribution("p", p)
        if self.temperature != 1:
            p = _tempered(p, self.temperature)
        return p if self.top_p == 1 else _nucleus(p, self.top_p)


def _tempered(p: Any, temperature: float) -> Any:
    xp = array_namespace(p)
    largest = xp.max(p, axis=-1, keepdims=True)
    if temperature == 0:
        first = xp.argmax(p, axis=-1, keepdims=True)
        return xp.astype(arange_like(p, p.shape[-1]) == first, p.dtype)
    # Against the largest entry, so that p^(1/T) cannot vanish throughout; a probability of 0 stays 0.
    powers = (p / largest) ** (1 / temperature)
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def _nucleus(p: Any, top_p: float) -> Any:
    xp = array_namespace(p)
    order = xp.argsort(p, axis=-1, descending=True, stable=True)
    ranked = xp.take_along_axis(p, order, axis=-1)
    before = xp.cumulative_sum(ranked, axis=-1) - ranked
    # A token stays if those before it have not reached top_p. Sorting the order gives each token's rank back.
    kept = xp.take_along_axis(before < top_p, xp.argsort(order, axis=-1), axis=-1)
    cut = xp.where(kept, p, like(p, 0))
    return cut / xp.sum(cut, axis=-1, keepdims=True)
