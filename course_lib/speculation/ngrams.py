"""n-gram language models: real draft and target models that train in a second, without a GPU or a download.

The probability of the next token is read off how often it followed the last tokens before. A long context says most and was
seen least, so each order is laid over the one below it, and gets the more weight the better its context is known
(interpolated Witten-Bell smoothing): with c(h) occurrences of a context h, T(h) different tokens after it, and h′ the context
without its first token,

    p(w | h) = (c(h w) + T(h) p(w | h′)) / (c(h) + T(h))          Witten & Bell, 1991; Chen & Goodman, 1999, §2.4

down to p(w) = (c(w) + T / v) / (N + T), over the uniform 1 / v. Every probability is above 0. A context never seen has
c = T = 0 and leaves the row of the lower order as it is. Order 2 is a good draft for order 4: its rows are those of the
target's own lower order, and lie ready in a table.

    ids       token ids of a text                            (n)
    h         the order − 1 tokens before, fewer at the start of a text
    v         size of the vocabulary
    rows      p(· | h) for some contexts                     (batch, v)
    table     p(· | last token), if v is small enough        (v, v)
"""

from collections.abc import Callable, Sequence
from math import exp
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from course_lib.arrays import like

TABLE_BYTES = 1 << 27  # v up to 4096


class Level(NamedTuple):
    """What the text says about contexts of one length; the n-grams of context i lie from starts[i] to starts[i + 1]."""

    contexts: Int[np.ndarray, "n_contexts"]
    """Each context as one number with its tokens as digits in base v, in ascending order."""
    starts: Int[np.ndarray, "n_contexts_plus_1"]
    tokens: Int[np.ndarray, "n_grams"]
    added: Float[np.ndarray, "n_grams"]
    """c(h w) / (c(h) + T(h)): what the token gets from this order."""
    kept: Float[np.ndarray, "n_contexts"]
    """T(h) / (c(h) + T(h)): the weight of the order below."""
    position: dict[int, int]
    """Where in `contexts` each of them stands."""


