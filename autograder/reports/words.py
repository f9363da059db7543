"""Text for a terminal: what students' processes said made harmless, numbers as one writes them, tables."""

import unicodedata
from collections.abc import Iterable, Sequence

UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode's kinds of characters that steer what is shown, or show nothing."""


def printable(text: str, most: int = 2_000) -> str:
    """A text on whose showing nothing but text is seen: no colours, no turned lines, none too long; lines stay lines."""
    if len(text) > most:
        text = f"{text[:most]}… ({len(text) - most:,} more characters)"
    return "".join(_seen(letter) for letter in text.replace("\r\n", "\n"))


def line(text: str, most: int = 200) -> str:
    """The same in one line."""
    return " ".join(printable(text, most).split())


def number(points: float) -> str:
    """Points as one writes them: at most two decimals, none that say nothing."""
    return f"{round(points, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names in a row; of many the first, and how many more there are."""
    found = [line(name, 60) for name in names]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Rows as lines of columns: the first one to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (indent + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])).rstrip() for row in rows
    ]


def _seen(letter: str) -> str:
    if letter in "\n " or unicodedata.category(letter) not in UNSEEN:
        return letter
    return "    " if letter == "\t" else letter.encode("unicode_escape", "backslashreplace").decode()
