"""A grader: what submissions are graded against, and the processes that start them, kept while there are more to grade."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from autograder.grading.batch import Against, Graded, Task, grade
from autograder.grading.imports import imported
from autograder.grading.pool import Zygote
from autograder.grading.standards import Basis, Standards
from autograder.sandbox import make_undumpable

__all__ = ["Basis", "Grader", "Standards"]


class Grader:
    """Grades submissions one after another. The process that holds one cannot be looked into: it knows every hidden case."""

    def __init__(self, basis: Basis) -> None:
        make_undumpable()
        self.standards = Standards(basis)
        self._report = basis.report
        self._zygotes: dict[tuple[tuple[str, ...], ...], Zygote] = {}
        self._open = ExitStack()

    def grade(self, task: Task, version: str = "") -> Graded:
        """Grades one submission; with `version`, against the lab at the version of an earlier receipt."""
        against = self.standards.of(task, version)
        task = replace(task, notes=(*task.notes, *self.standards.notes(task, against)))
        return grade(task, against, self._zygote(against))

    def _zygote(self, against: Against) -> Zygote:
        """The zygote whose students may import what this lab provides, and that has loaded what its notebook imports."""
        kind = (against.lab.provides, imported(against.released))
        if kind not in self._zygotes:
            self._zygotes[kind] = self._open.enter_context(Zygote(against.lab, self._report, imports=kind[1]))
        return self._zygotes[kind]

    def __enter__(self) -> "Grader":
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.close()
