"""Carries out plans in processes of their own, several at once, each run with a deadline.

So an answer that hangs or dies is reported and no more. The runs of a plan are cut into portions, so that one of many seeds
keeps no core waiting; a portion is a process.
"""

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from autograder.proving.rows import Plan, Row, Run, Scores, row_of
from course_lib.checks import variants
from course_lib.checks.definition import Check, Lab

DEADLINE_S = 120
PORTION = 5


def carried_out(plans: Iterable[Plan], jobs: int) -> Iterator[Row]:
    """The rows of the plans, in their order, each as soon as it is known; `jobs` processes work at once."""
    begun: deque[tuple[Plan, list[Portion]]] = deque()
    going: list[Portion] = []
    more = _portions(plans, begun)
    try:
        while True:
            while len(going) < jobs and (portion := next(more, None)) is not None:
                portion.start()
                going.append(portion)
            while begun and all(portion.over for portion in begun[0][1]):
                plan, portions = begun.popleft()
                yield row_of(plan, [outcome for portion in portions for outcome in portion.outcomes])
            if not going:
                return
            for portion in _over(going):
                going.remove(portion)
    finally:
        for portion in going:
            portion.end()


class Portion:
    """Some runs of a plan, in a process of their own. `outcomes` has the scores of each, or a text that says what stopped it."""

    def __init__(self, load: Callable[[], Lab], runs: list[Run]) -> None:
        self.outcomes: list[Scores | str] = []
        self.over = False
        self._load, self._runs = load, runs

    def start(self) -> None:
        """Starts the process."""
        context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
        self.receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_run_into, args=(sender, self._load, self._runs), daemon=True)
        self._process.start()
        sender.close()
        self.due = time.monotonic() + DEADLINE_S

    def receive(self) -> None:
        """Takes what the process has to say, if only that it has ended."""
        try:
            self.outcomes.append(self.receiver.recv())
            self.due = time.monotonic() + DEADLINE_S
        except EOFError:
            self._process.join()
            self.end(f"the process died (exit code {self._process.exitcode})")
            return
        if len(self.outcomes) == len(self._runs):
            self.end()

    def end(self, reason: str | None = None) -> None:
        """Ends the process, and says why where there was a reason."""
        self._process.kill()
        self._process.join()
        self.receiver.close()
        if reason is not None:
            self.outcomes.append(reason)
        self.outcomes += ["not run"] * (len(self._runs) - len(self.outcomes))
        self.over = True


def _portions(plans: Iterable[Plan], begun: deque) -> Iterator[Portion]:
    """The plans' portions, one by one; each plan is noted as begun with all of its own."""
    for plan in plans:
        starts = range(0, len(plan.runs), PORTION)
        portions = [Portion(plan.load, plan.runs[start : start + PORTION]) for start in starts]
        begun.append((plan, portions))
        yield from portions


def _over(going: list[Portion]) -> list[Portion]:
    """Waits until something is said or overdue, and returns the portions that are over."""
    soonest = min(portion.due for portion in going)
    ready = wait([portion.receiver for portion in going], max(0.0, soonest - time.monotonic()))
    for portion in going:
        if portion.receiver in ready:
            portion.receive()
        elif time.monotonic() >= portion.due:
            portion.end(f"ran for more than {DEADLINE_S} s")
    return [portion for portion in going if portion.over]


def _run_into(sender: Connection, load: Callable[[], Lab], runs: list[Run]) -> None:
    lab = load()
    for run in runs:
        try:
            results = variants.run(run.cells, lab, _cases_of(run.seed), only=run.only)
        except Exception as error:  # the author's cases, not an answer: a notebook's own errors do not come this far
            sender.send(f"the lab's cases could not be made: {type(error).__name__}: {error}")
            continue
        sender.send({name: result.score for name, result in results.items()})
    sender.close()


def _cases_of(seed: int) -> Callable[[Check], list]:
    return lambda check: check.graded_cases(seed)
