"""Proves that a lab can tell right from wrong: the solution scores everything, the untouched release nothing, and each
known-wrong answer loses exactly the points that its file says, under every seed.

Each notebook runs in a process of its own with a deadline, so that an answer that hangs or dies is reported and no more.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from course_lib.checks import labs, variants
from course_lib.checks.definition import Check, Lab

DEADLINE_S = 60
TOLERANCE = 0.005  # scores are rounded to hundredths of a point

Scores = dict[str, float]


@dataclass
class Row:
    """One notebook's scores, check by check, beside what they must be; `faults` says what is not as it must be."""

    name: str
    text: str
    scores: Scores
    wanted: Scores
    faults: list[str] = field(default_factory=list)


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
        for row in self.rows:
            losers = [name for name, points in row.wanted.items() if points < self.lab.checks[name].points]
            if len(losers) == 1 and len(row.wanted) == len(self.lab.checks):
                alone[losers[0]].append(row.name)
        return alone


def selfcheck(folder: Path, release: Path, seeds: list[int]) -> Iterator[Row]:
    """The rows of the lab in `folder`, one by one as they are known; `release` is the notebook that students get."""
    lab = labs.load(folder)
    cells = variants.solution_cells(folder)
    full = {check.name: check.points for check in lab.checks.values()}
    yield _row("solution", "the author's answers", lab, folder, cells, full, seeds)
    nothing = dict.fromkeys(full, 0.0)
    if release.exists():
        yield _row(
            "release", "the notebook as handed out", lab, folder, variants.release_cells(release), nothing, seeds[:1]
        )
    else:
        yield Row("release", "the notebook as handed out", {}, nothing, [f"{release} is missing: run `course sync`"])
    for wrong in labs.known_wrong(folder):
        unknown = sorted(set(wrong.loses) - set(full))
        if unknown:
            yield Row(wrong.name, wrong.text, {}, full, [f"loses points on {unknown}, which are no checks of the lab"])
            continue
        wanted = {name: points - wrong.loses.get(name, 0.0) for name, points in full.items()}
        # Only checks that can see the difference; under the further seeds, only those that must lose points.
        first = variants.reached(cells, wrong.replaces) | set(wrong.loses)
        only = [first, *[set(wrong.loses)] * (len(seeds) - 1)]
        yield _row(wrong.name, wrong.text, lab, folder, variants.replaced(cells, wrong), wanted, seeds, only)


def lab_faults(folder: Path, lab: Lab, least_wrong: int = 3) -> list[str]:
    """What is missing from a lab as a whole."""
    known = labs.known_wrong(folder)
    faults = [] if len(known) >= least_wrong else [f"{len(known)} known-wrong answers; a lab needs {least_wrong}"]
    touched = {name for wrong in known for name in wrong.loses}
    faults += [f"no known-wrong answer loses a point on {name}" for name in lab.checks if name not in touched]
    return faults


def _row(
    name: str,
    text: str,
    lab: Lab,
    folder: Path,
    cells: list[str],
    wanted: Scores,
    seeds: list[int],
    only: list[set[str]] | None = None,
) -> Row:
    """One notebook under each seed; `only` says which checks are run under each, and the others count as they should."""
    row = Row(name, text, {}, wanted)
    for i, (seed, outcome) in enumerate(zip(seeds, _apart(folder, cells, seeds, only), strict=True)):
        if isinstance(outcome, str):
            row.faults.append(f"seed {seed}: {outcome}")
            continue
        looked_at = wanted if only is None else only[i]
        row.scores = row.scores or {
            check: outcome.get(check, 0.0) if check in looked_at else wanted[check] for check in wanted
        }
        for check in (check for check in wanted if check in looked_at):
            got = outcome.get(check, 0.0)
            if abs(got - wanted[check]) > TOLERANCE:
                row.faults.append(f"seed {seed}: {check} scores {got:g}, must score {wanted[check]:g}")
    return row


def _apart(folder: Path, cells: list[str], seeds: list[int], only: list[set[str]] | None) -> list[Scores | str]:
    """The scores of one notebook under each seed, computed in a process of its own; a text says what stopped it."""
    context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run_into, args=(sender, folder, cells, seeds, only), daemon=True)
    process.start()
    sender.close()
    results: list[Scores | str] = []
    try:
        while len(results) < len(seeds):
            if not receiver.poll(DEADLINE_S):
                results.append(f"ran for more than {DEADLINE_S} s")
                break
            results.append(receiver.recv())
    except EOFError:
        process.join()
        results.append(f"the process died (exit code {process.exitcode})")
    process.kill()
    process.join()
    return results + ["not run"] * (len(seeds) - len(results))


def _run_into(
    sender: Connection, folder: Path, cells: list[str], seeds: list[int], only: list[set[str]] | None
) -> None:
    lab = labs.load(folder)
    for i, seed in enumerate(seeds):
        try:
            results = variants.run(cells, lab, _cases_of(seed), only=only[i] if only else None)
        except Exception as error:  # the author's cases, not an answer: a notebook's own errors do not come this far
            sender.send(f"the lab's cases could not be made: {type(error).__name__}: {error}")
            continue
        sender.send({name: result.score for name, result in results.items()})
    sender.close()


def _cases_of(seed: int) -> Callable[[Check], list]:
    return lambda check: check.graded_cases(seed)
