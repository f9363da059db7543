"""What a vocabulary's user pays: tokens per character, by language and kind of text, and the money that follows.

Providers count tokens, readers count words, and the exchange rate depends on what is written: a vocabulary has merges for what it
was trained on. The same three sentences in twenty languages, which ship with the course, show by how much.

    tokens per character   of a text; its inverse is what fits into a context window        tokens / characters
    premium                tokens of the same text in another language, against English      1 is fair
    price                  money for a million tokens, read and written apart

Prices change every few months. `ILLUSTRATIVE` holds round numbers to calculate with, and no provider's: a reader puts his own
table in its place, each price with the day on which it was read and the page on which it stood.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import NamedTuple

SAMPLES = Path(__file__).parent / "samples" / "languages.txt"
MILLION = 1_000_000
Encoder = Callable[[str], Sequence[int]]


class Rate(NamedTuple):
    """How a vocabulary cuts one text."""

    text: str
    """Its name: a language, or a kind of text."""
    characters: int
    utf8_bytes: int
    tokens: int

    @property
    def tokens_per_character(self) -> float:
        """Tokens over characters."""
        return self.tokens / self.characters

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes over tokens: how far a vocabulary compresses, whatever the script."""
        return self.utf8_bytes / self.tokens


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, those that a model reads and those that it writes.

    Attributes:
        read: money for a million tokens of the prompt.
        written: money for a million tokens of the answer.
        currency: in which.
        date: the day on which the price was looked up, as YYYY-MM-DD.
        source: the page on which it stood.

    Raises:
        ValueError: a price is negative or not finite.
    """

    read: float
    written: float
    currency: str
    date: str
    source: str

    def __post_init__(self) -> None:
        for name in ("read", "written"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}, needs to be a finite number, at least 0")

    def of(self, read: int, written: int = 0) -> float:
        """What so many tokens cost.

        Raises:
            ValueError: a number of tokens is negative.
        """
        if read < 0 or written < 0:
            raise ValueError(f"read is {read} and written {written}, needs numbers of tokens, at least 0")
        return (read * self.read + written * self.written) / MILLION


ROUND_NUMBERS = "round numbers of this course, no provider's: put your own"
ILLUSTRATIVE = {
    "small model": Price(0.2, 1.0, "USD", "2026-11-30", ROUND_NUMBERS),
    "large model": Price(2.0, 10.0, "USD", "2026-11-30", ROUND_NUMBERS),
}
"""A table to copy and edit."""


@lru_cache
def languages() -> dict[str, str]:
    """The same three sentences in twenty languages, by the language's English name; English comes first."""
    lines = SAMPLES.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


def rates(encode: Encoder, texts: Mapping[str, str]) -> list[Rate]:
    """How each text is cut, in their order.

    Raises:
        ValueError: a text is empty.
    """
    found = []
    for name, text in texts.items():
        if not text:
            raise ValueError(f"texts has an empty one, {name!r}, needs at least one character in each")
        found.append(Rate(name, len(text), len(text.encode()), len(encode(text))))
    return found


def premiums(encode: Encoder, texts: Mapping[str, str], base: str = "English") -> dict[str, float]:
    """How many times the tokens of the base each text takes; they say the same, so 1 is what one would wish for.

    Raises:
        ValueError: a text is empty, or none has the name of the base.
    """
    if base not in texts:
        raise ValueError(f"base is {base!r}, needs to be one of {list(texts)}")
    tokens = {rate.text: rate.tokens for rate in rates(encode, texts)}
    return {name: count / tokens[base] for name, count in tokens.items()}


def bill(encode: Encoder, prompts: Iterable[str], answers: Iterable[str], price: Price) -> float:
    """What it costs to have these prompts read and these answers written. An agent pays for its whole history at each step."""
    return price.of(sum(len(encode(text)) for text in prompts), sum(len(encode(text)) for text in answers))
