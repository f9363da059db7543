"""Cells of asserts from labs older than the checks, judged as well as that can be done: in the process of the answer.

At such a cell the student's process leaves a sealed copy. When the notebook has ended, the judge has the author's cell run in a
fork of that copy, hidden asserts and all, and each canary in another; what runs is drawn in an order that nobody can foresee,
and has no name. The asserts are believed when they hold and every canary fails.

So a notebook gains nothing that takes asserts out, skips or silences them, or makes things equal that are not: whatever lets the
asserts hold lets a canary pass. Not caught is what tells the two apart by itself: code that reads the asserts from the frame
that runs them (hidden ones too, which is how they could leak: into files, say), knows the released ones by heart, forges this
module's messages, or looks for a canary's expectation and answers otherwise. That is why such evidence is labelled `shared
process`: use check lines for anything that matters.
"""

import secrets

from autograder.grading.channel import Channel, Gone
from course_lib.checks.definition import Check
from course_lib.checks.judging import CANARIES, PASSED, UNSHOWN, CheckResult, judge_asserts
from course_lib.checks.legacy.trial import Tried
from course_lib.checks.values import Malformed

SECRET = {UNSHOWN, CANARIES}
"""The cases of such a check that no student sees."""


def judged(check: Check, channel: Channel, seed: int, deadline: float) -> CheckResult:
    """Judges a cell of asserts by the sealed copy at the other end.

    Raises Gone, Late and Malformed, as every conversation with a copy does.
    """
    return judge_asserts(check, lambda source: _attempt(channel, source, deadline), seed)


def canary_passed(result: CheckResult) -> bool:
    """Whether the asserts hold in a process in which what must fail does not."""
    return any(case.difference is not None and case.difference.text.startswith(PASSED) for case in result.cases)


def _attempt(channel: Channel, source: str, deadline: float) -> Tried:
    nonce = secrets.token_hex(8)
    channel.send({"op": "try", "nonce": nonce, "source": source}, deadline)
    found: Tried | None = None
    while True:
        match channel.receive(deadline):
            case {"op": "tried", "nonce": str(known), "kinds": tuple(kinds), "text": str(text), "line": int(line)} if (
                known == nonce and found is None and all(isinstance(kind, str) for kind in kinds)
            ):
                found = Tried(kinds, text, line)
            case {"op": "ended", "nonce": str(known)} if known == nonce:
                if found is None:
                    raise Gone
                return found
            case _:
                raise Malformed("it sent something else than what a run of asserts gave")
