"""What grading a submission leaves: its state, and for each check the evidence for its points.

A receipt is a submission's record beside the gradebook: what was graded (by content), against which lab, under which seed, in
which environment and behind which sandbox, and what each case gave. The same content, lab, seed and environment give the same
receipt, byte for byte, so that a grade can be shown, explained and reproduced. Times and the like stay out of it.

    content      SHA-256 of the file as it was handed in
    version      the lab's, course_lib.checks.labs.version
    environment  a digest of the interpreter and the packages that decide a result
    seed         what hidden cases were drawn from
    level        the sandbox: "A" to "D"
"""

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """What became of a submission; every export keeps them apart."""

    NOT_SUBMITTED = "not submitted"
    UNREADABLE = "unreadable"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    TAMPERED = "tampered"
    NEEDS_A_PERSON = "needs a person"
    GRADED = "graded"


class Verdict(StrEnum):
    """What became of one check."""

    JUDGED = "judged"
    NOT_REACHED = "not reached"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    TAMPERED = "tampered"


@dataclass(frozen=True)
class CaseEvidence:
    """One case: whether it passed, and if not, what was seen. Hidden ones are never shown to students.

    group  the cases that it earns together with, or ""
    """

    name: str
    passed: bool
    said: str = ""
    hidden: bool = False
    group: str = ""


@dataclass(frozen=True)
class CheckEvidence:
    """One check: its points, what was earned, and why.

    shared  whether the verdict was reached in the student's own process, by asserts that an answer could make hold
    """

    name: str
    points: float
    score: float
    verdict: Verdict = Verdict.JUDGED
    cases: tuple[CaseEvidence, ...] = ()
    mistake: str = ""
    """The known mistake that gives what this answer gave, or ""."""
    shared: bool = False


@dataclass(frozen=True)
class Receipt:
    """The record of one submission. `written` holds each written item and whether it was answered at all."""

    lab: str
    student: str
    version: str
    content: str
    environment: str
    seed: int
    level: str
    state: State
    checks: tuple[CheckEvidence, ...] = ()
    written: dict[str, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What an instructor should know: repairs and realigned cells, cells that were left out, layers that were missing."""

    @property
    def score(self) -> float:
        """The automatic points."""
        return round(sum(check.score for check in self.checks), 2)

    def to_json(self) -> str:
        """The receipt as text: keys in order, one spelling, so that equal receipts are equal bytes."""
        return json.dumps(asdict(self, dict_factory=_telling), indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Receipt":
        """The receipt of `to_json`'s text. Raises ValueError when it is none."""
        try:
            data = json.loads(text)
            checks = tuple(_check(entry) for entry in data.pop("checks"))
            return cls(**{**data, "state": State(data["state"]), "notes": tuple(data["notes"]), "checks": checks})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a receipt: {error}") from None


def _telling(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A record without the fields that say something only of some checks, where they say nothing."""
    return {name: value for name, value in pairs if value or name not in ("group", "shared")}


def _check(entry: dict[str, Any]) -> CheckEvidence:
    cases = tuple(CaseEvidence(**case) for case in entry["cases"])
    return CheckEvidence(**{**entry, "verdict": Verdict(entry["verdict"]), "cases": cases})