class NGramModel:
    """An n-gram model of any order, a `Model` as decoding asks for it: `model(sequences, n_last)`. Made by `train`."""

    def __init__(self, unigram: Float[np.ndarray, "v"], levels: Sequence[Level]) -> None:
        self._unigram = unigram
        self._levels = tuple(levels)
        self._table = None
        if levels and 8 * len(unigram) ** 2 <= TABLE_BYTES:
            self._table = _table(unigram, levels[0])

    @classmethod
    def train(cls, ids: Sequence[int] | Int[np.ndarray, "n"], vocabulary_size: int, order: int) -> "NGramModel":
        """Counts the n-grams of a text up to an order: 1 looks at no context, 2 at one token, and so on.

        Raises:
            ValueError: there are no ids, or one lies outside [0, vocabulary_size); the order is below 1, or so high that
                v^order does not fit into 63 bits.
        """
        if order < 1 or vocabulary_size < 1 or vocabulary_size**order >= 2**63:
            raise ValueError(
                f"order is {order} and vocabulary_size {vocabulary_size}, needs both at least 1 and v^order below 2^63"
            )
        ids = _checked(ids, vocabulary_size)
        counts = np.bincount(ids, minlength=vocabulary_size)
        types = np.count_nonzero(counts)
        unigram = (counts + types / vocabulary_size) / (len(ids) + types)
        return cls(unigram, [_level(ids, vocabulary_size, n) for n in range(2, order + 1)])

    @property
    def order(self) -> int:
        """The longest n-grams that were counted: one more than the tokens of a context."""
        return len(self._levels) + 1

    @property
    def vocabulary_size(self) -> int:
        """v."""
        return len(self._unigram)

    def lower(self, order: int) -> "NGramModel":
        """The same model with shorter contexts, over the same counts: the draft that goes with it.

        Raises:
            ValueError: `order` is below 1 or above the model's own.
        """
        if not 1 <= order <= self.order:
            raise ValueError(f"order is {order}, needs to lie from 1 to the model's own, {self.order}")
        lower = NGramModel(self._unigram, ())
        lower._levels = self._levels[: order - 1]
        lower._table = self._table if order > 1 else None
        return lower

    def __call__(self, sequences: Sequence[Sequence[int]], n_last: int) -> Float[np.ndarray, "batch n_last v"]:
        """The rows after the last `n_last` prefixes of each sequence, the whole sequence being the last of them.

        Raises:
            ValueError: `n_last` is below 1, a sequence has fewer than n_last − 1 tokens, or a token lies outside [0, v).
        """
        if n_last < 1 or any(len(sequence) < n_last - 1 for sequence in sequences):
            raise ValueError(
                f"n_last is {n_last}, needs to be at least 1, and at most one above each sequence's length"
            )
        width = self.order - 1
        contexts = []
        for sequence in sequences:
            for end in range(len(sequence) - n_last + 1, len(sequence) + 1):
                contexts.append(sequence[max(0, end - width) : end])
        return self.rows(contexts).reshape(len(sequences), n_last, self.vocabulary_size)

    def rows(self, contexts: Sequence[Sequence[int]]) -> Float[np.ndarray, "batch v"]:
        """The distributions of the next token after some contexts, of which the last order − 1 tokens count.

        Raises:
            ValueError: a token that counts lies outside [0, v).
        """
        v = self.vocabulary_size
        rows = np.empty((len(contexts), v))
        for row, context in zip(rows, contexts, strict=True):
            known = [int(token) for token in context[max(0, len(context) - self.order + 1) :]]
            if not all(0 <= token < v for token in known):
                raise ValueError(f"contexts has a token outside [0, {v}), needs all of them inside")
            first = 0
            if known and self._table is not None:
                row[:] = self._table[known[-1]]
                first = 1
            else:
                row[:] = self._unigram
            for length in range(first + 1, len(known) + 1):
                _lay_over(row, self._levels[length - 1], _key(known[-length:], v))
        return rows

    def giving(self, x: Float[Any, "..."]) -> Callable[[Sequence[Sequence[int]], int], Float[Any, "batch n_last v"]]:
        """This model with rows in the library, on the device and in the dtype of `x`: torch tensors for a torch loop."""
        return lambda sequences, n_last: like(x, self(sequences, n_last))

    def probabilities(self, ids: Sequence[int] | Int[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
        """What the model gave each token of a text, after those before it; the first has no context.

        Raises:
            ValueError: there are no ids, or one lies outside [0, v).
        """
        v = self.vocabulary_size
        ids = _checked(ids, v)
        p = self._unigram[ids]
        for n, level in enumerate(self._levels[: len(ids) - 1], start=2):
            if not len(level.contexts):
                break  # trained on fewer tokens than this order looks at
            grams = _grams(ids, v, n)
            at = np.searchsorted(level.contexts, grams // v)
            at[at == len(level.contexts)] = 0
            seen = level.contexts[at] == grams // v
            # An n-gram's number is its context's and its token's: in ascending order, as they are stored.
            stored = level.contexts.repeat(np.diff(level.starts)) * v + level.tokens
            found = np.searchsorted(stored, grams)
            found[found == len(stored)] = 0
            added = np.where(stored[found] == grams, level.added[found], 0.0)
            p[n - 1 :] = np.where(seen, level.kept[at] * p[n - 1 :] + added, p[n - 1 :])
        return p

    def perplexity(self, ids: Sequence[int] | Int[np.ndarray, "n"]) -> float:
        """exp of the mean surprise: among how many equally likely tokens the model was wavering, on average.

        Raises:
            ValueError: there are no ids, or one lies outside [0, v).
        """
        return exp(-float(np.mean(np.log(self.probabilities(ids)))))


def _level(ids: Int[np.ndarray, "n"], v: int, n: int) -> Level:
    grams, counts = np.unique(_grams(ids, v, n), return_counts=True)
    contexts, first = np.unique(grams // v, return_index=True)
    starts = np.append(first, len(grams))
    types = np.diff(starts)
    total = (np.add.reduceat(counts, first) if len(first) else types) + types
    position = {context: i for i, context in enumerate(contexts.tolist())}
    return Level(contexts, starts, grams % v, counts / total.repeat(types), types / total, position)


def _table(unigram: Float[np.ndarray, "v"], level: Level) -> Float[np.ndarray, "v v"]:
    """Every row of order 2."""
    kept = np.ones(len(unigram))
    kept[level.contexts] = level.kept
    table = kept[:, None] * unigram
    table[level.contexts.repeat(np.diff(level.starts)), level.tokens] += level.added
    return table


def _lay_over(row: Float[np.ndarray, "v"], level: Level, context: int) -> None:
    """Turns the row of the order below into this order's, where the context was seen."""
    i = level.position.get(context)
    if i is not None:
        start, end = level.starts[i], level.starts[i + 1]
        row *= level.kept[i]
        row[level.tokens[start:end]] += level.added[start:end]


def _grams(ids: Int[np.ndarray, "n"], v: int, n: int) -> Int[np.ndarray, "n_grams"]:
    """Each run of n tokens as one number with digits in base v."""
    grams = np.zeros(max(0, len(ids) - n + 1), dtype=np.int64)
    for i in range(n):
        grams = grams * v + ids[i : i + len(grams)]
    return grams


def _key(context: Sequence[int], v: int) -> int:
    key = 0
    for token in context:
        key = key * v + token
    return key


def _checked(ids: Sequence[int] | Int[np.ndarray, "n"], v: int) -> Int[np.ndarray, "n"]:
    array = np.asarray(ids)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise ValueError(
            f"ids has shape {array.shape} and dtype {array.dtype}, needs one or more whole numbers in a row"
        )
    if array.min() < 0 or array.max() >= v:
        raise ValueError(f"ids has entries from {array.min()} to {array.max()}, needs all of them in [0, {v})")
    return array.astype(np.int64)
