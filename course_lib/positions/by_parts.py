"""Frequencies changed pair by pair, by how often each turned in training: YaRN and Llama 3.1's rule.

A pair that turned many times within the trained length has shown every angle; it tells neighbours apart and is left alone. One
that did not complete a turn would meet new angles; it is slowed by s. Between the two lies a ramp. That is "NTK by parts".
Llama 3.1 has it with the ramp over the number of turns. YaRN's paper has the same ramp, and YaRN's *code*, and everything
that follows it, has one over the pair's index: between the same two pairs, of another shape, and rounded out to whole pairs.

    r           L / λᵢ = L·θᵢ/2π, turns of pair i within the original length L      Peng et al., 2023 (YaRN), §3.2
    beta_fast   a pair with at least so many turns is left alone (β, 32; Llama 3.1's high_freq_factor, 4)
    beta_slow   a pair with at most so many is slowed by s (α, 1; Llama 3.1's low_freq_factor, 1)
    keep        γ: the share of its own frequency that a pair keeps; the rest is θᵢ/s      Definition 2
    attention   0.1·ln s + 1 on queries and keys each: a longer text has more keys, over which softmax spreads; larger
                scores sharpen it again. In q·k it counts squared, 1/t in the paper        §3.4
    mscale, mscale_all_dim    DeepSeek's: 0.1·m·ln s + 1 with m of each; the quotient of the two goes to turned features, the
                square of the second to all scores (DeepSeek-AI, 2024, DeepSeek-V2, §3.1.4, and its code)
"""

from dataclasses import dataclass
from math import ceil, floor, log, pi
from typing import Any, Literal

import numpy as np

from course_lib.positions.rotary import Frequencies
from course_lib.positions.scaling import Rule, require_at_least_one


@dataclass(frozen=True)
class YaRN(Rule):
    """NTK by parts, and sharper scores (Peng et al., 2023, Definition 3).

    Attributes:
        original, factor: L and s.
        beta_fast, beta_slow: the turns at which the ramp ends.
        ramp: "pairs", over the index, as in the code; or "turns", as in the paper.
        whole_pairs: the ramp over the index ends at whole pairs, rounded outwards (`truncate` in transformers).
        attention_factor: for queries and keys each, if another than 0.1·ln s + 1.
        mscale, mscale_all_dim: DeepSeek's two; 0 where there is none.
    """

    original: int = 4096
    factor: float = 1.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    ramp: Literal["pairs", "turns"] = "pairs"
    whole_pairs: bool = True
    attention_factor: float | None = None
    mscale: float = 0.0
    mscale_all_dim: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least_one("factor", self.factor)
        require_at_least_one("original", self.original)
        _require_order("beta_slow", self.beta_slow, "beta_fast", self.beta_fast)
        if self.ramp not in ("pairs", "turns"):
            raise ValueError(f"ramp is {self.ramp!r}, needs to be 'pairs' or 'turns'")

    def _at(self, length: int) -> Frequencies:
        if self.ramp == "turns":
            keep = kept_by_turns(self.trained, self.original, self.beta_slow, self.beta_fast)
        else:
            keep = self._kept_by_index()
        inverse = self.trained * (keep + (1 - keep) / self.factor)
        return Frequencies(inverse, self._attention(), _magnitude(self.factor, self.mscale_all_dim) ** 2)

    def _kept_by_index(self) -> Any:
        low, high = (self._pair_with_turns(turns) for turns in (self.beta_fast, self.beta_slow))
        if self.whole_pairs:
            low, high = floor(low), ceil(high)
        low, high = max(low, 0), min(high, self.d - 1)
        width = high - low if high != low else 0.001
        return 1 - np.clip((np.arange(self.d // 2) - low) / width, 0, 1)

    def _pair_with_turns(self, turns: float) -> float:
        """The index, a fraction, at which a pair would turn so many times within the original length."""
        return self.d * log(self.original / (2 * pi * turns)) / (2 * log(self.theta))

    def _attention(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            return _magnitude(self.factor, self.mscale) / _magnitude(self.factor, self.mscale_all_dim)
        return _magnitude(self.factor, 1)


@dataclass(frozen=True)
class Llama3(Rule):
    """Llama 3.1's rule: by parts, over turns, no sharper scores (the `apply_scaling` of Meta's llama-models code).

    Attributes:
        original, factor: L and s; 8,192 and 8 in Llama 3.1, 32 in Llama 3.2.
        low, high: `low_freq_factor` and `high_freq_factor`, the turns at which the ramp ends.
    """

    original: int = 8192
    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least_one("factor", self.factor)
        require_at_least_one("original", self.original)
        _require_order("low", self.low, "high", self.high)

    def _at(self, length: int) -> Frequencies:
        keep = kept_by_turns(self.trained, self.original, self.low, self.high)
        return Frequencies(self.trained * (keep + (1 - keep) / self.factor))


def kept_by_turns(inverse: Any, original: int, slow: float, fast: float) -> Any:
    """γ(r): 0 for pairs with at most `slow` turns within the original length, 1 from `fast` on, linear between."""
    turns = original * inverse / (2 * pi)
    return np.clip((turns - slow) / (fast - slow), 0, 1)


def _magnitude(factor: float, mscale: float) -> float:
    """0.1·m·ln s + 1; 1 for m = 0."""
    return 0.1 * mscale * log(factor) + 1


def _require_order(low_name: str, low: float, high_name: str, high: float) -> None:
    if not 0 < low < high:
        raise ValueError(f"{low_name} is {low} and {high_name} {high}, needs 0 < {low_name} < {high_name}")
