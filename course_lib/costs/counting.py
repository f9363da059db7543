"""Counting what a token costs: parameters, score entries, cache bytes, floating-point operations.

Everything here is counted from a model's shape, without running it. A multiply and an add are two operations, so a matrix
of w weights costs 2·w for each token that passes it. Only matrix products are counted: norms, biases and activations
cost a few operations a number, and the softmax a few for each score entry, where the products cost 4·d_head.

    n              tokens in the context
    n_new, n_past  tokens that pass the model now, and tokens whose keys and values are in the cache already
    (i, j)         a query and a key that it sees: one score entry, 2·d_head for q·k and 2·d_head for weight·v, in each
                   of the L·h heads; so 4·L·h·d_head for each pair (Kaplan et al., 2020, Table 1, counts half of that,
                   which is the average over a causal sequence)

Counts are Python integers, exact at any size. Counts and lengths may also be NumPy arrays, which broadcast; the results
are then float64, exact up to 2⁵³, where an int64 would overflow in silence.
"""

from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from course_lib.costs.shapes import ModelShape


class ParameterCount(NamedTuple):
    """Stored parameters by part; a tied unembedding is stored in the embedding and counts 0 here."""

    embedding: int
    positions: int
    attention: int
    feed_forward: int
    norms: int
    unembedding: int

    @property
    def total(self) -> int:
        """All stored parameters."""
        return sum(self)

    @property
    def read_per_step(self) -> int:
        """Parameters that one step must read: all but the embedding tables, of which it looks up single rows.

        The unembedding is read whole, wherever it is stored.
        """
        return self.attention + self.feed_forward + self.norms + (self.unembedding or self.embedding)


class ForwardFlops(NamedTuple):
    """Floating-point operations of a forward pass, by what causes them."""

    blocks: Any
    unembedding: Any
    attention: Any

    @property
    def weights(self) -> Any:
        """Operations of all products with weights: those in the blocks and the unembedding."""
        return self.blocks + self.unembedding

    @property
    def total(self) -> Any:
        """Operations of the whole pass."""
        return self.weights + self.attention


def parameter_count(shape: ModelShape) -> ParameterCount:
    """The parameters of a model, exactly: matrices, biases, norms and position tables.

    Biases sit inside the part they belong to. Each block has two norms, and one follows the last block.
    """
    attention, feed_forward = _block_matrices(shape)
    if shape.biases != "none":
        attention += (shape.n_heads + 2 * shape.n_kv_heads) * shape.d_head
    if shape.biases == "all":
        attention += shape.d_model
        feed_forward += (2 if shape.gated else 1) * shape.d_ff + shape.d_model
    norm = shape.d_model * (2 if shape.biases == "all" else 1)
    table = shape.vocab_size * shape.d_model
    return ParameterCount(
        embedding=table,
        positions=shape.context_length * shape.d_model if shape.learned_positions else 0,
        attention=shape.n_layers * attention,
        feed_forward=shape.n_layers * feed_forward,
        norms=(2 * shape.n_layers + 1) * norm,
        unembedding=0 if shape.tied_embeddings else table,
    )


def score_entries(n: Any, n_heads: int = 1, n_layers: int = 1, batch: Any = 1, causal: bool = False) -> Any:
    """Entries of the attention score matrices over n tokens: n² a head, or n(n + 1)/2 that a causal mask leaves.

    Raises:
        ValueError: `n` is negative, or another count is below 1.
    """
    n = checked_count("n", n, at_least=0)
    heads = checked_count("batch", batch) * checked_count("n_layers", n_layers) * checked_count("n_heads", n_heads)
    return heads * (_pairs(n, 0, causal=True) if causal else n * n)


def kv_cache_bytes(shape: ModelShape, n: Any, batch: Any = 1, bytes_per_value: int | float = 2) -> Any:
    """Bytes of the keys and values of n tokens in each of `batch` sequences: 2·L·h_kv·d_head·n·batch values.

    Every layer is taken to keep every token (no sliding window). A `bytes_per_value` of 2 is bfloat16.

    Raises:
        ValueError: `n` is negative, `batch` is below 1, or `bytes_per_value` is not positive.
    """
    values_per_token = 2 * shape.n_layers * shape.n_kv_heads * shape.d_head
    tokens = checked_count("n", n, at_least=0) * checked_count("batch", batch)
    return values_per_token * tokens * checked_positive("bytes_per_value", bytes_per_value)


def forward_flops(shape: ModelShape, n_new: Any, n_past: Any = 0, batch: Any = 1, causal: bool = True) -> ForwardFlops:
    """Operations of passing n_new tokens, after n_past cached ones, through the model, in each of `batch` sequences.

    A prompt is `forward_flops(shape, n)`; a decode step whose token sees n tokens, itself among them, is
    `forward_flops(shape, 1, n - 1)`. Every token is unembedded. Without `causal`, every new token is scored against all
    n_past + n_new keys: what an implementation computes that fills the whole square and masks half of it away.

    Raises:
        ValueError: `n_new` or `batch` is below 1, or `n_past` is negative.
    """
    n_new = checked_count("n_new", n_new)
    n_past = checked_count("n_past", n_past, at_least=0)
    batch = checked_count("batch", batch)
    tokens = batch * n_new
    return ForwardFlops(
        blocks=2 * shape.n_layers * sum(_block_matrices(shape)) * tokens,
        unembedding=2 * shape.vocab_size * shape.d_model * tokens,
        attention=4 * shape.n_layers * shape.n_heads * shape.d_head * batch * _pairs(n_new, n_past, causal),
    )


def checked_count(name: str, value: Any, at_least: int = 1) -> Any:
    """`value` as an exact Python integer, or as a float64 array; an array may hold fractions (the grid of a curve).

    Raises:
        ValueError: an entry is below `at_least` or not finite, or a single number is not whole.
    """
    if np.ndim(value):
        values = np.asarray(value, dtype=np.float64)
        unfit = values[~(np.isfinite(values) & (values >= at_least))]
        if unfit.size:
            raise ValueError(f"{name} has an entry {unfit[0]:g}, needs finite entries of at least {at_least}")
        return values
    if isinstance(value, np.ndarray):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real) or value % 1 or not value >= at_least:
        raise ValueError(f"{name} is {value!r}, needs to be a whole number of at least {at_least}")
    return int(value)


def checked_positive(name: str, value: int | float) -> int | float:
    """`value`, unchanged, if it is a finite number above 0; a ValueError that names it otherwise."""
    if not (isinstance(value, Real) and isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value!r}, needs to be a finite number above 0")
    return value


def _block_matrices(shape: ModelShape) -> tuple[int, int]:
    """Weights in the matrices of one block: attention (W_Q and W_O, W_K and W_V) and feed-forward."""
    attention = 2 * shape.d_model * (shape.n_heads + shape.n_kv_heads) * shape.d_head
    feed_forward = (3 if shape.gated else 2) * shape.d_model * shape.d_ff
    return attention, feed_forward


def _pairs(n_new: Any, n_past: Any, causal: bool) -> Any:
    """Query–key pairs: the i-th new token sees the past, the new ones before it, and itself."""
    if not causal:
        return n_new * (n_past + n_new)
    return n_new * n_past + _halved(n_new * (n_new + 1))


def _halved(product: Any) -> Any:
    return product // 2 if isinstance(product, int) else product / 2
