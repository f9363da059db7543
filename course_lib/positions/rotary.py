"""Rotary positions (RoPE): queries and keys turned by angles that grow with their positions.

The features of a head are taken in pairs, and a pair is a point in a plane. The i-th pair of the token at position m is
turned by the angle m·θᵢ. Turning both sides of a product by one angle changes nothing, so what is left in q·k is the
difference of the two angles: the score knows how far apart the tokens are, not where they stand. Each pair has a frequency
of its own, from one radian a position to one in ten thousand. Values are not turned: an output would move with its position.

    theta, θ   base of the frequencies, 10,000 in the paper                           Su et al., 2021 (RoFormer), §3.2.2
    d          features that are turned, an even number; the rest of a head passes as it is (partial rotation)
    inverse    θᵢ = θ^(−2i/d), i = 0, …, d/2 − 1, radians a position                  (pairs)             eq. 15
    positions  m, whole or fractional, in any order, with gaps, negative              (*lead, n)
    x          queries or keys; heads stand before the positions                      (*batch, n, d_head)
    layout     which two features are a pair: "interleaved", 2i and 2i + 1 (eq. 34; Llama's own code, DeepSeek), or
               "half", i and i + d/2 (GPT-NeoX, transformers)

The leading axes of positions are the first of x's; x's other axes, its heads, share them. So (n,) serves everything, and
(batch, n) gives each sequence its own positions in x of shape (batch, heads, n, d_head), however many heads there are.
"""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float, Real

from course_lib.arrays import array_namespace, like

Layout = Literal["interleaved", "half"]


class Frequencies(NamedTuple):
    """How fast each pair turns, and what scores are multiplied by beside; what a rule of `scaling` gives for a length."""

    inverse: Float[Any, "pairs"]
    """Radians a position, in float64."""
    attention_factor: float = 1.0
    """Multiplies turned queries and turned keys, and so counts squared in their scores (YaRN, LongRoPE)."""
    score_factor: float = 1.0
    """Multiplies the scores of the whole head, turned features or not; the attention has to do it (DeepSeek's YaRN)."""


class Rotation(NamedTuple):
    """Cosine and sine of every position's angles, times the attention factor; made once, used by all layers."""

    cos: Float[Any, "*lead n pairs"]
    sin: Float[Any, "*lead n pairs"]


def inverse_frequencies(d: int, theta: float = 10_000.0) -> Float[np.ndarray, "pairs"]:
    """θᵢ = θ^(−2i/d) for i = 0, …, d/2 − 1, in radians a position (Su et al., 2021, eq. 15).

    Raises:
        ValueError: d is not an even number of at least 2, or θ is not a finite number above 0.
    """
    if isinstance(d, bool) or d < 2 or d % 2:
        raise ValueError(f"d is {d}, needs to be an even number of at least 2: features turn in pairs")
    if not 0 < theta < np.inf:
        raise ValueError(f"theta is {theta}, needs to be a finite number above 0")
    return float(theta) ** (-np.arange(0, d, 2) / d)


def angles(
    positions: Real[Any, "*lead n"], inverse: Float[Any, "pairs"], precision: str = "float64"
) -> Float[Any, "*lead n pairs"]:
    """m·θᵢ for every position and pair, in radians, in the positions' library and on their device.

    Angles grow with the position and their rounding with them, while cosine and sine need them to a fraction of a turn. In
    float64 a million positions cost nothing. In float32, as most programs have it, frequency and product are rounded to 2⁻²⁴
    of themselves: fast pairs are off by up to 0.06 radians at position 2²⁰, and by 0.0002 at 4,096. Positions in bfloat16
    are lost from 257 on, which it cannot hold. `precision` is there to see this, and for devices without float64.

    Raises:
        ValueError: the library has no floating dtype of the name `precision`, or the positions have no axis.
    """
    xp = array_namespace(positions)
    dtype = getattr(xp, precision, None)
    if dtype is None or precision not in ("float64", "float32", "float16", "bfloat16"):
        raise ValueError(f"precision is {precision!r}, needs to be the name of a floating dtype that the library has")
    if positions.ndim == 0:
        raise ValueError("positions has no axis, needs a last one: a number for each token")
    return xp.astype(positions, dtype)[..., None] * like(positions, inverse, dtype=dtype)


def rotation(
    positions: Real[Any, "*lead n"], frequencies: Frequencies, x: Float[Any, "..."], precision: str = "float64"
) -> Rotation:
    """What turns tokens at these positions: for x, or anything of its dtype.

    The angles are taken in `precision`; cosine and sine are kept in x's dtype, in float32 if that has 16 bits. Turns add up:
    negative positions turn back, and a key that was turned already moves by the difference of two positions. The attention
    factor would then count once more, so such a turn takes 1 for it.

    Raises:
        ValueError: as `angles` does.
    """
    xp = array_namespace(positions, x)
    dtype = xp.float32 if xp.finfo(x.dtype).bits < 32 else x.dtype
    turns, factor = angles(positions, frequencies.inverse, precision), frequencies.attention_factor
    return Rotation(xp.astype(xp.cos(turns) * factor, dtype), xp.astype(xp.sin(turns) * factor, dtype))


