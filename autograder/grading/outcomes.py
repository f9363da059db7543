"""What a student's side says of its steps, as the judge takes it: of the right kinds all through, or not at all."""

from dataclasses import replace
from typing import Any

from course_lib.checks.perform import Outcome

TORCH_SAYS = "can't allocate memory"


def is_outcome(value: Any) -> bool:
    """Whether every part of an outcome is of the kind that an honest student's side sends."""
    if not isinstance(value, Outcome) or not isinstance(value.printed, str):
        return False
    texts = all(text is None or isinstance(text, str) for text in (value.refused, value.unsendable))
    pair = value.args_after is None or (isinstance(value.args_after, tuple | list) and len(value.args_after) == 2)
    return texts and pair and (value.raised is None or _is_raised(value.raised))


def _is_raised(raised: Any) -> bool:
    match raised:
        case {"kinds": [str(_), *_], "text": str(_), "line": None}:
            return all(isinstance(kind, str) for kind in raised["kinds"])
        case {"kinds": [str(_), *_], "text": str(_), "line": {"function": str(_), "number": int(_), "source": str(_)}}:
            return all(isinstance(kind, str) for kind in raised["kinds"])
    return False


def explained(outcome: Outcome, memory: int | None) -> Outcome:
    """The outcome; where an allocation was refused under a claim of `memory` bytes, in the words of the claim."""
    raised = outcome.raised
    if not memory or not raised or not ("MemoryError" in raised["kinds"] or TORCH_SAYS in raised["text"]):
        return outcome
    said = f"needs more memory than this check allows, {memory / 2**20:,.4g} MiB beyond its inputs"
    return replace(outcome, raised={**raised, "text": f"{said} ({raised['text'] or 'refused by the system'})"})
