"""What the self-check tries, and what came of it.

A plan is one notebook, or a few of a kind, to be run under some seeds; its row has the scores beside those that it must get.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from course_lib.checks.definition import Lab

TOLERANCE = 0.005  # scores are rounded to hundredths of a point

Scores = dict[str, float]


@dataclass(frozen=True)
class Run:
    """A notebook's code cells against the cases of one seed; `only` names the checks that are looked at (None: all)."""

    cells: list[str]
    seed: int
    only: frozenset[str] | None = None

    def looks_at(self, check: str) -> bool:
        return self.only is None or check in self.only


@dataclass(frozen=True)
class Plan:
    """The runs of one row, and what they must score.

    load         loads the lab, in the process that runs the notebook
    full         the points of each check
    free         the checks that may score anything
    must_lose    whether at least one check must lose points
    is_mistake   whether it is a known-wrong answer
    faults       what is wrong before anything was run
    """

    name: str
    text: str
    load: Callable[[], Lab]
    full: Scores
    wanted: Scores
    runs: list[Run]
    free: frozenset[str] = frozenset()
    must_lose: bool = False
    is_mistake: bool = False
    faults: tuple[str, ...] = ()


@dataclass
class Row:
    """A plan carried out: its scores under the first seed, and what was not as it must be.

    looked    the seeds under which each check was looked at
    misses    for each check, the score under each seed under which it was not the wanted one
    stopped   what stopped a run
    """

    plan: Plan
    scores: Scores = field(default_factory=dict)
    looked: dict[str, list[int]] = field(default_factory=dict)
    misses: dict[str, dict[int, float]] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def lost(self) -> Scores:
        """The points that each check lost under the first seed, where it lost some."""
        full = self.plan.full
        return {name: full[name] - score for name, score in self.scores.items() if full[name] - score > TOLERANCE}

    @property
    def faults(self) -> list[str]:
        """What is not as it must be, in a line each."""
        lines = [*self.plan.faults, *self.stopped]
        for check, missed in self.misses.items():
            wanted = self.plan.wanted[check]
            for score in dict.fromkeys(missed.values()):
                seeds = sorted(seed for seed, got in missed.items() if got == score)
                lines.append(f"{check} scores {score:g}, must score {wanted:g} ({_seeds(seeds)})")
        if self.plan.must_lose and not lines and not self.lost:
            lines.append("no check loses a point by it")
        return lines

    @property
    def flaky(self) -> dict[str, list[int]]:
        """The checks that missed under some seeds and not under others, and under which."""
        return {check: sorted(missed) for check, missed in self.misses.items() if len(missed) < len(self.looked[check])}


def row_of(plan: Plan, outcomes: Iterable[Scores | str]) -> Row:
    """The row of a plan whose runs gave these scores; a text says what stopped a run. Checks not looked at count as wanted."""
    row = Row(plan)
    for run, outcome in zip(plan.runs, outcomes, strict=True):
        if isinstance(outcome, str):
            row.stopped.append(f"seed {run.seed}: {outcome}")
            continue
        for check in filter(run.looks_at, plan.wanted):
            got = outcome.get(check, 0.0)
            row.scores.setdefault(check, got)
            row.looked.setdefault(check, []).append(run.seed)
            if check not in plan.free and abs(got - plan.wanted[check]) > TOLERANCE:
                row.misses.setdefault(check, {})[run.seed] = got
    if row.looked:
        row.scores = {check: row.scores.get(check, wanted) for check, wanted in plan.wanted.items()}
    return row


def _seeds(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
