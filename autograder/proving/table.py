"""A lab's rows as lines: a matrix of the points lost where it fits the screen, and otherwise what each row loses, by name."""

import textwrap

from autograder.proving.rows import Row
from course_lib.checks.definition import Lab

NAME = 38
NARROWEST = 7


class Table:
    """The lines of one lab's rows, at most `width` wide where names allow."""

    def __init__(self, lab: Lab, width: int) -> None:
        self._width = width
        self._columns = {name: max(NARROWEST, len(name)) for name in lab.checks}
        self.is_matrix = sum(size + 1 for size in self._columns.values()) + NAME + 3 + NARROWEST <= width

    def head(self) -> str:
        """The line above the rows."""
        if not self.is_matrix:
            return f"  {'':{NAME}s}{'sum':>{NARROWEST}s}   points lost"
        names = " ".join(f"{name:>{size}s}" for name, size in self._columns.items())
        return f"  {'points lost':{NAME}s}{'sum':>{NARROWEST}s} {names}"

    def line(self, row: Row) -> str:
        """A row, and what is wrong with it in lines below."""
        start = f"{'✗' if row.faults else '✓'} {row.name:{NAME}s}{f'{sum(row.scores.values()):.6g}':>{NARROWEST}s}"
        faults = [self.wrapped(f"      {fault}", 10) for fault in row.faults]
        if self.is_matrix:
            lost = [f"{-row.lost[name]:g}" if name in row.lost else "·" for name in self._columns]
            cells = (f"{text:>{size}s}" for text, size in zip(lost, self._columns.values(), strict=True))
            return "\n".join([f"{start} {' '.join(cells)}", *faults])
        lost = [f"{name} {-points:g}" for name, points in row.lost.items()]
        text = "all of it" if row.scores and not any(row.scores.values()) else ", ".join(lost) or "–"
        return "\n".join([self.wrapped(f"{start}   {text}", NAME + NARROWEST + 5), *faults])

    def wrapped(self, text: str, indent: int) -> str:
        """A long line as several, what follows the first indented."""
        return textwrap.fill(
            text, self._width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
        )
