"""LongRoPE's frequencies: a factor of its own for every pair, found by search, and two sets of them.

Where the other rules have a formula, LongRoPE has a list: pair i is slowed by λᵢ (`search` shows how such a list is found).
A list that serves 128k positions hurts short texts, so there is a second, gentler one for lengths up to the original. The
switch is the trap: a text that grows past the original length needs all its keys turned again.

    factors        λᵢ, one for each pair; θᵢ/λᵢ                      (pairs)     Ding et al., 2024 (LongRoPE), §3.1
    short, long    for lengths up to the original L, and above it                §3.3
    attention      √(1 + ln s / ln L) on queries and keys each                   Phi-3's code; Abdin et al., 2024
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from course_lib.positions.rotary import Frequencies
from course_lib.positions.scaling import Rule, require_at_least_one


@dataclass(frozen=True)
class LongRoPE(Rule):
    """A factor for each pair, from one of two lists, by the length of the sequence (Ding et al., 2024).

    A sequence of exactly the original length is short. The attention factor is the same for both lists.

    Attributes:
        original, factor: L and s.
        short, long: λᵢ up to the original length and above it.
        attention_factor: for queries and keys each, if another than √(1 + ln s / ln L).
    """

    original: int = 4096
    factor: float = 1.0
    short: tuple[float, ...] = ()
    long: tuple[float, ...] = ()
    attention_factor: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least_one("factor", self.factor)
        if self.original < 2:
            raise ValueError(f"original is {self.original}, needs to be at least 2")
        for name, factors in (("short", self.short), ("long", self.long)):
            if len(factors) != self.d // 2 or not all(0 < one < np.inf for one in factors):
                raise ValueError(
                    f"{name} has {len(factors)} factors, needs {self.d // 2} finite ones above 0, one a pair"
                )

    def _at(self, length: int) -> Frequencies:
        factors = np.array(self.long if length > self.original else self.short)
        attention = self.attention_factor
        if attention is None:
            attention = sqrt(1 + log(self.factor) / log(self.original))
        return Frequencies(self.trained / factors, attention)
