"""The verdict: what each case's outcomes are worth. Nothing of a student's runs here."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib.checks.cases import Bound, Case, Frequencies, Sealed, Step
from course_lib.checks.compare import BLANK, UNWRITTEN, Difference, describe, difference, unchanged, value_difference
from course_lib.checks.definition import Check, Mistake
from course_lib.checks.frequencies import as_draws, tally
from course_lib.checks.legacy.trial import Tried
from course_lib.checks.perform import Outcome
from course_lib.checks.sealing import seal
from course_lib.checks.values import Unsendable

Ask = Callable[[list[Step]], list[Outcome]]
Attempt = Callable[[str], Tried]
ASSERTS, UNSHOWN, CANARIES = "asserts", "asserts that are not shown", "canaries, which must fail"
PASSED = "a canary passed"


@dataclass(frozen=True)
class CaseResult:
    """One case judged. `fingerprint` says what each of its steps gave, without giving a sealed answer away."""

    name: str
    difference: Difference | None
    hint: str | None
    printed: str
    fingerprint: list
    group: str | None = None

    @property
    def passed(self) -> bool:
        return self.difference is None


@dataclass(frozen=True)
class Group:
    """Cases that earn together: all of them pass, or none counts. `name` is None for a case by itself."""

    name: str | None
    weight: float
    cases: list[CaseResult]

    @property
    def passed(self) -> bool:
        return all(case.passed for case in self.cases)


@dataclass(frozen=True)
class CheckResult:
    """One check judged: every group of cases weighs the same unless the check says otherwise, a case by itself like a group."""

    check: Check
    cases: list[CaseResult]

    @property
    def groups(self) -> list[Group]:
        """What earns together, in the order of the first case of each."""
        found: dict[tuple[str | None, int], list[CaseResult]] = {}
        for place, case in enumerate(self.cases):
            found.setdefault((case.group, -1 if case.group is not None else place), []).append(case)
        return [Group(name, self.check.groups.get(name or "", 1), cases) for (name, _), cases in found.items()]

    @property
    def score(self) -> float:
        """The points earned, to a hundredth; all of them only when every case passes."""
        points, groups = self.check.points, self.groups
        if self.passed:
            return points
        share = points * sum(group.weight for group in groups if group.passed) / sum(group.weight for group in groups)
        return round(share, 2) if round(share, 2) < points else math.floor(share * 100) / 100

    def worth(self, group: Group) -> float:
        """The points that a group earns, to a hundredth."""
        return round(self.check.points * group.weight / sum(other.weight for other in self.groups), 2)

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
    return CaseResult(case.name, found, case.hint, printed, prints, case.group)


def judge_asserts(check: Check, attempt: Attempt, seed: int | None = None) -> CheckResult:
    """Has a cell of asserts and its canaries run, each in the same state, and judges what came of it.

    A seed draws the order, so that what runs cannot tell by it which it is, and which canaries run of many. They say
    something only of asserts that held.
    """
    asserts = check.asserts
    assert asserts is not None
    canaries = asserts.canaries(seed)
    sources = [asserts.source, *(canary.source for canary in canaries)]
    places = list(range(len(sources)))
    if seed is not None:
        random.Random(seed).shuffle(places)
    tried: dict[int, Tried] = {}
    while places and not (0 in tried and tried[0].kinds):  # of asserts that failed, canaries have nothing to say
        place = places.pop(0)
        tried[place] = attempt(sources[place])
    cell = tried[0]
    said = _raised(cell, asserts.line(cell.line)) if cell.kinds else ""
    hidden = bool(said) and asserts.hides(cell.line)
    found = [(ASSERTS, "" if hidden else said)]
    if asserts.not_shown and (hidden or not said):
        found.append((UNSHOWN, said))
    if not said:
        wrong = (_believed(canary.said, tried[place]) for place, canary in enumerate(canaries, start=1))
        found.append((CANARIES, next(filter(None, wrong), "")))
    cases = [CaseResult(name, Difference(text) if text else None, None, "", [], ASSERTS) for name, text in found]
    return CheckResult(check, cases)


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


def _raised(tried: Tried, line: str) -> str:
    """What an attempt raised, and where, in words."""
    where = f"line {tried.line}, {line}" if line else "before its first line"
    return f"{where}: {': '.join(filter(None, [tried.kinds[0], tried.text]))}"


def _believed(said: str, tried: Tried) -> str:
    """Why a canary does not vouch for the asserts; "" when it failed as it must."""
    if not tried.kinds:
        return f"{PASSED}: {said}"
    if "AssertionError" in tried.kinds:
        return ""
    return f"a canary raised {tried.kinds[0]} and not AssertionError: {said}"


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
