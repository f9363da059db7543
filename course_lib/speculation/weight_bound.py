"""Models that wait for their weights: n-gram rows at a transformer's price, so that speculation has something to save.

Speculation gains because a run that reads all weights for one position reads them no slower for five. A table of counts has
no weights, and loses. Here a model is wrapped so that each of its runs also multiplies by a stack of matrices, once for all
positions of the run. How much a run of several positions then really costs is a property of the machine and its library.

    weights     L matrices, each (width, width), together far larger than the processor's caches
    positions   sequences times positions asked for: states that pass the weights together
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from course_lib.arrays import like
from course_lib.costs import random_weights, through
from course_lib.speculation.decoding import Model


class WeightBound:
    """A model whose every run also reads a stack of weights, as a transformer of that size would.

    The rows are those of the model inside. Beside it, one state for each position passes all the matrices together, and what
    comes out is *thrown away*: it has no influence on any row. It is there for its time alone, so that one can see, with
    models that train in a second, what speculation is worth where a run waits for its weights. Time it, and never mistake
    it for a better model.

    Args:
        model: what gives the rows.
        weights: matrices of NumPy or torch, of any floating dtype: `random_weights()` or `sixteen_bit_weights()` for a
            target; for a draft a smaller stack, as few matrices as it is to cost.

    Raises:
        ValueError: there are no weights.
    """

    def __init__(self, model: Model, weights: Sequence[Float[Any, "width width"]]) -> None:
        if not weights:
            raise ValueError("weights is empty, needs at least one matrix")
        self.model = model
        self.weights = weights
        self._states: Any = None

    def __call__(self, sequences: Sequence[Sequence[int]], n_last: int) -> Float[Any, "batch n_last v"]:
        """The rows of the model inside, after a pass of as many states as there are positions."""
        rows = self.model(sequences, n_last)
        positions = len(sequences) * n_last
        if self._states is None or self._states.shape[0] < positions:
            normal = np.random.default_rng(0).standard_normal((positions, self.weights[0].shape[0]))
            self._states = like(self.weights[0], normal)
        # One position is a vector, not a matrix with one row: that is how a decoder multiplies it.
        passed = through(self._states[0, :] if positions == 1 else self._states[:positions, :], self.weights)
        float(passed[..., 0].sum())  # on a GPU the pass is over only once a number of it has been asked for
        return rows


def sixteen_bit_weights(n_matrices: int = 12, width: int = 2048, seed: int = 0) -> list[Float[Any, "width width"]]:
    """`random_weights` as bfloat16 torch tensors, each laid out as `torch.nn.Linear` keeps it: column by column.

    Why two kinds of weights: a library may multiply five bfloat16 states in hardly more time than one, and yet need for five
    float32 states several times as long as for one, since it reads a matrix for a single vector at the full speed of memory
    and rearranges it first for a few. Where the premise of speculation holds is to be measured, not deduced.

    Raises:
        ValueError: `n_matrices` or `width` is below 1.
    """
    import torch

    return [torch.from_numpy(w).bfloat16().T.contiguous().T for w in random_weights(n_matrices, width, seed)]
