"""The textbook's algorithm on whole arrays: no pieces, no dictionary, any array library, and so a GPU.

The text is one array of token ids, raw bytes at first. A round counts all pairs of neighbours by sorting, takes the most frequent
one, and writes a shorter array with it merged. Each round reads everything again, which `training` avoids; but it is the same
few steps over millions of numbers, which is what a GPU is for. The merges are those of the reference on one piece.

    ids       token ids                                                            (n)
    keys      each pair of neighbours as one number, a · v + b                     (n − 1)
    v         an integer above every id

In "aaa" the pair (a, a) is there twice, and only the left one may be merged: of places that follow each other, a run, the
first, third, … are taken. The one place where merging from left to right is not the same for all at once.
"""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Bool, Integer

from course_lib.arrays import arange_like, array_namespace, like
from course_lib.tokenization.reference import BYTES, Pair, require_merges


def train(ids: Integer[Any, "n"], n_merges: int) -> list[Pair]:
    """The first `n_merges` merges of one array of bytes; fewer, if it becomes a single token. Equal to the reference's.

    Raises:
        ValueError: `n_merges` is negative, or an entry is no byte.
    """
    require_merges(n_merges)
    xp = array_namespace(ids)
    if not xp.isdtype(ids.dtype, "integral") or (ids.shape[0] and not bool(xp.all((ids >= 0) & (ids < BYTES)))):
        raise ValueError(
            f"ids has dtype {ids.dtype} or entries outside [0, {BYTES}), needs whole numbers that are bytes"
        )
    ids = xp.astype(ids, xp.int64)
    merges: list[Pair] = []
    while len(merges) < n_merges and ids.shape[0] > 1:
        new = BYTES + len(merges)
        pair, _ = most_frequent_pair(ids, new)
        ids = merge(ids, pair, new)
        merges.append(pair)
    return merges


def most_frequent_pair(ids: Integer[Any, "n"], v: int) -> tuple[Pair, int]:
    """The pair that is there most often, of equals the one with the smallest ids, and how often; every id is below v.

    Raises:
        ValueError: there are fewer than two ids.
    """
    if ids.shape[0] < 2:
        raise ValueError(f"ids has {ids.shape[0]} entries, needs at least 2")
    xp = array_namespace(ids)
    keys, counts = xp.unique_counts(ids[:-1] * v + ids[1:])
    most = xp.max(counts)
    key = int(xp.min(keys[counts == most]))
    return divmod(key, v), int(most)


def merge(ids: Integer[Any, "n"], pair: Pair, new: int) -> Integer[Any, "m"]:
    """The ids with the token `new` wherever the pair was, from left to right."""
    xp = array_namespace(ids)
    if ids.shape[0] < 2:
        return ids
    a, b = pair
    found = (ids[:-1] == a) & (ids[1:] == b)
    if a == b:
        found = _every_other(found)
    nothing = like(found, [False], dtype=found.dtype)
    merged = xp.where(xp.concat([found, nothing]), like(ids, new), ids)
    return merged[~xp.concat([nothing, found])]


def encode(ids: Integer[Any, "n"], merges: Sequence[Pair]) -> Integer[Any, "m"]:
    """An array of bytes as tokens, all of it one piece: merge after merge, in the order in which they were learned."""
    for i, pair in enumerate(merges):
        ids = merge(ids, pair, BYTES + i)
    return ids


def _every_other(found: Bool[Any, "n"]) -> Bool[Any, "n"]:
    """Of each run of True, the first, third, … entry."""
    xp = array_namespace(found)
    before = xp.concat([like(found, [False], dtype=found.dtype), found[:-1]])
    first = found & ~before
    # The runs are numbered; the number of an entry's run, looked up, gives where the run starts.
    starts = xp.nonzero(first)[0]
    if starts.shape[0] == 0:
        return found
    run = xp.cumulative_sum(xp.astype(first, xp.int64)) - 1
    start = xp.take(starts, xp.where(run < 0, like(run, 0), run))
    return found & ((arange_like(found, found.shape[0]) - start) % 2 == 0)
