"""How a score falls with distance: the curve that rotation gives to attention before a model has learned anything.

For a query and a key that are alike, q·k after rotation is a sum of cosines, one for each pair: all agree at distance 0, and the
more of them have turned by different amounts, the more cancel. The mean falls, with waves, and RoFormer bounds it. Stretching
the frequencies stretches the curve.

    distances   m − n, query minus key                               (*any)
    decay       (2/d)·Σ cos(m·θᵢ): the mean of q·k over q = k of random direction, over that at distance 0
    S_j         Σ_{i<j} e^{i·m·θᵢ}                                   Su et al., 2021 (RoFormer), §3.4.3, eq. 36
    bound       (2/d)·Σ_{j=1}^{d/2} |S_j|; |q·k| ≤ max|h_{j+1} − h_j| · Σ|S_j|, h_j being q's j-th pair times k's, as complex
                numbers                                              eq. 37
"""

from typing import Any

from jaxtyping import Float, Real

from course_lib.arrays import array_namespace, like
from course_lib.positions.rotary import Frequencies, Layout, angles, rotate, rotation


def attention_decay(frequencies: Frequencies, distances: Real[Any, "n"]) -> Float[Any, "n"]:
    """The mean score of q = k of random direction at each distance, in units of their squared length, in float64.

    The attention factor counts squared, as in every score.
    """
    xp = array_namespace(distances)
    return xp.mean(xp.cos(angles(distances, frequencies.inverse)), axis=-1) * frequencies.attention_factor**2


def decay_bound(frequencies: Frequencies, distances: Real[Any, "n"]) -> Float[Any, "n"]:
    """(2/d)·Σ|S_j| at each distance, in float64: how large a score may be at all (Su et al., 2021, §3.4.3)."""
    xp = array_namespace(distances)
    turned = angles(distances, frequencies.inverse)
    real, imaginary = (xp.cumulative_sum(part, axis=-1) for part in (xp.cos(turned), xp.sin(turned)))
    return xp.mean((real**2 + imaginary**2) ** 0.5, axis=-1) * frequencies.attention_factor**2


def score_by_distance(
    q: Float[Any, "*batch d"],
    k: Float[Any, "*batch d"],
    distances: Real[Any, "n"],
    frequencies: Frequencies,
    layout: Layout = "half",
) -> Float[Any, "*batch n"]:
    """q·k after rotation, for the key at position 0 and the query at each of the distances.

    Raises:
        ValueError: as `rotate` does.
    """
    xp = array_namespace(q, k, distances)
    by, at_0 = (rotation(where, frequencies, q) for where in (distances, like(distances, [0])))
    queries = xp.broadcast_to(q[..., None, :], (*q.shape[:-1], distances.shape[0], q.shape[-1]))
    key = rotate(k[..., None, :], at_0, layout)
    return (rotate(queries, by, layout) @ key.mT)[..., 0]
