"""What attention knows of order when nobody tells it.

Attention compares contents and refers to no index. Without a mask it is permutation-*equivariant*: shuffle the tokens, and
the outputs are shuffled alike, each the same as before. "Dog bites man" does not give the outputs of "man bites dog", but it
gives the same three vectors in another order, and whatever pools them cannot tell the two apart.

A causal mask breaks this, as token t sees t tokens. In one layer the last output is still a weighted sum over a *set*, and
ignores the order of what went before. In two layers it does not: what the second sums up has already seen prefixes of
different lengths. And with a marked first token, one head that looks at everything alike reads off its own position: the
mark's weight is 1/t.

    x       token embeddings without positions            (*batch, n, d)
    layer   w_q, w_k, w_v, one head, added to its input   (d, d) each         Vaswani et al., 2017, eq. 1

    Haviv et al., 2022: causal models without positions know them; Kazemnejad et al., 2023, §5.1, Thm. 1: how a head can.

The attention here is a private one, just large enough to ask these questions.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from course_lib.arrays import arange_like, array_namespace, like, masked, softmax


class Layer(NamedTuple):
    """Weights of one attention layer with one head."""

    w_q: Float[Any, "d d"]
    w_k: Float[Any, "d d"]
    w_v: Float[Any, "d d"]


def random_layers(rng: np.random.Generator, n_layers: int, x: Float[Any, "*batch n d"]) -> list[Layer]:
    """Layers for x, in its library and dtype, with normal weights that keep the size of what passes through.

    Raises:
        ValueError: n_layers is below 1.
    """
    if n_layers < 1:
        raise ValueError(f"n_layers is {n_layers}, needs to be at least 1")
    d = x.shape[-1]
    return [Layer(*(like(x, w) for w in rng.normal(scale=d**-0.5, size=(3, d, d)))) for _ in range(n_layers)]


def run(x: Float[Any, "*batch n d"], layers: Sequence[Layer], causal: bool) -> Float[Any, "*batch n d"]:
    """`x` through a stack that is told nothing of positions: x + attention(x), layer after layer."""
    for layer in layers:
        x = x + _attention(x @ layer.w_q, x @ layer.w_k, x @ layer.w_v, causal)
    return x


def equivariance_gap(model: Callable[[Any], Any], x: Float[Any, "*batch n d"], order: Int[Any, "n"]) -> float:
    """The largest |model(x reordered) − model(x) reordered|: zero, but for rounding, if the model is equivariant.

    Raises:
        ValueError: `order` is not a permutation of the n tokens.
    """
    xp = array_namespace(x, order)
    n = x.shape[-2]
    if tuple(order.shape) != (n,) or not bool(xp.all(xp.sort(order) == arange_like(order, n, dtype=order.dtype))):
        raise ValueError(f"order is {order}, needs to be a permutation of 0, …, {n - 1}: x has {n} tokens")
    first, then = model(xp.take(x, order, axis=-2)), xp.take(model(x), order, axis=-2)
    return float(xp.max(xp.abs(first - then)))


def order_sensitivity(
    model: Callable[[Any], Any], x: Float[Any, "*batch n d"], rng: np.random.Generator, shuffles: int = 16
) -> float:
    """How far the *last* output moves when the tokens before it are shuffled, as a share of its length.

    The mean over shuffles and batch of ‖change‖ / ‖output‖.

    Raises:
        ValueError: x has fewer than 3 tokens, which leave nothing to shuffle, or shuffles is below 1.
    """
    n = x.shape[-2]
    if n < 3 or shuffles < 1:
        raise ValueError(f"x has {n} tokens and shuffles is {shuffles}, needs at least 3 tokens and 1 shuffle")
    xp = array_namespace(x)
    last = model(x)[..., n - 1, :]
    moved = []
    for _ in range(shuffles):
        order = like(x, [*rng.permutation(n - 1), n - 1], dtype=xp.int64)
        change = model(xp.take(x, order, axis=-2))[..., n - 1, :] - last
        moved.append(float(xp.mean(_length(change) / _length(last))))
    return sum(moved) / shuffles


def marked_first_token_weights(x: Float[Any, "*batch n d"]) -> Float[Any, "n"]:
    """What a causal head that looks at all tokens alike reads of a mark on the first one: 1/t at the t-th token.

    With w_q = 0 all scores are equal, and a value that is 1 for the mark and 0 otherwise comes out as the mark's weight. Its
    inverse is the position, told by nothing but the mask (Kazemnejad et al., 2023, Thm. 1).
    """
    xp = array_namespace(x)
    n = x.shape[-2]
    alike = xp.zeros((n, 1), dtype=x.dtype, device=x.device)
    mark = xp.astype(arange_like(x, n) == 0, x.dtype)[:, None]
    return _attention(alike, alike, mark, causal=True)[:, 0]


def _attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
    index = arange_like(q, q.shape[-2])
    mask = index[:, None] >= index[None, :] if causal else None
    return softmax(masked(q @ k.mT * q.shape[-1] ** -0.5, mask)) @ v


def _length(x: Any) -> Any:
    return array_namespace(x).sum(x * x, axis=-1) ** 0.5
