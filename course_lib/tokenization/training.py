"""Training fast: the merges of the reference, from whole-array steps over the distinct words.

Three observations make it fast. A word (a pre-token) that comes a thousand times is the same word: it is kept once, with its
count as its weight. A merge changes only the pairs beside it: counts are kept up to date, not counted again. And whatever is
new in a merge contains the new token: a pair's places are all found in the merge that makes it, so one grouped array per merge
is the whole index from pairs to places, and a pair's count can only fall from then on.

The words lie in one array, a border before and after each. A place is an index into it:

    ids         the token that starts at a place; BORDER between words, stale where a merge has swallowed the place   (n)
    after       the place of the next token, and `before` that of the last one: a doubly linked list                  (n)
    weight      how often the word at this place comes in the text                                                    (n)
    pair_at     the number of the pair that starts at a place; 0, a pair of no account, where none does               (n)
    counts      by pair number: the weighted count of its places                                                      (pairs)
    keys        by pair number: both tokens in one integer, a · 2³² + b, so that smaller keys are smaller pairs       (pairs)

The most frequent pair comes from a heap of pairs with at least `least` places, which holds a count as it was: an entry that is
out of date goes back with what it is now. When the heap runs empty, `least` is halved. Of equally frequent pairs the one
with the smallest ids is merged, as in the reference.
"""

from bisect import bisect_right
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from jaxtyping import Int

from course_lib.tokenization.reference import BYTES, Pair, require_merges

BORDER = -1
SHIFT = 32


def learn_merges(words: Mapping[bytes, int], n_merges: int) -> list[Pair]:
    """The first `n_merges` merges of words with their counts (all there are, if fewer): the reference's, tie by tie.

    Raises:
        ValueError: `n_merges` is negative, or a count below 1.
    """
    require_merges(n_merges)
    if any(count < 1 for count in words.values()):
        raise ValueError("words has a count below 1, needs how often each word comes")
    places = _Places(words)
    merges: list[Pair] = []
    while len(merges) < n_merges and (pair := places.most_frequent()):
        merges.append(places.merge(pair, BYTES + len(merges)))
    return merges


class _Places:
    """Where each pair is, how often it comes, and which comes most often."""

    def __init__(self, words: Mapping[bytes, int]) -> None:
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        text = np.frombuffer(b"".join(words), dtype=np.uint8)
        inside = np.arange(len(text)) + np.repeat(np.arange(len(words)), lengths) + 1
        self.ids = np.full(len(text) + len(words) + 1, BORDER, dtype=np.int64)
        self.ids[inside] = text
        self.weight = np.zeros_like(self.ids)
        self.weight[inside] = np.repeat(np.array(list(words.values()), dtype=np.int64), lengths)
        self.after = np.arange(1, len(self.ids) + 1)
        self.before = np.arange(-1, len(self.ids) - 1)
        self.pair_at = np.zeros_like(self.ids)

        self.counts = np.zeros(1, dtype=np.int64)
        self.keys = np.zeros(1, dtype=np.int64)
        self.n_pairs = 1
        # By merge: the number of its first new pair, and the places of all its new pairs with the bounds between them.
        self.firsts: list[int] = []
        self.groups: list[tuple[Any, Any]] = []
        self.heap: list[tuple[int, int, int]] = []
        self.least = np.iinfo(np.int64).max
        first = inside[:-1][np.diff(inside) == 1]
        self._add(first, (self.ids[first] << SHIFT) | self.ids[first + 1])

    def most_frequent(self) -> int:
        """The number of the pair to merge, or 0 if no two tokens stand side by side."""
        while True:
            while self.heap:
                count, key, pair = heappop(self.heap)
                now = int(self.counts[pair])
                if now == -count:
                    return pair
                if now >= self.least:
                    heappush(self.heap, (-now, key, pair))
            most = int(self.counts[: self.n_pairs].max())
            if not most:
                return 0
            self.least = most // 2 + 1 if most > 1 else 1
            self.heap = self._entries(np.flatnonzero(self.counts[: self.n_pairs] >= self.least))
            heapify(self.heap)

    def merge(self, pair: int, new: int) -> Pair:
        """Puts the token `new` where the pair is, left to right, and keeps all counts right."""
        a, b = divmod(int(self.keys[pair]), 1 << SHIFT)
        merge = bisect_right(self.firsts, pair) - 1
        bounds, places = self.groups[merge]
        at = places[bounds[pair - self.firsts[merge]] : bounds[pair - self.firsts[merge] + 1]]
        at = at[self.pair_at[at] == pair]
        if a == b:
            at = _left_to_right(at, self.after)
        swallowed, weight = self.after[at], self.weight[at]

        # The pairs that end with a, and those that start with b, lose a place. In "abab" one and the same pair does both: it
        # starts at a swallowed place, and has no number any more when the pairs before are looked at.
        np.subtract.at(self.counts, self.pair_at[swallowed], weight)
        self.pair_at[swallowed] = 0
        np.subtract.at(self.counts, self.pair_at[self.before[at]], weight)
        self.counts[pair] = self.counts[0] = 0

        following = self.after[swallowed]
        self.after[at] = following
        self.before[following] = at
        self.ids[at] = new
        self.pair_at[at] = 0

        left, right = self.before[at], self.ids[following]
        left_ids = self.ids[left]
        kept = (left_ids != BORDER) & (left_ids != new)  # a pair (new, new) is counted once, from its left
        inside = right != BORDER
        self._add(
            np.concatenate([left[kept], at[inside]]),
            np.concatenate([(left_ids[kept] << SHIFT) | new, (new << SHIFT) | right[inside]]),
        )
        return a, b

    def _add(self, places: Int[np.ndarray, "p"], keys: Int[np.ndarray, "p"]) -> None:
        """Numbers the pairs that start at these places; none of them was there before."""
        order = np.argsort(keys, kind="stable")  # stable: the places of a pair stay in the order of the text
        keys, places = keys[order], places[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        bounds = np.append(starts, len(keys))
        n = len(starts)
        numbers = slice(self.n_pairs, self.n_pairs + n)
        while numbers.stop > len(self.counts):
            self.counts, self.keys = (np.concatenate([x, np.zeros_like(x)]) for x in (self.counts, self.keys))
        self.pair_at[places] = np.repeat(np.arange(numbers.start, numbers.stop), np.diff(bounds))
        if n:
            self.counts[numbers] = np.add.reduceat(self.weight[places], starts)
        self.keys[numbers] = keys[starts]
        self.firsts.append(self.n_pairs)
        self.groups.append((bounds, places))
        self.n_pairs += n
        for entry in self._entries(np.flatnonzero(self.counts[numbers] >= self.least) + numbers.start):
            heappush(self.heap, entry)

    def _entries(self, pairs: Int[np.ndarray, "m"]) -> list[tuple[int, int, int]]:
        return list(zip((-self.counts[pairs]).tolist(), self.keys[pairs].tolist(), pairs.tolist(), strict=True))


def _left_to_right(at: Int[np.ndarray, "p"], after: Int[np.ndarray, "n"]) -> Int[np.ndarray, "q"]:
    """Of the places of a pair (a, a), those that are merged: in a run "aaaaa" the first, the third, and so on."""
    index = np.arange(len(at))
    continues = np.zeros(len(at), dtype=bool)
    continues[1:] = after[at[:-1]] == at[1:]
    run_start = np.maximum.accumulate(np.where(continues, 0, index))
    return at[(index - run_start) % 2 == 0]
