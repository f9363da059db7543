"""Sinusoidal positions: a vector of waves for each position, added to the embedding.

What rotation does inside attention, the first transformer did once, at its door: each position gets the sines and cosines of
its angles as a vector, and that is added to the token's. A shift by k is the same linear map wherever it starts, a rotation
of each pair by −k·θᵢ; so a model *can* learn to look k back. It has to learn it, though, as a sum leaves four products in
q·k (content and position of either side), and only one of them depends on the distance alone.

    PE(m, 2i)       sin(m·θᵢ)          θᵢ = θ^(−2i/d), as in `rotary`         Vaswani et al., 2017, §3.5
    PE(m, 2i + 1)   cos(m·θᵢ)
    x               embeddings                                                (*batch, n, d)
    layout          "interleaved" as above; "half": all sines, then all cosines (tensor2tensor, fairseq, Marian)
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Real

from course_lib.arrays import array_namespace
from course_lib.positions.rotary import Layout, angles, inverse_frequencies, regroup, spread


def sinusoidal(
    positions: Real[Any, "*lead n"],
    d: int,
    x: Float[Any, "..."],
    theta: float = 10_000.0,
    layout: Layout = "interleaved",
) -> Float[Any, "*lead n d"]:
    """PE(m) for every position, in x's dtype (Vaswani et al., 2017, §3.5). Every row has the length √(d/2).

    Raises:
        ValueError: d is not an even number of at least 2, θ is not a finite number above 0, or the layout has another name.
    """
    xp = array_namespace(positions, x)
    turns = angles(positions, inverse_frequencies(d, theta))
    waves = xp.astype(xp.concat([xp.sin(turns), xp.cos(turns)], axis=-1), x.dtype)
    return regroup(waves, "half", layout)


def add_sinusoidal(
    x: Float[Any, "*batch n d"],
    positions: Real[Any, "*lead n"],
    theta: float = 10_000.0,
    layout: Layout = "interleaved",
) -> Float[Any, "*batch n d"]:
    """`x` + PE. The leading axes of positions are the first of x's.

    Raises:
        ValueError: as `sinusoidal` does, or the axes of positions do not fit those of x.
    """
    return x + spread(sinusoidal(positions, x.shape[-1], x, theta, layout), x)


def shift_matrix(
    offset: float, d: int, theta: float = 10_000.0, layout: Layout = "interleaved"
) -> Float[np.ndarray, "d d"]:
    """The matrix M with PE(m + offset) = M · PE(m) for every m: a rotation of each pair (Vaswani et al., 2017, §3.5).

    Raises:
        ValueError: as `sinusoidal` does.
    """
    turns = offset * inverse_frequencies(d, theta)
    cos, sin = np.diag(np.cos(turns)), np.diag(np.sin(turns))
    halves = np.block([[cos, sin], [-sin, cos]])
    return regroup(regroup(halves, "half", layout).T, "half", layout).T
