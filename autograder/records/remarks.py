"""What the gradebook says in words beside the points: to an instructor first, and to a student in the feedback.

No hidden case is named: a text that would hold the name of one is left out.
"""

from collections.abc import Iterable

from autograder.evidence import CheckEvidence, Receipt, State, Verdict

NO_RESPONSE = "No response."  # nbgrader's own words
SHARED = "shared process"
LONGEST = 300


def state_remark(receipt: Receipt) -> str:
    """What became of the submission as a whole; "" when its points say it all."""
    judged = all(check.verdict is Verdict.JUDGED for check in receipt.checks)
    reason = next(iter(safe(receipt, receipt.notes)), "")
    match receipt.state:
        case State.UNREADABLE:
            return f"unreadable: {reason or 'the file is not a notebook'}"
        case State.TAMPERED if judged:
            return "tampered: the notebook sent the grader what no notebook sends"
        case State.CRASHED if judged:
            return "crashed outside the checks: the process ended in a cell that no check looks at"
        case State.TIMED_OUT if judged:
            return "timed out outside the checks: a cell that no check looks at ran for too long"
        case State.NEEDS_A_PERSON if not any(receipt.written.values()):
            return f"needs a person: {reason or 'it could not be graded'}"
    return ""


def check_remark(check: CheckEvidence) -> str:
    """Why a check could not be judged; "" for one that was."""
    cell, lost = f"check_{check.name}", f"its {check.points:g} points are not earned"
    match check.verdict:
        case Verdict.CRASHED:
            return f"crashed in {cell}: the process ended there, so {lost}"
        case Verdict.TIMED_OUT:
            return f"timed out in {cell}: it ran for too long, so {lost}"
        case Verdict.TAMPERED if check.shared and check.cases:
            return (
                f"tampered in {cell}: a canary passed, an assert that must fail, so nothing that its asserts say counts"
            )
        case Verdict.TAMPERED:
            return f"tampered in {cell}: the answer sent the grader what no answer sends, so {lost}"
        case Verdict.NOT_REACHED:
            return f"{cell} was not reached: a cell before it failed or is missing, so {lost}"
    return ""


def earned(check: CheckEvidence) -> str:
    """One line for the notebook: what a check earned, on how many cases."""
    if remark := check_remark(check):
        return f"Graded: 0 of {check.points:g} points; {remark}"
    passed = sum(case.passed for case in check.cases)
    line = f"Graded: {check.score:g} of {check.points:g} points{f', {SHARED}' if check.shared else ''}"
    return f"{line}; {passed} of {len(check.cases)} cases, some of which are not shown" if check.cases else line


def shared_remark(check: CheckEvidence) -> str:
    """What a score is worth that asserts gave in the student's own process; "" for any other."""
    return (
        f"{SHARED}: the asserts of check_{check.name} ran beside the answer that they looked at" if check.shared else ""
    )


def hidden_names(receipt: Receipt) -> frozenset[str]:
    """The names of the hidden cases that a receipt knows, but for those that a visible case has too."""
    return _names(receipt, hidden=True) - shown_names(receipt)


def shown_names(receipt: Receipt) -> frozenset[str]:
    """The names of the visible cases that a receipt knows."""
    return _names(receipt, hidden=False)


def _names(receipt: Receipt, hidden: bool) -> frozenset[str]:
    return frozenset(
        case.name for check in receipt.checks for case in check.cases if case.hidden is hidden and case.name
    )


def safe(receipt: Receipt, texts: Iterable[str]) -> list[str]:
    """The texts that name no hidden case, none too long to be read."""
    secret = hidden_names(receipt)
    return [text[:LONGEST] for text in texts if text and not any(name in text for name in secret)]
