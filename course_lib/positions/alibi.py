"""ALiBi: no positions at all, but a price on distance.

Nothing is added to embeddings and nothing is turned. Each head subtracts its own slope times the distance from the scores,
so that far keys weigh less, by as much as the head's slope says. What was never seen in training is only a larger price,
and a model trained short keeps its perplexity on longer text. It keeps it by hardly looking there: at a slope of ½ a key 50
tokens back has lost 25 nats. That is the contrast to RoPE, which reaches anywhere and must be mended to reach beyond.

    slopes        one for each head, a geometric series from 2^(−8/h) to 2^(−8)   (h)          Press et al., 2022, §3
    bias          −slope · |i − j|, added to the scores before softmax            (*h, n, m)
    h             heads; if not a power of two, the series for the next smaller power, then every second one of the next larger
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Real

from course_lib.arrays import array_namespace, like


def alibi_slopes(n_heads: int) -> Float[np.ndarray, "h"]:
    """The slopes of n_heads heads: 2^(−8·k/h), k = 1, …, h, for a power of two (Press et al., 2022, §3).

    Other numbers of heads are as in the authors' code: the steep slopes of the series twice as fine fill up the rest.

    Raises:
        ValueError: n_heads is below 1.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads is {n_heads}, needs to be at least 1")
    power = 1 << (n_heads.bit_length() - 1)
    between = np.arange(1, 2 * (n_heads - power), 2)
    return 2.0 ** (-8 / power * np.concatenate([np.arange(1, power + 1), between / 2]))


def alibi_bias(
    q_positions: Real[Any, "n"], k_positions: Real[Any, "m"], slopes: Float[Any, "*h"], scores: Float[Any, "..."]
) -> Float[Any, "*h n m"]:
    """−slope · |i − j| for queries at i and keys at j, in the dtype of `scores`, to which it is to be added.

    The distance is taken before it is rounded to the dtype: bfloat16 cannot tell positions 1,024 and 1,027 apart. Under a
    causal mask slope · j, which some programs add, gives the same weights, as softmax does not see a constant in a row.
    """
    xp = array_namespace(q_positions, k_positions, scores)
    distance = xp.astype(xp.abs(q_positions[:, None] - k_positions[None, :]), xp.float64)
    price = like(scores, slopes, dtype=xp.float64)[..., None, None] * distance
    return xp.astype(-price, scores.dtype)
