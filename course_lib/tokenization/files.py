"""Saving and loading: tiktoken's rank format, which others read, and a merges file that a person can read.

    ranks     a line for each token: its bytes in base64, a blank, its id. The splitter and the special tokens are not in it
    merges    a line for each merge, the left token and the right one, after a head with pattern and special tokens as JSON

Tokens are bytes, and often not whole characters, so none may pass through a string as it is: in the merges file a readable
character stands for itself, a blank shows as ␣, and every other byte as \\xNN. A file is written whole or not at all.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from course_lib.files import replace_file
from course_lib.tokenization.fast import Tokenizer
from course_lib.tokenization.reference import BYTES, Pair
from course_lib.tokenization.splitting import GPT4, Splitter

HEAD = "# byte-pair merges, in the order in which they were learned; ␣ is a blank, \\xNN a byte"
BLANK = "␣"
ESCAPED = re.compile(r"(\\x[0-9a-f]{2})")


def save_ranks(tokenizer: Tokenizer, path: Path | str) -> None:
    """Writes the ranks as tiktoken reads them."""
    ranks = sorted(tokenizer.ranks.items(), key=lambda item: item[1])
    replace_file(Path(path), b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks))


def load_ranks(path: Path | str, split: Splitter = GPT4, special: Mapping[str, int] | None = None) -> Tokenizer:
    """The tokenizer of a rank file, whose splitter and special tokens one has to know.

    Raises:
        ValueError: a line is malformed, named by its number; or the tokens are no vocabulary (`Tokenizer`).
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(Path(path).read_bytes().splitlines(), start=1):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            token = base64.b64decode(encoded, validate=True)
            if not token or not rank.isdigit():
                raise ValueError
        except (ValueError, binascii.Error):
            raise ValueError(
                f"{path}, line {number}: {_shown(line)}, needs a token in base64, a blank and its id"
            ) from None
        if token in ranks:
            raise ValueError(f"{path}, line {number}: {token!r} is there already, needs each token once")
        ranks[token] = int(rank)
    try:
        return Tokenizer(ranks, split, special)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def save_merges(tokenizer: Tokenizer, path: Path | str) -> None:
    """Writes a trained tokenizer so that one can read its merges, and load all of it.

    Raises:
        ValueError: its ids are not the bytes in order and then the merges, which only the rank format keeps.
    """
    pairs = tokenizer.merges
    if Tokenizer.from_merges(pairs).ranks != tokenizer.ranks:
        raise ValueError("tokenizer has ids of another order than bytes and merges, needs save_ranks to keep them")
    head = {"pattern": tokenizer.split.pattern, "special": dict(tokenizer.special.ids)}
    lines = [HEAD, "# " + json.dumps(head, ensure_ascii=False)]
    lines += [f"{readable(tokenizer.token(a))} {readable(tokenizer.token(b))}" for a, b in pairs]
    replace_file(Path(path), "".join(f"{line}\n" for line in lines).encode())


def load_merges(path: Path | str) -> Tokenizer:
    """The tokenizer of a merges file.

    Raises:
        ValueError: the file is not of this kind, or a line is malformed, named by its number.
    """
    try:
        lines = Path(path).read_bytes().decode().split("\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: not UTF-8, needs bytes that are no character as \\xNN") from error
    if lines[0] != HEAD:
        raise ValueError(f"{path}, line 1: {_shown(lines[0])}, needs {HEAD!r}")
    if lines.pop() != "":
        raise ValueError(f"{path}, line {len(lines) + 1}: cut short, needs a line end")
    try:
        head = json.loads(lines[1].removeprefix("# "))
        split, special = Splitter(head["pattern"]), dict(head["special"])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}, line 2: needs pattern and special tokens as JSON ({error})") from error
    try:
        return Tokenizer.from_merges(list(_pairs(path, lines)), split, special)
    except ValueError as error:
        raise error if str(error).startswith(str(path)) else ValueError(f"{path}: {error}") from error


def readable(token: bytes) -> str:
    """A token as the merges file shows it; different tokens look different."""
    shown = []
    for character in token.decode("utf-8", "surrogateescape"):
        if character == " ":
            shown.append(BLANK)
        elif character.isprintable() and character not in (BLANK, "\\"):
            shown.append(character)
        else:
            shown.extend(rf"\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
    return "".join(shown)


def from_readable(shown: str) -> bytes:
    """The token that is shown so.

    Raises:
        ValueError: a backslash does not begin \\xNN.
    """
    parts = ESCAPED.split(shown)
    if any("\\" in part for part in parts[::2]):
        raise ValueError(f"{shown!r} has a backslash that begins no byte, needs \\xNN")
    parts[::2] = (part.replace(BLANK, " ") for part in parts[::2])
    return b"".join(bytes([int(part[2:], 16)]) if i % 2 else part.encode() for i, part in enumerate(parts))


def _pairs(path: Path | str, lines: list[str]) -> Iterator[Pair]:
    ids = {bytes([byte]): byte for byte in range(BYTES)}
    for number, line in enumerate(lines[2:], start=3):
        try:
            left, right = map(from_readable, line.split(" "))
            pair = ids[left], ids[right]
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: {_shown(line)}, needs two tokens with a blank between ({error})"
            ) from None
        except KeyError as error:
            raise ValueError(
                f"{path}, line {number}: {error.args[0]!r} is no byte, nor made by a line before"
            ) from None
        if left + right in ids:
            raise ValueError(f"{path}, line {number}: {left + right!r} is there already, needs each token once")
        ids[left + right] = len(ids)
        yield pair


def _shown(line: str | bytes) -> str:
    return repr(line if len(line) <= 60 else line[:60])
