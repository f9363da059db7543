"""Pre-tokenisation: a text is cut into pieces by a pattern, and no merge crosses from one piece to the next.

Without it, frequent merges would glue a word to the full stop behind it, and every word would be learned once for each mark
that may follow. The pattern belongs to the vocabulary: merges learned on one cut mean nothing on another, so a tokenizer
trains and encodes through the same `Splitter`.

    pattern   alternatives tried from left to right at each place; joined, the pieces are the text
    p{L}      letters of all scripts; p{N} numbers, p{M} combining marks, p{Lu} capitals …            Unicode, UAX #44
    settled   the pieces of a text's beginning that nothing after it can change

The patterns are those of tiktoken 0.14, word for word. GPT-2's release has `\\s+(?!\\S)|\\s+` for the last three alternatives,
which cuts the same. GPT-4's cuts numbers into groups of three and takes a newline along with the marks before it.

Python's `re` is two to three times as fast as the `regex` package, and knows nothing of p{L}. As most texts stay within the first
65,536 characters, the pattern is written out for `re` with these classes as ranges, which `regex` itself supplies; only the
pieces around a character beyond them, an emoji for example, are cut by `regex`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import regex

BASIC = 0x10000
BEYOND_BASIC = re.compile("[\U00010000-\U0010ffff]+")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
REACH = 3
"""How far beyond a piece's end its cutting may look, other than over the run it is in: "it'r" waits for an e."""
RUN_AT_END = regex.compile(r"(?r)(?:\s+|[\p{L}\p{M}]+)")
BLOCK = 1 << 16
"""Characters cut at a time where a text is long."""


@dataclass(frozen=True)
class Splitter:
    """Cuts texts into pieces: `split(text)`. Any pattern of the `regex` package will do that leaves no character out.

    Raises:
        ValueError: the pattern cannot be read, or has a group that captures.
    """

    pattern: str

    def __post_init__(self) -> None:
        try:
            compiled = regex.compile(self.pattern)
        except regex.error as error:
            raise ValueError(f"pattern is {self.pattern!r}, which cannot be read: {error}") from error
        if compiled.groups:
            raise ValueError(f"pattern is {self.pattern!r}, needs groups of the form (?:…), which capture nothing")

    def __call__(self, text: str) -> list[str]:
        """The pieces of a text.

        Raises:
            ValueError: the pattern leaves characters out, which could not be decoded.
        """
        if self in KNOWN:
            return self._cut(text)
        pieces = regex.findall(self.pattern, text)
        if "".join(pieces) != text:
            raise ValueError(f"pattern is {self.pattern!r}, which leaves a part of the text out: needs to cover it")
        return pieces

    def settled(self, text: str, certain: int | None = None) -> tuple[list[str], int]:
        """The pieces at the beginning of a text that stay the same whatever follows, and how many characters they are.

        `certain` says that only so many characters are sure, and the rest may still turn out to be something else.

        A piece is settled if its cutting never asked for a character beyond the text. No known pattern asks further than REACH
        characters beyond the piece, but for two runs which it may cross to their end before it steps back: blanks, of which
        the last goes to the word behind them, and letters with their marks, where O200K looks for a small one ("中ABC" is
        中|ABC, "中ABCd" is one piece). So all is held back that touches the last REACH characters, or the run of blanks or of
        letters at the end, and nothing else.

        Raises:
            ValueError: the pattern is not one of the known ones, for which this holds.
        """
        if self not in KNOWN:
            raise ValueError(
                f"pattern is {self.pattern!r}, needs to be one of the known: what settles is not known of it"
            )
        known = text if certain is None else text[:certain]
        run = RUN_AT_END.match(known)
        limit = min(len(known) - REACH, run.start() if run else len(known))
        pieces = self(text)
        end = len(text)
        while pieces and end > limit:
            end -= len(pieces.pop())
        return pieces, end if pieces else 0

    def pieces(self, texts: str | Iterable[str]) -> Iterator[list[str]]:
        """The pieces of one text or of several, a list at a time, so that a long text is never in pieces as a whole."""
        for text in [texts] if isinstance(texts, str) else texts:
            if self not in KNOWN:
                yield self(text)
                continue
            start, size = 0, BLOCK
            while start + size < len(text):
                pieces, length = self.settled(text[start : start + size])
                if length:
                    yield pieces
                start, size = start + length, BLOCK if length else 2 * size
            yield self(text[start:])

    def _cut(self, text: str) -> list[str]:
        """By `re`, and around each character that it does not know piece by piece by `regex`: no known pattern looks back."""
        if text.isascii() or not BEYOND_BASIC.search(text):
            return self._basic.findall(text)
        pieces: list[str] = []
        at = 0
        for beyond in BEYOND_BASIC.finditer(text):
            if at < beyond.start():
                settled, length = self.settled(text[at : beyond.start()])
                pieces += settled
                at += length
            while at < beyond.end():
                pieces.append(self._any.match(text, at).group())
                at += len(pieces[-1])
        return pieces + self._basic.findall(text, at)

    @cached_property
    def _any(self) -> Any:
        return regex.compile(self.pattern)

    @cached_property
    def _basic(self) -> re.Pattern[str]:
        return re.compile(_written_out(self.pattern))


def utf8(text: str) -> bytes:
    """The bytes of a text.

    Raises:
        ValueError: the text has a lone surrogate, half of a character, which has no bytes.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"text has a lone surrogate, U+{ord(text[error.start]):04X}, needs whole characters: "
            "text.encode('utf-16', 'surrogatepass').decode('utf-16') joins two halves"
        ) from error


def _written_out(pattern: str) -> str:
    """The pattern for `re`, its classes of characters as ranges of the first 65,536."""
    written, inside = [], False
    for part in re.findall(r"\\p\{\w+\}|\\.|.", pattern, re.DOTALL):
        if part.startswith(r"\p") or part == r"\s":
            written.append(_ranges(part) if inside else f"[{_ranges(part)}]")
        elif part == r"\S":
            written.append(f"[^{_ranges(chr(92) + 's')}]")
        else:
            inside = part == "[" or (inside and part != "]")
            written.append(part)
    return "".join(written)


@lru_cache
def _ranges(characters: str) -> str:
    """A class of `regex`, the first 65,536 characters of it, as ranges between square brackets."""
    everything = "".join(map(chr, range(BASIC)))
    runs = (match.span() for match in regex.finditer(f"{characters}+", everything))
    return "".join(rf"\u{start:04x}-\u{end - 1:04x}" for start, end in runs)


GPT2 = Splitter(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s")
GPT4 = Splitter(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
O200K = Splitter(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
WHOLE = Splitter(r"(?s:.+)")
"""No cut at all: the textbook's algorithm."""
KNOWN = {GPT2, GPT4, O200K}