def rotate(x: Float[Any, "*batch n d_head"], by: Rotation, layout: Layout = "half") -> Float[Any, "*batch n d_head"]:
    """`x` with its first pairs turned, in x's dtype: (a, b) becomes (a·cos − b·sin, b·cos + a·sin) (Su et al., 2021, eq. 34).

    Numbers of 16 bits are turned in 32 and rounded once. Queries and keys must be turned in one layout, and in that of the
    weights that made them: of a mixture nothing complains, and position 0 agrees.

    Raises:
        ValueError: the layout has another name, the rotation has more pairs than x has, or its axes do not fit x's.
    """
    _require_layout("layout", layout)
    xp = array_namespace(x)
    cos, sin = spread(by.cos, x), spread(by.sin, x)
    pairs = by.cos.shape[-1]
    if 2 * pairs > x.shape[-1]:
        raise ValueError(f"the rotation has {pairs} pairs, needs at most half of x's {x.shape[-1]} features")
    if layout == "half":
        a, b = x[..., :pairs], x[..., pairs : 2 * pairs]
        turned = xp.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)
    else:
        a, b = x[..., 0 : 2 * pairs : 2], x[..., 1 : 2 * pairs : 2]
        turned = xp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1)
        turned = xp.reshape(turned, (*x.shape[:-1], 2 * pairs))
    turned = xp.astype(turned, x.dtype, copy=False)
    return turned if 2 * pairs == x.shape[-1] else xp.concat([turned, x[..., 2 * pairs :]], axis=-1)


def rope(
    q: Float[Any, "*q_batch n d_head"],
    k: Float[Any, "*k_batch n d_head"],
    positions: Real[Any, "*lead n"],
    frequencies: Frequencies,
    layout: Layout = "half",
) -> tuple[Float[Any, "*q_batch n d_head"], Float[Any, "*k_batch n d_head"]]:
    """Queries and keys of the same tokens, turned; they may differ in their number of heads (grouped-query attention).

    A `score_factor` other than 1 is left to the attention: here it would miss the features that are not turned.

    Raises:
        ValueError: as `angles` and `rotate` do.
    """
    by = rotation(positions, frequencies, q)
    return rotate(q, by, layout), rotate(k, by, layout)


def regroup(x: Any, source: Layout, target: Layout, d: int | None = None) -> Any:
    """`x` with the first d features of its last axis (all of them, unless said) put from one layout into the other.

    Turning in one layout is regrouping, turning in the other, and regrouping back; scores do not see the order of features.
    Applied to the rows of the query and key projections of every head, it turns a checkpoint of one layout into the other.

    Raises:
        ValueError: a layout has another name, or d is not an even number between 2 and x's last axis.
    """
    _require_layout("source", source)
    _require_layout("target", target)
    xp = array_namespace(x)
    d = x.shape[-1] if d is None else d
    if d % 2 or not 2 <= d <= x.shape[-1]:
        raise ValueError(f"d is {d}, needs to be an even number from 2 to {x.shape[-1]}, the last axis of x")
    if source == target:
        return x
    axes = (d // 2, 2) if source == "interleaved" else (2, d // 2)
    moved = xp.reshape(xp.reshape(x[..., :d], (*x.shape[:-1], *axes)).mT, (*x.shape[:-1], d))
    return xp.concat([moved, x[..., d:]], axis=-1)


def spread(table: Any, x: Any) -> Any:
    """`table` of shape (*lead, n, k) with axes of length 1 put in, so that it broadcasts to x of shape (*batch, n, d).

    The leading axes are matched from the left: matched from the right, a batch of as many sequences as heads would go wrong
    without a word.

    Raises:
        ValueError: n differs, or a leading axis is neither that of x nor 1.
    """
    lead, batch = tuple(table.shape[:-2]), tuple(x.shape[:-2])
    fits = x.ndim >= 2 and len(lead) <= len(batch) and table.shape[-2] == x.shape[-2]
    if not fits or any(mine not in (1, theirs) for mine, theirs in zip(lead, batch, strict=False)):
        raise ValueError(
            f"positions has shape {(*lead, table.shape[-2])}, needs the first axes of x, which has {tuple(x.shape)}, "
            "and one number for each of its tokens"
        )
    return array_namespace(table).reshape(table, (*lead, *(1,) * (len(batch) - len(lead)), *table.shape[-2:]))


def _require_layout(name: str, layout: str) -> None:
    if layout not in get_args(Layout):
        raise ValueError(f"{name} is {layout!r}, needs to be one of {', '.join(map(repr, get_args(Layout)))}")
