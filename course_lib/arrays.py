"""What NumPy and torch do differently, so that a mechanism is written once.

Every mechanism of the course has one definition, in the words of the Python array API standard: NumPy arrays in, NumPy
arrays out; torch tensors on a GPU in, torch tensors on that GPU out, with gradients. Most of the standard needs no help.
This module holds the rest: constants that keep the device and the precision of what they meet, the safe softmax that
everything rests on, gathering along the last axis, and random numbers that every library draws alike. Nothing writes
into an argument, and torch is imported only when a torch object arrives.

    xp    the namespace an array belongs to: `numpy`, `array_api_compat.torch`, `array_api_strict`
"""

from collections.abc import Sequence
from math import inf, nan
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from jaxtyping import Bool, Float, Int

__all__ = [
    "arange_like",
    "array_namespace",
    "device",
    "like",
    "logsumexp",
    "masked",
    "sample",
    "softmax",
    "take_last",
    "to_numpy",
    "uniforms",
]


def like(x: Any, values: Any, dtype: Any = None) -> Any:
    """`values` (numbers, nested lists, an array of any library) as an array of x's library, on x's device.

    The dtype is x's unless another is named. Constants come through here because their own dtype would win otherwise:
    `x / np.sqrt(64)` turns float32 into float64. The result shares neither memory nor gradients with `values`.
    """
    xp = array_namespace(x)
    dtype = x.dtype if dtype is None else dtype
    if isinstance(values, (int, float)):
        return xp.full((), values, dtype=dtype, device=device(x))  # made on the device: nothing is sent to it
    # By way of NumPy, as no library takes another's arrays; copied there, as torch.asarray would alias what it is given.
    return xp.asarray(np.array(to_numpy(values)), dtype=dtype, device=device(x))


def arange_like(x: Any, *bounds: int | float, dtype: Any = None) -> Any:
    """`arange(*bounds)` in x's library and on x's device; int64 unless a dtype is named."""
    xp = array_namespace(x)
    return xp.arange(*bounds, dtype=xp.int64 if dtype is None else dtype, device=device(x))


def masked(scores: Float[Any, "..."], mask: Bool[Any, "..."] | None) -> Float[Any, "..."]:
    """The scores where `mask` is True and −∞ elsewhere; no mask, no change.

    `mask` broadcasts to the shape of `scores`. Masked entries get a gradient of zero.

    Raises:
        ValueError: the mask is not boolean (an additive mask of 0 and −∞ reads the other way round), or too large.
    """
    if mask is None:
        return scores
    xp = array_namespace(scores, mask)
    if not xp.isdtype(mask.dtype, "bool"):
        raise ValueError(f"mask has dtype {mask.dtype}, needs bool: True where a query may see a key")
    if not _broadcasts_to(mask.shape, scores.shape):
        raise ValueError(f"mask has shape {tuple(mask.shape)}, needs one that broadcasts to {tuple(scores.shape)}")
    return xp.where(mask, scores, like(scores, -inf))


def softmax(x: Float[Any, "..."], axis: int = -1) -> Float[Any, "..."]:
    """exp(x) over its sum along `axis`, in x's dtype; safe for any finite x, because the largest entry is subtracted.

    A row of −∞, and so a query that may see no key, gives zeros, with gradients of zero. A row with +∞ or NaN in it is
    NaN throughout: an overflow upstream stays visible.

    Raises:
        ValueError: x is not of a floating dtype, or has no such axis.
    """
    xp = array_namespace(x)
    wide = _wide(x)
    weights = xp.exp(wide - _finite_shift(_row_maximum(wide, axis)))
    total = xp.sum(weights, axis=axis, keepdims=True)
    return xp.astype(weights / xp.where(total == 0, like(total, 1), total), x.dtype, copy=False)


def logsumexp(x: Float[Any, "..."], axis: int = -1, keepdims: bool = False) -> Float[Any, "..."]:
    """log Σ exp(x) along `axis`, in x's dtype, without overflow.

    A row of −∞, or without entries, gives −∞, with gradients of zero; a row with +∞ gives +∞, one with NaN gives NaN.

    Raises:
        ValueError: x is not of a floating dtype, or has no such axis.
    """
    xp = array_namespace(x)
    wide = _wide(x)
    largest = _row_maximum(wide, axis)
    shift = _finite_shift(largest)
    total = xp.sum(xp.exp(wide - shift), axis=axis, keepdims=True)
    result = xp.log(xp.where(total == 0, like(total, 1), total)) + shift
    for extreme in (-inf, inf):
        result = xp.where(largest == extreme, like(wide, extreme), result)
    return xp.astype(result if keepdims else xp.squeeze(result, axis=axis), x.dtype, copy=False)


