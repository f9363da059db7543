"""The student's side of a check: carries out the steps it is sent and returns plain outcomes. It holds no expectations.

The same function serves the notebook and a grading process. What a step gave is reported as it was, an exception as its
type and text; whether that is right is decided elsewhere.
"""

import contextlib
import io
import linecache
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np

from course_lib.checks.cases import RECORDS, Given, Register, Step
from course_lib.checks.values import Unsendable, dumps, loads, to_torch

PRINTED_LIMIT = 4_000
TEXT_LIMIT = 500
GUARDED_CALLS = 3


@dataclass(frozen=True)
class Outcome:
    """What one step gave. At most one of `raised`, `refused` and `unsendable` is set; otherwise `value` holds the result."""

    value: Any = None
    raised: dict | None = None  # kinds (the exception's type and its bases, by name), text, line
    refused: str | None = None  # a library function that the answer was to write itself
    unsendable: str | None = None
    args_after: tuple | None = None
    printed: str = ""


OUTCOME = {"Outcome": Outcome}
Mutable = list | dict | set | np.ndarray


def perform(
    steps: list[Step], targets: tuple, provides: tuple[str, ...] = (), refuses: tuple[str, ...] = ()
) -> list[Outcome]:
    """Carries out one case's steps against the student's `targets`."""
    registers: dict[int | str, Any] = dict(enumerate(targets))
    return [_perform_step(step, registers, Guard(provides, refuses)) for step in steps]


def ask_here(
    steps: list[Step], targets: tuple, provides: tuple[str, ...] = (), refuses: tuple[str, ...] = ()
) -> list[Outcome]:
    """`perform` in this process, with everything that goes in and out sent as if to another one.

    So a student's function gets fresh arrays that it may spoil, and answers are seen as plain data.
    """
    sent = loads(dumps(steps, RECORDS), RECORDS, to_torch)
    return perform(sent, targets, provides, refuses)


class Guard:
    """Notices when an answer calls a library function that it was to write itself.

    Inside `with guard:` every call in this thread is looked at. Refused are the functions of `course_lib` that the lab does
    not provide, when called by anything but the library itself, and the functions named in `refuses`, whoever calls them.
    """

    def __init__(self, provides: tuple[str, ...], refuses: tuple[str, ...]) -> None:
        self.provides = provides
        self.refused_objects = {name: found for name in refuses if (found := _find(name)) is not None}
        self.refused_codes: dict[CodeType, str] = {
            found.__code__: name for name, found in self.refused_objects.items() if hasattr(found, "__code__")
        }
        self.caught: str | None = None

    def __enter__(self) -> "Guard":
        self.previous = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self.previous)

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._look_at_python(frame)
        elif event == "c_call" and self.refused_objects:
            owner = getattr(type(getattr(argument, "__self__", None)), getattr(argument, "__name__", ""), None)
            for name, found in self.refused_objects.items():
                if argument is found or owner is found:
                    self.caught = name

    def _look_at_python(self, frame: FrameType) -> None:
        code = frame.f_code
        if code in self.refused_codes:
            self.caught = self.refused_codes[code]
            return
        module = frame.f_globals.get("__name__") or ""
        if (
            not module.startswith("course_lib.")
            or module in (__name__, "course_lib.given")
            or code.co_name == "<module>"
        ):
            return
        caller = frame.f_back.f_globals.get("__name__") or "" if frame.f_back else ""
        if caller.startswith("course_lib.") and caller != __name__:
            return  # the library calling itself, on behalf of something that was allowed
        name = f"{module}.{code.co_qualname}"
        if not any(name == allowed or name.startswith(allowed + ".") for allowed in self.provides):
            self.caught = name


def _find(name: str) -> Any:
    """The object of a dotted name, if its module has been imported: an answer cannot call what nobody imported."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        if module := sys.modules.get(".".join(parts[:cut])):
            found: Any = module
            for part in parts[cut:]:
                found = getattr(found, part, None)
            return found
    return None


def _perform_step(step: Step, registers: dict[int | str, Any], guard: Guard) -> Outcome:
    stream = io.StringIO()
    args: tuple = ()
    value: Any = None
    raised: dict | None = None
    # A warning on stderr would cost the student the cell's points under nbgrader, so both streams are collected.
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        try:
            args = _resolved(step.args, registers)
            if step.kind == "put":
                (value,) = args
            elif step.kind == "read":
                value = _subject(step, registers)
                value = None if value is ... else value  # both are ways to leave a blank
            elif step.kind == "many":
                stacked, fixed = args
                value = _many(registers[step.target], stacked, fixed, guard)
            else:
                kwargs = _resolved(step.kwargs or {}, registers)
                subject = _subject(step, registers)
                if not callable(subject):
                    return Outcome(
                        unsendable=f"got {type(subject).__name__} {subject!r:.40}, where a function or class is needed"
                    )
                with guard:
                    value = subject(*args, **kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = _described(error)
    printed = stream.getvalue()[:PRINTED_LIMIT]
    if raised is not None:
        return Outcome(raised=raised, refused=guard.caught, printed=printed)
    if step.keep:
        registers[step.keep] = value
    args_after = tuple(part if isinstance(part, Mutable) or _is_tensor(part) else None for part in args)
    outcome = Outcome(
        value=value if step.wanted else None,
        refused=guard.caught,
        args_after=args_after if step.unchanged and step.kind == "call" else None,
        printed=printed,
    )
    try:
        # A copy, now: what a step returned may be changed by the next one.
        return loads(dumps(outcome, OUTCOME), OUTCOME)
    except Unsendable as error:
        return Outcome(unsendable=str(error), printed=printed)


def _subject(step: Step, registers: dict[int | str, Any]) -> Any:
    subject = registers[step.target]
    return getattr(subject, step.name) if step.name else subject


def _many(function: Callable, stacked: tuple, fixed: tuple, guard: Guard) -> np.ndarray | None:
    results = []
    for i, row in enumerate(zip(*stacked, strict=True)):
        with guard if i < GUARDED_CALLS else contextlib.nullcontext():
            results.append(function(*row, *fixed))
    # A forgotten `return` is said as such, not as an array of objects.
    return None if any(result is None for result in results) else np.asarray(results)


def _resolved(value: Any, registers: dict[int | str, Any]) -> Any:
    if isinstance(value, Register):
        return registers[value.name]
    if isinstance(value, Given):
        return value.compile()
    if type(value) in (list, tuple):
        return type(value)(_resolved(part, registers) for part in value)
    if type(value) is dict:
        return {key: _resolved(part, registers) for key, part in value.items()}
    return value


def _is_tensor(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def _described(error: BaseException) -> dict:
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == "__main__":
            line = {"function": frame.f_code.co_name, "number": number - frame.f_code.co_firstlineno + 1}
            line["source"] = linecache.getline(frame.f_code.co_filename, number).strip()
    kinds = [kind.__name__ for kind in type(error).__mro__[:-1]]
    return {"kinds": kinds, "text": str(error)[:TEXT_LIMIT], "line": line}
