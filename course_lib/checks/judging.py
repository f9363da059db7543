"""The verdict: what each case's outcomes are worth. Nothing of a student's runs here."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib.checks.cases import Bound, Case, Frequencies, Sealed, Step
from course_lib.checks.compare import BLANK, UNWRITTEN, Difference, describe, difference, unchanged, value_difference
from course_lib.checks.definition import Check, Mistake
from course_lib.checks.frequencies import as_draws, tally
from course_lib.checks.perform import Outcome
from course_lib.checks.sealing import seal
from course_lib.checks.values import Unsendable

Ask = Callable[[list[Step]], list[Outcome]]


@dataclass(frozen=True)
class CaseResult:
    """One case judged. `fingerprint` says what each of its steps gave, without giving a sealed answer away."""

    name: str
    difference: Difference | None
    hint: str | None
    printed: str
    fingerprint: list

    @property
    def passed(self) -> bool:
        return self.difference is None


@dataclass(frozen=True)
class CheckResult:
    """One check judged: every case weighs the same."""

    check: Check
    cases: list[CaseResult]

    @property
    def score(self) -> float:
        """The points earned, to a hundredth; all of them only when every case passes."""
        points = self.check.points
        if self.passed:
            return points
        share = points * sum(case.passed for case in self.cases) / len(self.cases)
        return round(share, 2) if round(share, 2) < points else math.floor(share * 100) / 100

    @property
    def passed(self) -> bool:
        return all(case.passed for case in self.cases)

    @property
    def unwritten(self) -> bool:
        """Whether every case met the stub that a lab hands out, or a blank."""
        return all(case.difference and case.difference.text in (UNWRITTEN, BLANK) for case in self.cases)


def judge(check: Check, cases: list[Case], ask: Ask) -> CheckResult:
    """Sends each case's steps to the student's side by `ask`, and judges what comes back."""
    return CheckResult(check, [judge_case(case, ask) for case in cases])


def judge_case(case: Case, ask: Ask) -> CaseResult:
    """The first step that went wrong decides; what follows it says nothing."""
    outcomes = ask([step.without_expectation() for step in case.steps])
    found = next(
        (wrong for step, outcome in zip(case.steps, outcomes, strict=True) if (wrong := _wrong(step, outcome))), None
    )
    printed = "".join(outcome.printed for outcome in outcomes)
    prints = [fingerprint(step, outcome) for step, outcome in zip(case.steps, outcomes, strict=True)]
    return CaseResult(case.name, found, case.hint, printed, prints)


def fingerprint(step: Step, outcome: Outcome) -> object:
    """What a step gave, as data that can be published and recognised again."""
    if outcome.refused or outcome.unsendable:
        return ("refused",)
    if outcome.raised:
        return ("raised", outcome.raised["kinds"][0])
    if isinstance(step.expect, Sealed):
        return ("sealed", _sealed_print(outcome.value, step.expect))
    if isinstance(step.expect, Frequencies):
        return ("drawn", step.expect.draws, _shares(outcome.value, step.expect))
    if _changed(step, outcome):
        return ("changed", outcome.value)
    return ("gave", outcome.value)


def recognise(result: CheckResult, mistakes: list[Mistake]) -> str | None:
    """The known mistake that gives what this answer gave on every case; None if there is none."""
    for mistake in mistakes:
        known = mistake.outcomes.get(result.check.name)
        if known and all(case.name in known and _alike(case.fingerprint, known[case.name]) for case in result.cases):
            return mistake.text
    return None


def _wrong(step: Step, outcome: Outcome) -> Difference | None:
    found = difference(outcome, step.expect)
    return found or _changed(step, outcome)


def _changed(step: Step, outcome: Outcome) -> Difference | None:
    if outcome.args_after is None:  # not asked for, or the step raised
        return None
    args, kwargs = outcome.args_after
    named = step.kwargs or {}
    after = (*args, *(kwargs.get(name) for name in named))
    return unchanged((*step.args, *named.values()), after, [*range(1, len(step.args) + 1), *named])


def _sealed_print(value: object, expect: Sealed) -> str:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return seal(value, expect.digits, expect.salt)


def _shares(value: object, expect: Frequencies) -> list | str:
    """How often each outcome came up, and at the end how often anything else did; a text where nothing can be counted."""
    array = as_draws(value, expect)
    if array is None:
        return describe(value)
    counts, _, strays = tally(array, expect)
    return [*(counts / expect.draws).tolist(), strays / expect.draws]


def _alike(got: list, known: list) -> bool:
    try:
        return len(got) == len(known) and all(map(_same_print, got, known))
    except (TypeError, Unsendable):
        return False


def _same_print(a: tuple, b: tuple) -> bool:
    # Two samples of one distribution differ by about 1/√draws; three times that hardly ever.
    near = Bound(3 / math.sqrt(a[1])) if a[0] == "drawn" == b[0] else Bound(absolute=1e-6, relative=1e-4)
    return a[0] == b[0] and value_difference(list(a[1:]), list(b[1:]), near) is None
