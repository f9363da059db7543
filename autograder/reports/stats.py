"""A class in numbers: how the scores spread, which checks were passed, which known mistakes were made, how submissions ended.

The numbers are automatic ones, from the receipts. Submissions without a judged check (not submitted, unreadable) are among the
states and not among the scores: a zero that nobody earned would pull every mean down.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from statistics import fmean, median

from autograder.evidence import Receipt, State, Verdict
from autograder.records.receipts import Receipts
from autograder.records.remarks import SHARED
from autograder.reports.standing import standings
from autograder.reports.words import line, number, table

BARS = 10
WIDEST = 40  # characters of a bar
FULL = 1e-9
UNSEEN = (State.NOT_SUBMITTED, State.UNREADABLE)


@dataclass(frozen=True)
class CheckStats:
    """One check over the class: shares from 0 to 1, and how often it could not be judged."""

    name: str
    points: float
    passed: float
    mean: float
    unjudged: dict[Verdict, int] = field(default_factory=dict)
    shared: bool = False
    """Whether it is asserts that ran in the students' own processes."""


@dataclass(frozen=True)
class Stats:
    """A lab over the class. `edges` has one entry more than `histogram`; a score on an edge counts to its right."""

    lab: str
    most: float
    scores: list[float]
    edges: list[float]
    histogram: list[int]
    checks: list[CheckStats]
    mistakes: dict[tuple[str, str], int]
    """How many made a known mistake, by check and mistake, the commonest first."""
    states: dict[State, int]
    faults: list[str]

    def text(self) -> str:
        """The table."""
        return "\n".join([*self._scores(), *self._checks(), *self._mistakes(), *self._states(), *self.faults]) + "\n"

    def summary(self) -> str:
        """One line: how many were judged, and how they did."""
        if not self.scores:
            return f"{self.lab}: no submission was judged"
        middle = f"mean {number(fmean(self.scores))}, median {number(median(self.scores))} of {number(self.most)}"
        return f"{self.lab}: {_counted(len(self.scores), 'submission')} judged, {middle} automatic points"

    def _scores(self) -> list[str]:
        highest = max([1, *self.histogram])
        lines = [self.summary()]
        for place, count in enumerate(self.histogram):
            last = place == len(self.histogram) - 1
            span = f"{number(self.edges[place])} to {'' if last else 'below '}{number(self.edges[place + 1])}"
            lines.append(f"  {span:>18s}  {'█' * ceil(WIDEST * count / highest):{WIDEST}s} {count}")
        return lines

    def _checks(self) -> list[str]:
        if not self.checks:
            return []
        rows = [["check", "points", "passed", "mean", "not judged"]]
        for check in self.checks:
            ended = ", ".join(f"{count} {verdict}" for verdict, count in check.unjudged.items()) or "–"
            name = line(check.name, 60) + (f" ({SHARED})" if check.shared else "")
            rows.append([name, number(check.points), f"{check.passed:.0%}", f"{check.mean:.0%}", ended])
        return ["", *table(rows)]

    def _mistakes(self) -> list[str]:
        if not self.mistakes:
            return []
        lines = [f"  {count:4d}  {line(check, 60)}: {line(text)}" for (check, text), count in self.mistakes.items()]
        return ["", "known mistakes", *lines]

    def _states(self) -> list[str]:
        return ["", "states", *[f"  {count:4d}  {state}" for state, count in self.states.items()]]


def stats(course: Path | str, lab: str, picture: Path | str | None = None) -> Stats:
    """The numbers of a lab, and a picture of them at `picture` (.svg or .png). Raises ValueError when nothing was graded."""
    found = Receipts(course).all(lab)
    if not found.receipts:
        raise ValueError(f"nothing was graded for {lab} in {course}")
    try:
        states = [one.state for one in standings(course, lab)]
        faults = list(found.faults)
    except ValueError as error:
        states = [receipt.state for receipt in found.receipts.values()]
        faults = found.faults or [f"the states are those of the receipts alone: {error}"]
    result = of_receipts(lab, list(found.receipts.values()), states, faults)
    if picture is not None:
        from autograder.reports.picture import draw

        draw(result, Path(picture))
    return result


def of_receipts(lab: str, receipts: Sequence[Receipt], states: Sequence[State], faults: Sequence[str] = ()) -> Stats:
    """The numbers of these receipts."""
    judged = [receipt for receipt in receipts if receipt.checks and receipt.state not in UNSEEN]
    scores = sorted(receipt.score for receipt in judged)
    most = max((sum(check.points for check in receipt.checks) for receipt in judged), default=0.0)
    edges, histogram = _histogram(scores, most)
    mistakes = Counter((check.name, check.mistake) for one in judged for check in one.checks if check.mistake)
    count = Counter(states)
    return Stats(
        lab,
        most,
        scores,
        edges,
        histogram,
        _check_stats(judged),
        dict(sorted(mistakes.items(), key=lambda item: (-item[1], item[0]))),
        {state: count[state] for state in State if count[state]},
        list(faults),
    )


def _check_stats(judged: Sequence[Receipt]) -> list[CheckStats]:
    found = []
    for name in dict.fromkeys(check.name for receipt in judged for check in receipt.checks):
        checks = [check for receipt in judged for check in receipt.checks if check.name == name]
        passed = fmean(check.score >= check.points - FULL for check in checks)
        mean = fmean(check.score / check.points if check.points else 1.0 for check in checks)
        ended = Counter(check.verdict for check in checks if check.verdict is not Verdict.JUDGED)
        points, shared = max(check.points for check in checks), any(check.shared for check in checks)
        found.append(CheckStats(name, points, passed, mean, dict(sorted(ended.items())), shared))
    return found


def _histogram(scores: Sequence[float], most: float) -> tuple[list[float], list[int]]:
    """Scores in about ten spans of whole or round numbers of points."""
    if not scores or most <= 0:
        return [0.0], []
    rough = most / BARS
    step = next(size for size in _steps() if size >= rough - FULL)
    edges = [step * place for place in range(ceil(most / step - FULL) + 1)]
    histogram = [0] * (len(edges) - 1)
    for score in scores:
        histogram[min(int(score / step + FULL), len(histogram) - 1)] += 1
    return [min(edge, most) for edge in edges], histogram


def _steps() -> list[float]:
    return [size * 10**power for power in range(-2, 9) for size in (1.0, 2.0, 2.5, 5.0)]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
