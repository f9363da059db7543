"""What came of the corpus, entry by entry, and the table that shows it."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """What came of one entry, beside what must. The rest says what is not as it must be.

    wrong    points, a state or a text that are others than they must be
    leaks    what was worth stealing, or hidden, and is shown
    traces   what was reached or left: files, processes, sockets, the judge's memory
    late     that a deadline did not hold
    """

    name: str
    expected: float
    got: float
    state: str
    states: str
    level: str
    seconds: float
    honest: bool
    wrong: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """All that is not as it must be."""
        return [*self.wrong, *self.leaks, *self.traces, *self.late]

    @property
    def gained(self) -> bool:
        """Whether it got more than it has earned."""
        return self.got > self.expected

    @property
    def hurt(self) -> bool:
        """Whether an honest student lost something."""
        return self.honest and bool(self.wrong)


HEADING = f"  {'notebook':62s} {'got':>4s} {'due':>4s}  {'state':10s} {'s':>5s}  must be"


def line(row: Row) -> str:
    """A row as text: its points and those that are due, its state, its time, the state that it must have; faults below."""
    mark = "✗" if row.faults else "✓"
    name = row.name if len(row.name) <= 62 else f"{row.name[:61]}…"
    first = f"{mark} {name:62s} {row.got:4g} {row.expected:4g}  {row.state:10s} {row.seconds:5.2f}  {row.states}"
    return "\n".join([first, *(f"      {fault}" for fault in row.faults)])


def table(rows: Iterable[Row]) -> str:
    """All rows below their heading."""
    return "\n".join([HEADING, *map(line, rows)])


def summary(rows: Iterable[Row]) -> str:
    """How many there were, and how many did each of the things that none may do."""
    rows = list(rows)
    counts = {
        "gained a point": sum(row.gained for row in rows),
        "cost an honest student one": sum(row.hurt for row in rows),
        "leaked": sum(bool(row.leaks) for row in rows),
        "reached or left anything": sum(bool(row.traces) for row in rows),
        "hung": sum(bool(row.late) for row in rows),
        "came out otherwise than it must": sum(bool(row.wrong) for row in rows),
    }
    levels = " and ".join(sorted({row.level for row in rows}))
    said = ", ".join(f"{count or 'none'} {what}" for what, count in counts.items())
    return f"{len(rows)} notebooks at level {levels}: {said}"
