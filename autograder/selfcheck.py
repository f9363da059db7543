"""Proves that a lab can tell right from wrong.

- The solution scores everything, under every seed, and the untouched release nothing.
- A syntax error in a cell costs what depends on that cell and nothing else. What may depend on it follows from the names that
  cells use. Each answer's cell is broken alone, and only that is run: what uses its names must score nothing. Then each check is
  run with every cell broken that it does not depend on, and must keep all its points: one run of the notebook's checks in
  all, and it proves of each pair of a cell and a check that the one does not touch the other.
- Each known-wrong answer loses exactly the points that its file says, under each of a few seeds. Under the first of them, all
  checks are run that could see a difference, and then only those that must lose.

What comes out one way under one seed and another way under the next is flaky, and is named.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.proving.apart import carried_out
from autograder.proving.rows import Plan, Row, Run
from course_lib.checks import labs, variants
from course_lib.checks.definition import Lab
from course_lib.house.release import first_name

WRONG_SEEDS = 3
"""Under so many seeds a known-wrong answer is run: one after another begins with another seed, so that all of them are used."""


@dataclass
class SelfCheck:
    """All rows of one lab, and what is wrong with it as a whole."""

    lab: Lab
    rows: list[Row]
    faults: list[str]

    @property
    def passed(self) -> bool:
        return not self.faults and not any(row.faults for row in self.rows)

    @property
    def caught_by_one(self) -> dict[str, list[str]]:
        """For each check, the known-wrong answers that it alone catches."""
        alone: dict[str, list[str]] = {name: [] for name in self.lab.checks}
        for plan in (row.plan for row in self.rows):
            losers = [name for name, points in plan.full.items() if plan.wanted[name] < points]
            if plan.is_mistake and len(losers) == 1 and not plan.faults:
                alone[losers[0]].append(plan.name)
        return alone

    @property
    def flaky(self) -> list[str]:
        """A line for each check and notebook that comes out differently from seed to seed, with a command that repeats it."""
        return [
            f"{check} is flaky: {row.name}, under {len(seeds)} of {len(row.looked[check])} seeds "
            f"({', '.join(map(str, seeds))}); again: "
            f"autograder selfcheck {self.lab.name} --seeds 1 --first-seed {seeds[0]}"
            for row in self.rows
            for check, seeds in row.flaky.items()
        ]


def selfcheck(
    folder: Path,
    release: Path,
    seeds: list[int],
    wrong_seeds: int = WRONG_SEEDS,
    jobs: int = 1,
    more: Iterable[Plan] = (),
) -> Iterator[Row]:
    """The rows of the lab in `folder`, in order, as they are known, and those of `more` plans.

    release      the notebook that students get
    wrong_seeds  under how many of the seeds each known-wrong answer is run
    jobs         how many processes run notebooks at once
    """

    def plans() -> Iterator[Plan]:
        yield from _plans(folder, release, seeds, wrong_seeds)
        yield from more

    return carried_out(plans(), jobs)


def lab_faults(folder: Path, lab: Lab, least_wrong: int = 3) -> list[str]:
    """What is missing from a lab as a whole."""
    known = labs.known_wrong(folder)
    faults = [] if len(known) >= least_wrong else [f"{len(known)} known-wrong answers; a lab needs {least_wrong}"]
    touched = {name for wrong in known for name in wrong.loses}
    faults += [f"no known-wrong answer loses a point on {name}" for name in lab.checks if name not in touched]
    return faults


def _plans(folder: Path, release: Path, seeds: list[int], wrong_seeds: int) -> Iterator[Plan]:
    lab = labs.load(folder)
    cells = variants.solution_cells(folder)
    full = {check.name: check.points for check in lab.checks.values()}
    plan = partial(Plan, load=partial(labs.load, folder), full=full)
    yield plan("solution", "the author's answers", wanted=full, runs=[Run(cells, seed) for seed in seeds])
    yield _release(plan, release, full, seeds[0])
    yield from _broken(plan, lab, cells, full, seeds[0])
    for number, wrong in enumerate(labs.known_wrong(folder)):
        unknown = sorted(set(wrong.loses) - set(full))
        if unknown:
            fault = f"loses points on {unknown}, which are no checks of the lab"
            yield plan(wrong.name, wrong.text, wanted=full, runs=[], is_mistake=True, faults=(fault,))
            continue
        wanted = {name: points - wrong.loses.get(name, 0.0) for name, points in full.items()}
        notebook, loses = variants.replaced(cells, wrong), frozenset(wrong.loses)
        seen = loses | variants.reached(cells, wrong.replaces, lab)
        turn = [seeds[(number * wrong_seeds + i) % len(seeds)] for i in range(min(wrong_seeds, len(seeds)))]
        runs = [Run(notebook, turn[0], seen), *(Run(notebook, seed, loses) for seed in turn[1:])]
        yield plan(wrong.name, wrong.text, wanted=wanted, runs=runs, is_mistake=True)


def _release(plan: partial[Plan], release: Path, full: dict[str, float], seed: int) -> Plan:
    there = release.exists()
    runs = [Run(variants.release_cells(release), seed)] if there else []
    faults = () if there else (f"{release} is missing: run `course sync`",)
    nothing = dict.fromkeys(full, 0.0)
    return plan("release", "the notebook as handed out", wanted=nothing, runs=runs, faults=faults)


def _broken(plan: partial[Plan], lab: Lab, cells: list[str], full: dict[str, float], seed: int) -> Iterator[Plan]:
    """A row for a syntax error in each answer, and one for all of them that a check does not depend on, check by check."""
    reach = {number: variants.reached(cells, variants.bound(cells[number]), lab) for number in variants.answered(cells)}
    for number, checks in reach.items():
        if not checks:
            continue
        lost = variants.lost_without(cells, number, lab)
        yield plan(
            f"syntax error: {first_name(cells[number])}",
            "a syntax error in the cell of one answer",
            wanted={name: 0.0 if name in lost else points for name, points in full.items()},
            runs=[Run(variants.without(cells, {number}), seed, frozenset(checks))],
            free=frozenset(checks - lost),
            must_lose=True,
        )
    apart = {check: {number for number, checks in reach.items() if check not in checks} for check in full}
    runs = [Run(variants.without(cells, broken), seed, frozenset({check})) for check, broken in apart.items()]
    text = "for each check, a syntax error in every cell that it does not depend on"
    yield plan("syntax errors elsewhere", text, wanted=full, runs=runs)
