"""Grading one submission from its bytes to its receipt: read, repaired, aligned, run, judged, and described.

Nothing here writes: what comes back is plain data, so that it can be made by another process or another machine. The order in
which records are then kept is that of `autograder.records`.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.evidence import CheckEvidence, Receipt, State, Verdict
from autograder.grading.judge import Cell, Judged, Limits, judge_notebook
from autograder.grading.pool import Zygote
from autograder.grading.scratch import remove
from autograder.intake import Unreadable
from autograder.intake.align import Aligned, align
from autograder.intake.repair import repair
from autograder.sandbox import NOBODY
from course_lib.checks.definition import Lab, Mistake


@dataclass(frozen=True)
class Task:
    """One submission to be graded: its bytes (None: they could not be read, and `problem` says why) and what decides."""

    student: str
    name: str
    content: bytes | None
    seed: int
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of what was handed in; of the reason where nothing could be read."""
        return hashlib.sha256(self.problem.encode() if self.content is None else self.content).hexdigest()


@dataclass(frozen=True)
class Graded:
    """A receipt, and what else is to be kept: the aligned notebook, what its cells showed, its written answers."""

    receipt: Receipt
    notebook: dict[str, Any] | None = None
    outputs: dict[int, list[dict]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Against:
    """What submissions are graded against: the lab with its hidden cases, its release, and what names the receipt."""

    lab: Lab
    released: Mapping[str, Any]
    version: str
    environment: str
    level: str
    mistakes: tuple[Mistake, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @cached_property
    def hidden_names(self) -> frozenset[str]:
        """The names of cases that no student may see."""
        checks = self.lab.checks.values()
        hidden = {case.name for check in checks for case in check.hidden_cases(0)}
        return frozenset(hidden - {case.name for check in checks for case in check.shown_cases})


def grade(task: Task, against: Against, zygote: Zygote) -> Graded:
    """Grades one submission. The same task, lab and environment give the same receipt."""
    try:
        if task.content is None:
            raise Unreadable(task.problem)
        repaired = repair(task.content, task.name)
        aligned = align(repaired.notebook, against.released)
    except Unreadable as error:
        return Graded(_receipt(task, against, State.UNREADABLE, {}, {}, (*task.notes, str(error))))
    notes = (*task.notes, *repaired.notes, *aligned.notes)
    folder = Path(tempfile.mkdtemp(prefix="submission-", dir=zygote.folder))
    try:
        if zygote.uid is not None:
            os.chown(folder, NOBODY, NOBODY)
        judged = judge_notebook(
            zygote, against.lab, _cells(aligned), str(folder), task.seed, against.limits, against.mistakes
        )
    finally:
        remove(folder)
    written = {cell.name: cell.answered for cell in aligned.cells if cell.kind == "written"}
    answers = {cell.name: cell.source for cell in aligned.cells if cell.kind == "written"}
    state = _state(judged, written)
    receipt = _receipt(task, against, state, judged.checks, written, (*notes, *_lost(judged, aligned)))
    return Graded(receipt, aligned.notebook, judged.outputs, answers)


def _cells(aligned: Aligned) -> list[Cell]:
    """What is to be run, by its place in the notebook; the set-up cell installs, and there is nothing to install."""
    return [
        Cell(number, cell.name, cell.source)
        for number, cell in enumerate(aligned.cells)
        if cell.kind in ("code", "solution", "check")
    ]


def _state(judged: Judged, written: Mapping[str, bool]) -> State:
    if judged.tampered or any(check.verdict is Verdict.TAMPERED for check in judged.checks.values()):
        return State.TAMPERED
    verdicts = {*judged.lost.values(), *(check.verdict for check in judged.checks.values())}
    if Verdict.TIMED_OUT in verdicts:
        return State.TIMED_OUT
    if Verdict.CRASHED in verdicts:
        return State.CRASHED
    return State.NEEDS_A_PERSON if any(written.values()) else State.GRADED


def _lost(judged: Judged, aligned: Aligned) -> list[str]:
    named = {number: cell.name or f"cell {number + 1}" for number, cell in enumerate(aligned.cells)}
    lines = [f"{named[number]} {verdict}, and was left out of the next run" for number, verdict in judged.lost.items()]
    return [*lines, *judged.notes, *([f"tampered: {judged.tampered}"] if judged.tampered else [])]


def _receipt(
    task: Task,
    against: Against,
    state: State,
    checks: Mapping[str, CheckEvidence],
    written: dict[str, bool],
    notes: Sequence[str],
) -> Receipt:
    lab = against.lab
    evidence = [
        checks.get(check.name, CheckEvidence(check.name, check.points, 0.0, Verdict.NOT_REACHED))
        for check in lab.checks.values()
    ]
    return Receipt(
        lab=lab.name,
        student=task.student,
        version=against.version,
        content=task.digest,
        environment=against.environment,
        seed=task.seed,
        level=against.level,
        state=state,
        checks=tuple(evidence),
        written={**dict.fromkeys(lab.written_items, False), **written},
        notes=tuple(notes),
    )
