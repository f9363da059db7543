"""Byte-pair encoding, the algorithm in its own order: slow, and what every other part of this room must agree with.

A text is a row of bytes. Training finds the pair of neighbours that is there most often, makes it a token of its own, and does
so again, on a text that has become shorter. What is learned is the list of pairs, in this order. To encode another text, the
same merges are made in the same order: never the longest token that fits, always the merge that was learned first. Every
text can be written, as every byte is a token, and decoding gives back the bytes.

    pieces   the text, cut by a pattern (splitting); no merge crosses from one piece to the next
    merges   pairs (a, b), in the order in which they were learned; the i-th makes token 256 + i      Gage, 1994
    rank     a pair's place in that order; the lower rank is merged first          Sennrich et al., 2016, Alg. 1
    ids      token ids: 0, …, 255 are the bytes, 256, 257, … the merges                              (n)

The tie rule: of equally frequent pairs the one with the smallest ids is merged, the left one first. (Others take the pair
seen first, which depends on the order of the texts.) A pair's count is that of its places, so "aaa" has two of (a, a); a merge
goes from left to right, so "aaa" becomes (aa) a.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from course_lib.tokenization.splitting import GPT4, Splitter, utf8

BYTES = 256
Pair = tuple[int, int]


def train(text: str, n_merges: int, split: Splitter = GPT4) -> list[Pair]:
    """The first `n_merges` merges of a text; fewer, if no two tokens are left side by side.

    Raises:
        ValueError: `n_merges` is negative, or the text has a lone surrogate.
    """
    return learn([utf8(piece) for piece in split(text)], n_merges)


def learn(pieces: Iterable[bytes], n_merges: int) -> list[Pair]:
    """As `train`, from pieces that have been cut already, or from raw bytes.

    Raises:
        ValueError: `n_merges` is negative.
    """
    require_merges(n_merges)
    words = [list(piece) for piece in pieces]
    merges: list[Pair] = []
    while len(merges) < n_merges and (counts := count_pairs(words)):
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        words = [merge(ids, pair, BYTES + len(merges)) for ids in words]
        merges.append(pair)
    return merges


def count_pairs(words: Iterable[Sequence[int]]) -> Counter[Pair]:
    """How often each pair of tokens stands side by side."""
    counts: Counter[Pair] = Counter()
    for ids in words:
        counts.update(pairwise(ids))
    return counts


def merge(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """The ids with the token `new` wherever the pair was, from left to right."""
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def encode(text: str, merges: Sequence[Pair], split: Splitter = GPT4) -> list[int]:
    """The text as token ids, each piece by itself: of all pairs in it, the one learned first is merged, until none is left.

    Raises:
        ValueError: the text has a lone surrogate.
    """
    rank = {pair: i for i, pair in enumerate(merges)}
    encoded = []
    for piece in split(text):
        ids = list(utf8(piece))
        while known := [pair for pair in pairwise(ids) if pair in rank]:
            first = min(known, key=rank.__getitem__)
            ids = merge(ids, first, BYTES + rank[first])
        encoded += ids
    return encoded


def decode(ids: Iterable[int], merges: Sequence[Pair]) -> str:
    """The text of these tokens; bytes that are no text, which only a model writes, show as the replacement character.

    Raises:
        ValueError: an id is no token, or a merge is of a token that was not there yet.
    """
    tokens = token_bytes(merges)
    ids = list(ids)
    if unknown := [token for token in ids if not 0 <= token < len(tokens)]:
        raise ValueError(f"ids has a token {unknown[0]}, needs all of them in [0, {len(tokens)})")
    return b"".join(tokens[token] for token in ids).decode("utf-8", "replace")


def token_bytes(merges: Sequence[Pair]) -> list[bytes]:
    """What each token stands for, in the order of the ids.

    Raises:
        ValueError: a merge is of a token that was not there yet.
    """
    tokens = [bytes([byte]) for byte in range(BYTES)]
    for a, b in merges:
        if not (0 <= a < len(tokens) and 0 <= b < len(tokens)):
            raise ValueError(f"merges has ({a}, {b}) for token {len(tokens)}, needs two tokens in [0, {len(tokens)})")
        tokens.append(tokens[a] + tokens[b])
    return tokens


def require_merges(n_merges: int) -> None:
    """Raises ValueError where `n_merges` is no number of merges."""
    if n_merges < 0:
        raise ValueError(f"n_merges is {n_merges}, needs to be at least 0")
