"""Grades again and lays the result beside the receipts: who would gain or lose by a changed check, and whether a receipt holds.

Nothing is recorded. `regrade` is whatever grades a student's submission now and returns its receipt.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.evidence import Receipt, State
from autograder.records.receipts import Receipts
from autograder.reports.words import line, listed, number, table

Regrade = Callable[[str], Receipt]
ROUNDING = 1e-9
CAUSES = {"environment": "environment", "level": "sandbox level", "version": "version of the lab", "content": "file"}


@dataclass(frozen=True)
class Change:
    """A student's receipt as it is, and as it would be."""

    before: Receipt
    after: Receipt

    @property
    def points(self) -> float:
        return round(self.after.score - self.before.score, 2)

    @property
    def by_check(self) -> dict[str, float]:
        """What each check would give more or less; a check that is new or gone counts whole."""
        before = {check.name: check.score for check in self.before.checks}
        after = {check.name: check.score for check in self.after.checks}
        differences = {
            name: after.get(name, 0.0) - before.get(name, 0.0) for name in [*before, *(set(after) - set(before))]
        }
        return {name: round(points, 2) for name, points in sorted(differences.items()) if abs(points) > ROUNDING}

    @property
    def none(self) -> bool:
        return not self.by_check and self.before.state is self.after.state


@dataclass(frozen=True)
class Comparison:
    """What grading again would change; `faults` are the submissions for which that cannot be said."""

    lab: str
    changes: list[Change] = field(default_factory=list)
    same: int = 0
    faults: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Who would gain or lose, by check and by student. Points that a person gave by hand stay either way."""
        gain = sum(change.points > 0 for change in self.changes)
        lose = sum(change.points < 0 for change in self.changes)
        other = len(self.changes) - gain - lose
        parts = [f"{gain} would gain", f"{lose} would lose", f"{self.same} would keep what they have"]
        parts += [f"{other} would have the same points with other evidence"] if other else []
        lines = [f"{self.lab}: {', '.join(parts)}; nothing is recorded"]
        if rows := list(self._by_check()):
            lines += table([["check", "gain", "lose", "points"], *rows])
        for change in sorted(self.changes, key=lambda change: (change.points, change.before.student)):
            lines.append(f"  {line(change.before.student, 60)}: {_change(change)}")
        return "\n".join([*lines, *[f"  ? {fault}" for fault in self.faults]]) + "\n"

    def _by_check(self) -> Iterator[list[str]]:
        for name in dict.fromkeys(name for change in self.changes for name in change.by_check):
            given = [change.by_check[name] for change in self.changes if name in change.by_check]
            gain, lose = sum(points > 0 for points in given), sum(points < 0 for points in given)
            yield [line(name, 60), str(gain), str(lose), signed(sum(given))]


@dataclass(frozen=True)
class Verified:
    """Whose receipts are reproduced byte for byte, and where the others first differ."""

    lab: str
    same: list[str] = field(default_factory=list)
    differences: dict[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return not self.differences

    def text(self) -> str:
        lines = [f"  ✗ {line(student, 60)}: {difference}" for student, difference in self.differences.items()]
        total = len(self.same) + len(self.differences)
        return "\n".join([f"{self.lab}: {len(self.same)} of {total} receipts reproduced byte for byte", *lines]) + "\n"


def whatif(course: Path | str, lab: str, regrade: Regrade) -> Comparison:
    """Compares the receipts of a lab with what grading now gives."""
    found = Receipts(course).all(lab)
    if not found.receipts and not found.faults:
        raise ValueError(f"nothing was graded for {lab} in {course}")
    changes, faults, same = [], list(found.faults), 0
    for student, before in found.receipts.items():
        if before.state is State.NOT_SUBMITTED:
            continue
        try:
            change = Change(before, _again(regrade, before))
        except (ValueError, OSError) as error:
            faults.append(f"{line(student, 60)} cannot be graded again: {line(str(error), 500)}")
            continue
        if change.none:
            same += 1
        else:
            changes.append(change)
    return Comparison(lab, changes, same, faults)


def verify(course: Path | str, lab: str, regrade: Regrade, students: list[str] | None = None) -> Verified:
    """Grades again and compares with the receipts, byte for byte; of `students`, or of all who handed in."""
    receipts = Receipts(course)
    found = receipts.all(lab)
    if missing := [student for student in students or [] if student not in found.receipts]:
        raise ValueError(f"there is no receipt of {listed(missing)} for {lab}")
    result = Verified(lab)
    for fault in found.faults if students is None else []:
        result.differences[fault] = "not a receipt"
    for student, before in found.receipts.items():
        if before.state is State.NOT_SUBMITTED or (students is not None and student not in students):
            continue
        try:
            after = _again(regrade, before)
            kept = receipts.path(lab, student).read_bytes()
        except (ValueError, OSError) as error:
            result.differences[student] = f"cannot be graded again: {line(str(error), 500)}"
            continue
        if difference := first_difference(kept, after):
            result.differences[student] = difference
        else:
            result.same.append(student)
    if not result.same and not result.differences:
        raise ValueError(f"nothing was graded for {lab} in {course}")
    return result


def first_difference(kept: bytes, after: Receipt) -> str:
    """Where a kept receipt and a new one first differ, in words; "" when they are the same bytes."""
    new = after.to_json().encode()
    if kept == new:
        return ""
    before = json.loads(kept)
    where = next(_differences(before, json.loads(new), ""), "its file is spelt otherwise, with the same content")
    causes = [name for key, name in CAUSES.items() if before.get(key) != getattr(after, key)]
    return f"{where} (graded with another {', another '.join(causes)})" if causes else where


def _differences(before: Any, after: Any, where: str) -> Iterator[str]:
    """The places where two JSON values differ, in the order of the file."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _differences(before.get(key), after.get(key), f"{where}.{key}" if where else key)
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            one, other = (values[place] if place < len(values) else None for values in (before, after))
            name = next((value["name"] for value in (one, other) if isinstance(value, dict) and "name" in value), place)
            yield from _differences(one, other, f"{where}[{line(str(name), 60)}]")
    elif before != after or type(before) is not type(after):
        yield f"{where}: {_value(before)}, now {_value(after)}"


def signed(points: float) -> str:
    return f"{'+' if points > 0 else ''}{number(points)}"


def _again(regrade: Regrade, before: Receipt) -> Receipt:
    after = regrade(before.student)
    if (after.student, after.lab) != (before.student, before.lab):
        raise ValueError(f"what came back is the receipt of {after.student!r} for {after.lab}")
    return after


def _change(change: Change) -> str:
    parts = [f"{name} {signed(points)}" for name, points in change.by_check.items()]
    if change.before.state is not change.after.state:
        parts.append(f"{change.before.state} → {change.after.state}")
    return f"{signed(change.points)} ({', '.join(parts)})"


def _value(value: Any) -> str:
    if isinstance(value, dict | list):
        return "there"
    return "not there" if value is None else line(json.dumps(value, ensure_ascii=False), 200)
