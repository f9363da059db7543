"""What came of the corpus, entry by entry, and the table that shows it."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What came of one entry. `faults` says what is not as it must be."""

    name: str
    expected: float
    got: float
    state: str
    level: str
    seconds: float
    honest: bool
    faults: list[str]


HEADING = f"  {'notebook':62s} {'due':>6s} {'got':>6s}  {'state':16s} level  seconds"


def line(row: Row) -> str:
    """A row as text: what was due and what it got, the state, the level, the time; faults below."""
    mark = "✗" if row.faults else "✓"
    numbers = f"{row.expected:6g} {row.got:6g}"
    first = f"{mark} {row.name:62.62s} {numbers}  {row.state:16s} {row.level:5s} {row.seconds:8.2f}"
    return "\n".join([first, *(f"      {fault}" for fault in row.faults)])


def table(rows: Iterable[Row]) -> str:
    """All rows below their heading."""
    return "\n".join([HEADING, *map(line, rows)])
