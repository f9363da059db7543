"""Inputs from a seed: a fixed one in the notebook, a secret one when grading."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

VISIBLE_SEED = 20


class Draw:
    """What a check draws its inputs from. Every method advances one NumPy generator.

    `name` is mixed into the seed, so that a check's inputs do not depend on which checks stand before it. `mine` holds the
    numbers that a private overlay drew for the student at hand; they stay the same under every seed.
    """

    def __init__(self, seed: int = VISIBLE_SEED, name: str = "") -> None:
        self.rng = np.random.default_rng([seed, *name.encode()])
        self.mine: Mapping[str, Any] = {}

    def normal(self, *shape: int, scale: float = 1.0, dtype: str = "float32") -> np.ndarray:
        """Normal numbers of standard deviation `scale`."""
        return (scale * self.rng.standard_normal(shape)).astype(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Any:
        """Whole numbers in [low, high); a plain int when no shape is given."""
        drawn = self.rng.integers(low, high, shape or None)
        return int(drawn) if not shape else drawn

    def uniforms(self, *shape: int) -> np.ndarray:
        """Numbers in [0, 1)."""
        return self.rng.random(shape)

    def probabilities(self, *shape: int, concentration: float = 1.0) -> np.ndarray:
        """Distributions along the last axis (Dirichlet), in float64."""
        return self.rng.dirichlet([concentration] * shape[-1], shape[:-1])

    def choice(self, options: Sequence) -> Any:
        """One of the options."""
        return options[int(self.rng.integers(len(options)))]
