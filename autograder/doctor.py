"""The hostile corpus, let loose on the instructor's own machine: what a sandbox is worth there is seen, and not promised.

The corpus is the one of the tests, `tests/hostile`, and is found by its path: a copy of the grader without tests, such as the one
that Gradescope runs, has none. It writes and reads nothing but temporary files of its own.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.sandbox import Report

MOST_JOBS = 4


class Corpus:
    """The corpus of the course's repository at `root`, or the part of it whose names hold `only`.

    Raises ValueError where it is not there, and where no name holds `only`.
    """

    def __init__(self, root: Path | None, only: str = "") -> None:
        if root is None or not (root / "tests" / "hostile" / "corpus.py").is_file():
            raise ValueError("the hostile corpus is not here (tests/hostile): run this in the course's own repository")
        sys.modules.setdefault("tests", _package("tests", root / "tests"))
        self._rows: Any = importlib.import_module("tests.hostile.rows")
        self._graded = importlib.import_module("tests.hostile.side_by_side").graded
        whole = importlib.import_module("tests.hostile.corpus").corpus()
        self._entries = [entry for entry in whole if only.casefold() in entry.name.casefold()]
        if not self._entries:
            raise ValueError(f"no notebook of the corpus has {only!r} in its name")

    def __len__(self) -> int:
        return len(self._entries)

    def run(self, report: Report, say: Callable[[str], object]) -> bool:
        """Grades it behind the sandbox of `report`, and says a line for each notebook as it is done.

        Returns whether each came out as it must. Raises ValueError at level D, where some of it would do what it says.
        """
        if report.level == "D":
            raise ValueError("the hostile corpus is not run at level D: nothing would hold it off")
        jobs = max(2, min(MOST_JOBS, os.cpu_count() or 1))
        rows: list[Any] = []
        say(self._rows.HEADING)
        for row in self._through(report, jobs, rows):
            say(self._rows.line(row))
        say(self._rows.summary(rows))
        return not any(row.faults for row in rows)

    def _through(self, report: Report, jobs: int, rows: list[Any]) -> Iterator[Any]:
        try:
            for row in self._graded(self._entries, report, jobs):
                rows.append(row)
                yield row
        except KeyboardInterrupt:
            raise ValueError(f"stopped after {len(rows)} of {len(self)} notebooks") from None


def _package(name: str, folder: Path) -> ModuleType:
    """A package that is this folder: some distributions install a `tests` of their own, which an import would find."""
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return module_from_spec(spec)
