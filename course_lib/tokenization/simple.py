"""The two ends between which subwords lie: a token for each word, a token for each character. How each fails, in numbers.

Words have a long tail. Any list of them leaves some out, and all that are left out become one and the same token: what they
were is lost. The list is paid for in an embedding matrix, of a row for each word, and again in the output's. Characters leave
almost nothing out and cost few rows, but a text becomes four to five times as long, and attention pays for length squared.

    v               rows: tokens in all, with the unknown one, whose id is 0
    d_model         columns of the embedding matrix
    unknown rate    of the tokens of a held-out text, the share that is unknown
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

UNKNOWN = 0
WORD = re.compile(r" ?\w+| ?[^\w\s]|\s")


class Measured(NamedTuple):
    """What a vocabulary makes of a text, and what it costs."""

    size: int
    """v."""
    tokens: int
    characters_per_token: float
    unknown_rate: float
    parameters: int
    """v · d_model: of one matrix. A model whose output projection is a matrix of its own pays twice."""
    megabytes: float
    """Of these parameters, 10⁶ bytes each."""


@dataclass(frozen=True)
class ListTokenizer:
    """Tokens are the entries of a list; everything else is unknown. Made by `train_words` and `train_characters`.

    Raises:
        ValueError: an entry is there twice.
    """

    entries: tuple[str, ...]
    cut: Callable[[str], Sequence[str]]
    """How a text falls into what may be an entry."""
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.entries)) != len(self.entries):
            raise ValueError(f"entries has {len(self.entries)} entries, needs each once")
        object.__setattr__(self, "_ids", {entry: i for i, entry in enumerate(self.entries, start=1)})

    @property
    def size(self) -> int:
        """v."""
        return len(self.entries) + 1

    def encode(self, text: str) -> list[int]:
        """The text as token ids; what is not in the list is 0."""
        return [self._ids.get(part, UNKNOWN) for part in self.cut(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens; what was unknown cannot be said any more, and shows as the replacement character.

        Raises:
            ValueError: an id lies outside [0, v).
        """
        parts = []
        for token in ids:
            if not 0 <= token < self.size:
                raise ValueError(f"ids has a token {token}, needs all of them in [0, {self.size})")
            parts.append("\ufffd" if token == UNKNOWN else self.entries[token - 1])
        return "".join(parts)


def words(text: str) -> list[str]:
    """The words and marks of a text, each with a blank before it, and what other blanks there are; joined they are the text."""
    return WORD.findall(text)


def train_words(text: str, size: int) -> ListTokenizer:
    """The most frequent words of a text, equals by their spelling, until there are `size` tokens with the unknown one.

    Raises:
        ValueError: `size` is below 1.
    """
    return _trained(text, size, words)


def train_characters(text: str, size: int = 1 << 20) -> ListTokenizer:
    """The most frequent characters of a text: by default all.

    Raises:
        ValueError: `size` is below 1.
    """
    return _trained(text, size, list)


def embedding_parameters(size: int, d_model: int, tied: bool = True) -> int:
    """Entries of the embedding matrix, and of the output projection where that is a matrix of its own (`tied` is False).

    Raises:
        ValueError: a number is below 1.
    """
    if size < 1 or d_model < 1:
        raise ValueError(f"size is {size} and d_model {d_model}, needs both to be at least 1")
    return size * d_model * (1 if tied else 2)


def measure(
    encode: Callable[[str], Sequence[int]],
    size: int,
    text: str,
    d_model: int = 768,
    bytes_per_parameter: int = 2,
    unknown: int | None = UNKNOWN,
) -> Measured:
    """A tokenizer on a text that it was not trained on. `unknown` is None where every text can be written.

    Raises:
        ValueError: the text is empty, or `size` or `d_model` below 1.
    """
    if not text:
        raise ValueError("text is empty, needs at least one character")
    ids = encode(text)
    parameters = embedding_parameters(size, d_model)
    lost = 0 if unknown is None else sum(token == unknown for token in ids)
    return Measured(
        size, len(ids), len(text) / len(ids), lost / len(ids), parameters, parameters * bytes_per_parameter / 1e6
    )


def _trained(text: str, size: int, cut: Callable[[str], Sequence[str]]) -> ListTokenizer:
    if size < 1:
        raise ValueError(f"size is {size}, needs to be at least 1, for the unknown token")
    counts = Counter(cut(text))
    return ListTokenizer(tuple(sorted(counts, key=lambda part: (-counts[part], part))[: size - 1]), cut)
