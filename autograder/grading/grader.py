"""A grader: what submissions are graded against, and the processes that start them, kept while there are more to grade.

basis  where it all comes from, as plain data: what a worker in another process, or on another machine, is told
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat

from autograder.grading.batch import Against, Graded, Task, grade
from autograder.grading.judge import Limits
from autograder.grading.pool import Zygote
from autograder.records.identity import environment
from autograder.sandbox import Report, make_undumpable
from course_lib.checks import frozen, labs
from course_lib.checks.definition import Lab


@dataclass(frozen=True)
class Basis:
    """The author's `folder` of a lab, the sandbox, and how long things may take."""

    folder: Path
    report: Report
    limits: Limits = field(default_factory=Limits)


class Standards:
    """What each submission is graded against."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis

    @cached_property
    def current(self) -> Against:
        """The lab as it is now."""
        folder = self._basis.folder
        lab = labs.load(folder)
        release = folder.parents[1] / "labs" / lab.name / f"{lab.name}.ipynb"
        return Against(
            lab,
            nbformat.read(release, as_version=4),
            labs.version(folder),
            environment(),
            self._basis.report.level,
            tuple(frozen.load(lab.name).mistakes),
            self._basis.limits,
        )

    def of(self, task: Task) -> Against:
        """What this submission is graded against."""
        return self.current


class Grader:
    """Grades submissions one after another. The process that holds one cannot be looked into: it knows every hidden case."""

    def __init__(self, basis: Basis) -> None:
        make_undumpable()
        self.standards = Standards(basis)
        self._report = basis.report
        self._zygotes: dict[tuple[str, ...], Zygote] = {}
        self._open = ExitStack()

    def grade(self, task: Task) -> Graded:
        """Grades one submission."""
        against = self.standards.of(task)
        return grade(task, against, self._zygote(against.lab))

    def _zygote(self, lab: Lab) -> Zygote:
        """The zygote whose students may import what this lab provides."""
        if lab.provides not in self._zygotes:
            self._zygotes[lab.provides] = self._open.enter_context(Zygote(lab, self._report))
        return self._zygotes[lab.provides]

    def __enter__(self) -> "Grader":
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.close()
