"""A cell of asserts, as its author wrote it: what students see of it, and the canaries that it carries.

Asserts run in the same process as the answer that they look at, and so believe what it lets them see. A canary runs there too
and must fail: where one passes, nothing that the asserts say can be believed. The author writes canaries, and each plain
`assert` on the cell's top level gives one more.

    ### BEGIN HIDDEN TESTS … ### END HIDDEN TESTS    whole lines of the cell that students do not get, as nbgrader has it
"""

import ast
from dataclasses import dataclass
from functools import cached_property
from random import Random

from course_lib.checks.legacy.canaries import Canary, asserters, derived

BEGIN, END = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
MOST_DERIVED = 6  # of them in one run: each is a process


@dataclass(frozen=True)
class Asserts:
    """The author's cell, with what is hidden in it, and the canaries written for it; both stay empty in a student's copy."""

    source: str = ""
    written: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """What students get of it."""
        return "\n".join(line for number, line in self._numbered if number not in self._hidden)

    @property
    def not_shown(self) -> str:
        """What they do not get, without the marks around it; "" for nothing."""
        hidden = (line for number, line in self._numbered if number in self._hidden)
        return "\n".join(line for line in hidden if line.strip() not in (BEGIN, END))

    def hides(self, line: int) -> bool:
        """Whether a line of the source, counted from 1, is not shown."""
        return line in self._hidden

    def line(self, number: int) -> str:
        """A line of the source, "" where there is none."""
        lines = self.source.split("\n")
        return lines[number - 1].strip() if 1 <= number <= len(lines) else ""

    def canaries(self, seed: int | None = None) -> list[Canary]:
        """The author's canaries, and those that follow from the cell: a few of them drawn by `seed`, or all."""
        more = self._derived
        if seed is not None and len(more) > MOST_DERIVED:
            more = Random(seed).sample(more, MOST_DERIVED)
        return [*(Canary(text, text.strip().split("\n")[-1]) for text in self.written), *more]

    def check(self) -> None:
        """Raises ValueError for a cell that is no plain Python, or whose asserts no canary could vouch for."""
        for kind, text in (("the cell", self.source), *(("a canary", text) for text in self.written)):
            try:
                ast.parse(text)
            except SyntaxError as error:
                raise ValueError(f"{kind} must be plain Python, got {error.msg} in line {error.lineno}") from None
        if not self.canaries():
            raise ValueError("it needs a canary: an assert with a wrong expectation, in canaries=[…]")
        vouching = [*self.written, *(canary.said for canary in self._derived)]
        called = {name for text in vouching for name in asserters(text)}
        if missing := sorted(asserters(self.source) - called):
            raise ValueError(
                f"it calls {missing[0]}, which no canary calls: add one in canaries=[…] that it must refuse"
            )

    @property
    def _numbered(self) -> list[tuple[int, str]]:
        return list(enumerate(self.source.split("\n"), start=1))

    @cached_property
    def _derived(self) -> list[Canary]:
        return derived(self.source)

    @cached_property
    def _hidden(self) -> frozenset[int]:
        inside, found = False, []
        for number, line in self._numbered:
            inside = inside or line.strip() == BEGIN
            if inside:
                found.append(number)
            inside = inside and line.strip() != END
        return frozenset(found)
