"""Answers worked out by hand, as digests: a published check can recognise one and does not give it away."""

import hashlib
import math
from typing import Any

LARGEST_BITS = 1000  # of a whole number typed by hand


def seal(value: Any, digits: int | None, salt: str) -> str:
    """The digest of a typed value: of its text, or of a number rounded to `digits` significant digits."""
    if isinstance(value, str):
        text = " ".join(value.split()).casefold()
    elif isinstance(value, bool) or not isinstance(value, int | float):
        text = _repr(value)
    elif isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        text = "huge"  # no answer of ours: Python would not even print it
    elif digits is not None:
        text = f"{float(value):.{digits - 1}e}"
    else:
        text = str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))
    return hashlib.sha256(f"{salt}\0{text}".encode()).hexdigest()


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # it holds a whole number too long to print
        return "huge"
