"""Checks: what a lab's check lines call, and how a lab's author writes them.

In a notebook: `from course_lib.checks import lab`. In `solutions/<lab>/checks.py`: `Lab`, and the makers of cases.
"""

from course_lib.checks.cases import (
    Between,
    Bound,
    Close,
    Equal,
    Frequencies,
    Raises,
    Register,
    call,
    case,
    given,
    kept,
    many,
    put,
    read,
    rounding,
    script,
    typed,
)
from course_lib.checks.definition import Lab
from course_lib.checks.draw import Draw
from course_lib.checks.notebook import lab

__all__ = [
    "Between",
    "Bound",
    "Close",
    "Draw",
    "Equal",
    "Frequencies",
    "Lab",
    "Raises",
    "Register",
    "call",
    "case",
    "given",
    "kept",
    "lab",
    "many",
    "put",
    "read",
    "rounding",
    "script",
    "typed",
]
