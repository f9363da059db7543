"""Real text on every machine that has Python, and a small vocabulary that can spell any text.

How often a draft is believed depends on what is written, so α is measured on real text: prose is Python's own language
reference, which ships with it for `help()`, and code is its standard library. Neither needs a network. A text is cut into
pieces (a word with the blank before it, a number, a run of blanks, a line's end with the next line's indentation, a mark);
the most frequent pieces are tokens, and every other piece is spelled byte by byte, so that no text has an unknown token and
decoding gives back exactly what was encoded.

    text    a string
    ids     token ids: 0, …, 255 are the bytes, 256, …, v − 1 the pieces, most frequent first    (n)
    v       size of the vocabulary, 256 + pieces
"""

import os
import re
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

BYTES = 256
KINDS = ("prose", "code")
SAMPLES = Path(__file__).parent / "samples"
# Letters, digits, line ends, other blanks, marks: each character belongs to one of them, so nothing falls between.
PIECE = re.compile(r" ?[^\W\d_]+|\d+|\n+[^\S\n]*|[^\S\n]+(?= \S)|[^\S\n]+|[^\w\s]|_")
# Packages that are not Python's own, tests, and the prose.
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "pydoc_data", "__pycache__"}


def real_text(kind: str, limit: int = 1_000_000) -> str:
    """Text of this Python installation, at most `limit` characters: "prose" or "code".

    Prose is the language reference, topic after topic in the order of their names; a paragraph that several topics share is
    taken once, or what is held out would have been read in training (370,000 characters are left in Python 3.11). Code is
    the standard library, folder by folder and file by file in the order of their names, without tests. Another version of
    Python has a slightly different text; `sample_text` has one that never changes.

    Raises:
        ValueError: `kind` is neither word, `limit` is below 1, or this installation came without that text.
    """
    _check_kind(kind)
    if limit < 1:
        raise ValueError(f"limit is {limit}, needs to be at least 1")
    parts, found = [], 0
    for part in _topics() if kind == "prose" else _modules():
        parts.append(part)
        found += len(part) + 1
        if found >= limit:
            break
    if not found:
        raise ValueError(f"kind is {kind!r}, which this Python came without, needs a full one (or use sample_text)")
    return "\n".join(parts)[:limit]


def sample_text(kind: str) -> str:
    """About 60,000 characters of "prose" or "code" that ship with the course: the same on every machine.

    They are cut from CPython 3.11; samples/README.txt says which parts, and under which licence.

    Raises:
        ValueError: `kind` is neither word.
    """
    _check_kind(kind)
    return (SAMPLES / f"{kind}.txt").read_text(encoding="utf-8")


def pieces(text: str) -> list[str]:
    """The text, cut into words, numbers, blanks, line ends and marks; joined again they are the text."""
    return PIECE.findall(text)


@dataclass(frozen=True)
class Vocabulary:
    """Which pieces are tokens. Bytes are tokens 0, …, 255; the i-th piece is token 256 + i.

    Raises:
        ValueError: a piece is there twice, or is empty.
    """

    pieces: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.pieces)) != len(self.pieces) or "" in self.pieces:
            raise ValueError(f"pieces has {len(self.pieces)} entries, needs each to be there once, and none empty")
        object.__setattr__(self, "_ids", {piece: BYTES + i for i, piece in enumerate(self.pieces)})

    @classmethod
    def train(cls, text: str, n_pieces: int = 2000) -> "Vocabulary":
        """The `n_pieces` most frequent pieces of the text (all, if there are fewer); equally frequent ones by their text.

        Raises:
            ValueError: `n_pieces` is negative.
        """
        if n_pieces < 0:
            raise ValueError(f"n_pieces is {n_pieces}, needs to be at least 0")
        counts = Counter(pieces(text))
        return cls(tuple(sorted(counts, key=lambda piece: (-counts[piece], piece))[:n_pieces]))

    @property
    def size(self) -> int:
        """v: tokens in all, the 256 bytes among them."""
        return BYTES + len(self.pieces)

    def encode(self, text: str) -> list[int]:
        """The text as token ids; `decode` gives it back exactly, whatever it is."""
        ids: list[int] = []
        for piece in pieces(text):
            token = self._ids.get(piece)
            if token is None:
                ids.extend(piece.encode("utf-8", "surrogatepass"))
            else:
                ids.append(token)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens. Bytes that are no text, which only a model writes, show as the replacement character.

        Raises:
            ValueError: an id lies outside [0, v).
        """
        written = b"".join(self._bytes(int(token)) for token in ids)
        try:
            return written.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return written.decode("utf-8", "replace")

    def show(self, ids: Sequence[int]) -> list[str]:
        """Each token by itself, as one would write it in a table.

        Raises:
            ValueError: an id lies outside [0, v).
        """
        return [self.decode([token]) for token in ids]

    def _bytes(self, token: int) -> bytes:
        if not 0 <= token < self.size:
            raise ValueError(f"ids has a token {token}, needs all of them in [0, {self.size})")
        return bytes([token]) if token < BYTES else self.pieces[token - BYTES].encode("utf-8", "surrogatepass")


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, needs to be one of {KINDS}")


def _topics() -> Iterator[str]:
    try:
        topics = import_module("pydoc_data.topics").topics
    except ImportError:
        return
    seen: set[str] = set()
    for name in sorted(topics):
        new = [part for part in dict.fromkeys(topics[name].strip("\n").split("\n\n")) if part not in seen]
        seen.update(new)
        if new:
            yield "\n\n".join(new) + "\n"


def _modules() -> Iterator[str]:
    for folder, inner, names in os.walk(sysconfig.get_path("stdlib")):
        inner[:] = sorted(set(inner) - LEFT_OUT)  # and so os.walk goes on
        for name in sorted(names):
            try:
                if name.endswith(".py"):
                    yield Path(folder, name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue  # one file less is no loss
