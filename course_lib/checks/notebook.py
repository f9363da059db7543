"""`check` as a notebook uses it: one line per exercise, help that comes in steps, and the points so far.

from course_lib.checks import lab
check = lab("lab00_two_walls")
check.softmax(softmax)
check.progress()
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.checks import frozen
from course_lib.checks.definition import Check, Lab
from course_lib.checks.judging import CheckResult, judge, recognise
from course_lib.checks.perform import ask_here
from course_lib.checks.report import Report, points_text, progress_html, progress_text

HINT_FROM, MISTAKE_FROM = 2, 3  # the failed attempt from which each step of help is given

_answering: ContextVar[Any] = ContextVar("answering", default=None)


def lab(name: str) -> Any:
    """What the check lines of lab `name` are called on. Raises ValueError for a lab that is not there.

    Cases of its own, beside a notebook that was made for one student, come before the published ones.
    """
    other = _answering.get()
    if other is not None:
        return other
    here = Path.cwd()
    return Checker(frozen.load(name, here) if (here / f"{name}.json").is_file() else frozen.load(name))


@contextlib.contextmanager
def answering(judge_: Any) -> Iterator[None]:
    """While it lasts, every notebook's `lab(…)` is given `judge_`: how a grading run takes the place of the notebook's checks."""
    token = _answering.set(judge_)
    try:
        yield
    finally:
        _answering.reset(token)


class Checker:
    """The checks of one lab, run against the visible cases in this process."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._attempts = dict.fromkeys(lab.checks, 0)
        self._results: dict[str, CheckResult] = {}

    def __dir__(self) -> list[str]:
        return [*(name for name, check in self._lab.checks.items() if check.asserts is None), "progress"]

    def __repr__(self) -> str:
        return f"the checks of {self._lab.name}: {', '.join(self._lab.checks)}"

    def __getattr__(self, name: str) -> "BoundCheck":
        if name.startswith("_") or name not in self._lab.checks:
            there = ", ".join(self._lab.checks)
            raise AttributeError(f"{self._lab.name} has no check {name!r}; there is {there}")
        return BoundCheck(self, self._lab.checks[name])

    def progress(self) -> "Progress":
        """The points so far, what is left, and what depends on what."""
        return Progress(self._progress_rows())

    def _look(self, check: Check, targets: tuple) -> Report:
        if check.asserts is not None:
            raise ValueError(f"{check.name} is a cell of asserts, which stands in the notebook: run that cell")
        if len(targets) != len(check.targets):
            wanted = ", ".join(check.targets)
            raise ValueError(f"check.{check.name} takes {len(check.targets)} answers ({wanted}), got {len(targets)}")
        result = judge(
            check, check.visible_cases(), lambda steps: ask_here(steps, targets, self._lab.provides, check.refuses)
        )
        self._results[check.name] = result
        if result.passed:
            return Report(result, in_notebook=_in_notebook())
        if not result.unwritten:  # to look at the cases before one begins is no attempt
            self._attempts[check.name] += 1
        attempt, hint, mistake = self._attempts[check.name], None, None
        if attempt >= HINT_FROM:
            hint = next((case.hint for case in result.cases if not case.passed and case.hint), None)
            hint = hint or next(iter(check.hints[attempt - HINT_FROM :] or check.hints[-1:]), None)
        if attempt >= MISTAKE_FROM:
            mistake = recognise(result, self._lab.mistakes)
        return Report(result, hint, mistake, _in_notebook())

    def _progress_rows(self) -> list[dict]:
        rows = []
        for check in self._lab.checks.values():
            result = self._results.get(check.name)
            waiting = [name for name in check.needs if name not in self._results or not self._results[name].passed]
            if result is None:
                note = "not checked yet"
            elif result.passed:
                note = ""
            else:
                note = f"{sum(not case.passed for case in result.cases)} of {len(result.cases)} cases fail"
            if waiting and not (result and result.passed):
                note += f"; builds on {', '.join(waiting)}"
            if check.asserts is not None:
                rows.append(_row("·", check.name, f"– / {points_text(check.points)}", "asserts; their cell says it"))
                continue
            score = result.score if result else 0.0
            mark = "✓" if result and result.passed else "·" if result is None else "✗"
            rows.append(_row(mark, check.name, f"{points_text(score)} / {points_text(check.points)}", note))
        for item in self._lab.written_items.values():
            rows.append(_row("✎", item.name, f"– / {points_text(item.points)}", "in words; a person reads it"))
        total = sum(result.score for result in self._results.values())
        sums = f"{points_text(round(total, 2))} / {points_text(self._lab.points)}"
        return [*rows, _row("", "so far", sums, "on the visible cases")]


@dataclass(frozen=True)
class BoundCheck:
    """`check.softmax`, waiting for the answer."""

    _checker: Checker
    _check: Check

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return f"{self._check.doc} ({', '.join(self._check.targets)}; {self._check.points:g} points)"

    def __call__(self, *targets: Any) -> Report:
        return self._checker._look(self._check, targets)


@dataclass(frozen=True)
class Progress:
    """The state of a lab, ready to be shown."""

    rows: list[dict]

    def _repr_html_(self) -> str:
        return progress_html(self.rows)

    def __repr__(self) -> str:
        return progress_text(self.rows)


def _row(mark: str, name: str, points: str, note: str) -> dict[str, str]:
    return {"mark": mark, "name": name, "points": points, "note": note}


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None
