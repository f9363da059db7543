"""A run of a cell of asserts, or of one of its canaries, beside the answer: says what it raised, and holds no opinion of it."""

import traceback
from dataclasses import dataclass
from typing import Any

FILE = "<asserts>"
LONGEST = 500


@dataclass(frozen=True)
class Tried:
    """What came of it: the exception's type and its bases by name (none: it ran through), its text, and the line of the cell."""

    kinds: tuple[str, ...] = ()
    text: str = ""
    line: int = 0


def attempt(source: str, namespace: dict[str, Any]) -> Tried:
    """Runs a cell's source among these names. Whatever it raises is reported, but for a reader's own interrupt."""
    try:
        # Whatever the interpreter was told: asserts stay in.
        exec(compile(source, FILE, "exec", dont_inherit=True, optimize=0), namespace)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        frames = traceback.walk_tb(error.__traceback__)
        lines = [number for frame, number in frames if frame.f_code.co_filename == FILE]
        kinds = tuple(kind.__name__ for kind in type(error).__mro__[:-1])
        return Tried(kinds, _text(error), lines[-1] if lines else 0)
    return Tried()


def _text(error: BaseException) -> str:
    try:
        return str(error)[:LONGEST]
    except BaseException:  # its own __str__ may raise anything
        return "(its text cannot be read)"