def sample(p: Float[Any, "*batch v"], uniforms: Float[Any, "*batch"]) -> Int[Any, "*batch"]:
    """One index per row of `p`, by inverting its cumulative distribution at `uniforms`, numbers in [0, 1).

    Rows need not sum to one. An index of probability zero is never returned, however the sums round. They are
    accumulated in float64: in bfloat16 a vocabulary of 50,000 would stop growing long before its end.

    Raises:
        ValueError: shapes disagree; a row of p has no mass, or an entry that is negative, infinite or NaN; a uniform
            lies outside [0, 1).
    """
    xp = array_namespace(p, uniforms)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(f"p has shape {tuple(p.shape)}, needs a last axis with at least one entry")
    if tuple(uniforms.shape) != tuple(p.shape[:-1]):
        raise ValueError(f"uniforms has shape {tuple(uniforms.shape)}, needs one number per row of p: {p.shape[:-1]}")
    # `>=` is False for NaN, so a NaN fails these checks too.
    if not bool(xp.all((uniforms >= 0) & (uniforms < 1))):
        raise ValueError("uniforms has entries outside [0, 1), needs all of them inside")
    possible = p > 0
    if not bool(xp.all((p >= 0) & (p < inf)) & xp.all(xp.any(possible, axis=-1))):
        raise ValueError("p has a row that is no distribution, needs finite entries ≥ 0 and one above 0 in each row")
    cumulative = xp.cumulative_sum(xp.astype(p, xp.float64), axis=-1)
    threshold = xp.astype(uniforms, xp.float64)[..., None] * cumulative[..., -1:]
    index = arange_like(p, p.shape[-1])
    # The threshold may round up to the whole sum: the last possible index then takes it.
    last = xp.max(xp.where(possible, index, like(index, 0)), axis=-1, keepdims=True)
    reached = possible & ((cumulative > threshold) | (index == last))
    return xp.argmax(xp.astype(reached, xp.int8), axis=-1)


def take_last(x: Any, index: Int[Any, "*batch"]) -> Any:
    """`x[..., index]` row by row: from x of shape (*batch, v) and indices (*batch) in [0, v), an array of (*batch).

    Raises:
        ValueError: shapes disagree, the indices are not integers, or one lies outside [0, v).
    """
    xp = array_namespace(x, index)
    if x.ndim == 0 or tuple(index.shape) != tuple(x.shape[:-1]):
        raise ValueError(
            f"index has shape {tuple(index.shape)}, needs one entry per row of x, which has {tuple(x.shape)}"
        )
    if not xp.isdtype(index.dtype, "integral"):
        raise ValueError(f"index has dtype {index.dtype}, needs an integer one")
    # NumPy wraps a negative index round, torch raises, and a GPU kills the whole process over a large one.
    if not bool(xp.all((index >= 0) & (index < x.shape[-1]))):
        raise ValueError(f"index has entries outside [0, {x.shape[-1]}), needs all of them inside")
    return xp.take_along_axis(x, xp.astype(index, xp.int64)[..., None], axis=-1)[..., 0]


def uniforms(rng: Any, shape: int | Sequence[int], like: Float[Any, "..."]) -> Float[Any, "..."]:
    """Numbers drawn uniformly from [0, 1), in the library, on the device and in the dtype of `like`.

    `rng` is a `numpy.random.Generator` or a `torch.Generator`. The draws are made in float64 and rounded *down* to
    multiples of 2⁻ᵇ, b being the bits of the dtype's significand: one seed gives the same numbers to every library, and
    none becomes 1.0. Sixteen-bit floats are coarse (bfloat16 has b = 8): to sample from a vocabulary, draw in float32.

    Raises:
        ValueError: `rng` is neither kind of generator, or `like` is not of a floating dtype.
    """
    xp = array_namespace(like)
    _require_floating("like", like)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(rng, np.random.Generator):
        draws = rng.random(shape)
    elif type(rng).__module__.startswith("torch"):
        import torch

        draws = to_numpy(torch.rand(shape, generator=rng, dtype=torch.float64, device=rng.device))
    else:
        raise ValueError(f"rng has type {type(rng).__name__}, needs a numpy.random.Generator or a torch.Generator")
    step = float(xp.finfo(like.dtype).eps) / 2
    return xp.asarray(np.floor(draws / step) * step, dtype=like.dtype, device=device(like))


def to_numpy(x: Any) -> np.ndarray:
    """`x` as a NumPy array on the CPU, cut off from any gradient; bfloat16, which NumPy lacks, becomes float32.

    It may share memory with `x`: read it, do not write into it.
    """
    if is_torch_array(x):
        x = x.detach().cpu()
        return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()
    return np.asarray(x)


def _wide(x: Any) -> Any:
    """`x`, or in float32 if it has 16 bits: a float16 sum ends at 65,504, a bfloat16 one stops growing at 256 ones."""
    _require_floating("x", x)
    xp = array_namespace(x)
    return xp.astype(x, xp.float32) if xp.finfo(x.dtype).bits < 32 else x


def _row_maximum(x: Any, axis: int) -> Any:
    """The largest entry along `axis`, which is kept with length 1; −∞ where there is none."""
    xp = array_namespace(x)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis is {axis}, needs to be one of the {x.ndim} axes of x, whose shape is {tuple(x.shape)}")
    if x.shape[axis] == 0:
        shape = list(x.shape)
        shape[axis] = 1
        return xp.full(tuple(shape), -inf, dtype=x.dtype, device=device(x))
    return xp.max(x, axis=axis, keepdims=True)


def _finite_shift(largest: Any) -> Any:
    """What to subtract from each row: ∞ − ∞ is undefined, so a row of −∞ is left alone and one with +∞ becomes NaN."""
    xp = array_namespace(largest)
    shift = xp.where(largest == -inf, like(largest, 0), largest)
    return xp.where(largest == inf, like(largest, nan), shift)


def _require_floating(name: str, x: Any) -> None:
    if not array_namespace(x).isdtype(x.dtype, "real floating"):
        raise ValueError(f"{name} has dtype {x.dtype}, needs a floating one")


def _broadcasts_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    try:
        return np.broadcast_shapes(tuple(shape), tuple(target)) == tuple(target)
    except ValueError:
        return False
