"""How the notes for an instructor are worded: lists, counts, and texts that are cut short."""

from collections.abc import Sequence


def listed(items: Sequence[str], most: int = 12) -> str:
    """The items as a phrase: "a", "a and b", "a, b and c", "a, b and 7 more"."""
    if len(items) > most:
        items = [*items[: most - 1], f"{len(items) - most + 1} more"]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun: "1 cell", "3 cells"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shortened(text: str, most: int = 40) -> str:
    """A text on one line, cut to `most` characters; what would steer a terminal is shown as �."""
    line = "".join(character if character.isprintable() else "�" for character in " ".join(text[: 8 * most].split()))
    return line if len(line) <= most else line[: most - 1] + "…"
