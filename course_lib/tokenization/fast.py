"""The fast tokenizer: the reference's ids, at the speed that Python allows, and vocabularies of other makers.

A tokenizer is a table from bytes to ids, a splitter and special tokens. Two neighbours are merged if their bytes together are
in the table, the lowest id first. For merges that were learned this is the reference's rule, pair by pair: the bytes of a
token, merged by themselves, always become that token, through the same pair. It is also how tiktoken reads its own files, so
that the vocabularies of real models load as they are.

Text repeats itself: a piece that was seen before is looked up. A new one is merged with a heap over a linked list, in
O(n log n), as a scan for each merge would take hours over a megabyte of one letter.

    ranks    bytes of a token → its id, which is its rank too: lower merges first
    piece    a pre-token (splitting), as bytes once it is merged
    ids      token ids                                                                    (n)
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain
from math import inf

from course_lib.tokenization.reference import BYTES, Pair, token_bytes
from course_lib.tokenization.special import Allowed, SpecialTokens
from course_lib.tokenization.splitting import GPT4, Splitter, utf8
from course_lib.tokenization.training import learn_merges

REMEMBERED = 1 << 18
"""Pieces that are kept, and MEMORABLE characters each at most: about 100 MB when all are."""
MEMORABLE = 64


class Tokenizer:
    """A vocabulary that encodes and decodes. `Tokenizer.train` learns one, `from_merges` takes the reference's merges.

    Raises:
        ValueError: a byte or a rank is missing or there twice, or a special token has an id that another has.
    """

    def __init__(
        self, ranks: Mapping[bytes, int], split: Splitter = GPT4, special: Mapping[str, int] | None = None
    ) -> None:
        self.ranks = dict(ranks)
        self.split = split
        self.special = SpecialTokens(special or {})
        if missing := [byte for byte in range(BYTES) if bytes([byte]) not in self.ranks]:
            raise ValueError(f"ranks lacks the byte {missing[0]:#04x}, needs all {BYTES}: no text may be unknown")
        self._tokens = {rank: token for token, rank in self.ranks.items()}
        if len(self._tokens) != len(self.ranks) or min(self._tokens) < 0:
            raise ValueError("ranks has an id twice or a negative one, needs one for each token")
        for token, i in self.special.ids.items():
            if i in self._tokens:
                raise ValueError(f"special has {token!r} at {i}, which is the id of {self._tokens[i]!r}")
            self._tokens[i] = token.encode()
        self._seen = _Seen(self.ranks)

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        n_merges: int,
        split: Splitter = GPT4,
        special: Sequence[str] = (),
    ) -> "Tokenizer":
        """Learns from one text or several: the reference's merges. Special tokens get the ids after the last merge.

        Raises:
            ValueError: `n_merges` is negative, a text has a lone surrogate, or a special token is empty or there twice.
        """
        merges = learn_merges(count_pieces(texts, split), n_merges)
        if len(set(special)) != len(special):
            raise ValueError(f"special is {list(special)}, needs each token once")
        return cls.from_merges(merges, split, {token: BYTES + len(merges) + i for i, token in enumerate(special)})

    @classmethod
    def from_merges(
        cls, merges: Sequence[Pair], split: Splitter = GPT4, special: Mapping[str, int] | None = None
    ) -> "Tokenizer":
        """The tokenizer of merges in the order in which they were learned.

        Raises:
            ValueError: a merge is of a token that was not there yet, or two make the same bytes, as no training does.
        """
        tokens = token_bytes(merges)
        ranks = {token: i for i, token in enumerate(tokens)}
        if len(ranks) != len(tokens):
            twice = next(i for i, token in enumerate(tokens) if ranks[token] != i)
            raise ValueError(
                f"merges has {tokens[twice]!r} at {twice} and again at {ranks[tokens[twice]]}, needs it once"
            )
        return cls(ranks, split, special)

    @property
    def size(self) -> int:
        """Rows that an embedding needs: one more than the highest id."""
        return max(self._tokens) + 1

    @cached_property
    def merges(self) -> list[Pair]:
        """The pair of each token of more than one byte, in the order of their ids.

        Raises:
            ValueError: a token cannot be reached by merging two of lower rank.
        """
        pairs = []
        for token, rank in sorted(self.ranks.items(), key=lambda item: item[1]):
            if len(token) > 1:
                parts = _parts(token, self.ranks, below=rank)
                if len(parts) != 2:
                    raise ValueError(f"ranks has {token!r} at {rank}, which no two tokens of lower rank become")
                pairs.append((self.ranks[parts[0]], self.ranks[parts[1]]))
        return pairs

    def encode(self, text: str, allowed: Allowed = "none_raise") -> list[int]:
        """The text as token ids. Special tokens in it are refused unless `allowed` names them (`SpecialTokens.cut`).

        Raises:
            ValueError: the text has a special token that is not allowed, or a lone surrogate.
        """
        ids: list[int] = []
        for part in self.special.cut(text, allowed):
            if isinstance(part, int):
                ids.append(part)
            else:
                for pieces in self.split.pieces(part):
                    ids += self.encode_pieces(pieces)
        return ids

    def encode_pieces(self, pieces: Iterable[str]) -> list[int]:
        """The ids of text that the splitter has cut already.

        Raises:
            ValueError: a piece has a lone surrogate.
        """
        return list(chain.from_iterable(map(self._seen.__getitem__, pieces)))

    def encode_bytes(self, piece: bytes) -> list[int]:
        """The ids of bytes that need not be text, merged as one piece."""
        return list(_merged(piece, self.ranks))

    def forget(self) -> None:
        """Empties the table of pieces that were seen; ids stay the same, and are worked out again."""
        self._seen.clear()

    def token(self, token: int) -> bytes:
        """The bytes that a token stands for; the text of a special one.

        Raises:
            ValueError: there is no such token.
        """
        return self.decode_bytes([token])

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of these tokens.

        Raises:
            ValueError: an id is no token.
        """
        try:
            return b"".join([self._tokens[token] for token in ids])
        except KeyError as error:
            raise ValueError(f"ids has {error.args[0]}, which is no token of this vocabulary") from None

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens. Bytes that are no text, which only a model writes, show as the replacement character.

        Raises:
            ValueError: an id is no token.
        """
        return self.decode_bytes(ids).decode("utf-8", "replace")


def count_pieces(texts: str | Iterable[str], split: Splitter = GPT4) -> dict[bytes, int]:
    """How often each piece comes in one text or in several, as training asks for it.

    Raises:
        ValueError: a text has a lone surrogate.
    """
    counts: Counter[str] = Counter()
    for pieces in split.pieces(texts):
        counts.update(pieces)
    return {utf8(piece): count for piece, count in counts.items()}


class _Seen(dict[str, tuple[int, ...]]):
    """The ids of each piece that was seen; a new one is merged when it is asked for."""

    def __init__(self, ranks: Mapping[bytes, int]) -> None:
        self.ranks = ranks

    def __missing__(self, piece: str) -> tuple[int, ...]:
        ids = tuple(_merged(utf8(piece), self.ranks))
        if len(piece) <= MEMORABLE:
            if len(self) >= REMEMBERED:
                self.clear()
            self[piece] = ids
        return ids


def _merged(piece: bytes, ranks: Mapping[bytes, int]) -> Iterable[int]:
    return (ranks[piece],) if piece in ranks else map(ranks.__getitem__, _parts(piece, ranks))


def _parts(piece: bytes, ranks: Mapping[bytes, int], below: float = inf) -> list[bytes]:
    """Merges the pair of the lowest rank, the left one first, until none is left `below`.

    A heap entry is rank · n + place, so that the left one of equal pairs comes first. Entries of pairs that are no more there
    stay in the heap and are passed over when they come up.
    """
    n = len(piece)
    end = list(range(1, n + 1))  # where the part that starts at a place ends; 0 once it was swallowed
    before = list(range(-1, n - 1))  # where the part before it starts
    heap = [ranks[pair] * n + i for i in range(n - 1) if (pair := piece[i : i + 2]) in ranks]
    heapify(heap)
    while heap:
        rank, i = divmod(heappop(heap), n)
        if rank >= below:
            break
        middle = end[i]
        if not 0 < middle < n or ranks.get(piece[i : end[middle]]) != rank:
            continue  # a part of it was merged since
        stop = end[i] = end[middle]
        end[middle] = 0
        if stop < n:
            before[stop] = i
            if (score := ranks.get(piece[i : end[stop]])) is not None:
                heappush(heap, score * n + i)
        if i and (score := ranks.get(piece[before[i] : stop])) is not None:
            heappush(heap, score * n + before[i])
    parts, i = [], 0
    while i < n:
        parts.append(piece[i : end[i]])
        i = end[i]
    return parts
