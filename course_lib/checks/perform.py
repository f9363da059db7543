"""The student's side of a check: carries out the steps it is sent and returns plain outcomes. It holds no expectations.

The same function serves the notebook and a grading process. What a step gave is reported as it was, an exception as its
type and text; whether that is right is decided elsewhere.
"""

import contextlib
import functools
import io
import linecache
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.checks.cases import RECORDS, Given, Kept, Register, Step, kept_in
from course_lib.checks.guard import Guard
from course_lib.checks.values import Unsendable, dumps, is_tensor, loads, to_torch

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
    args_after: tuple | None = None  # positional and keyword arguments, as the call left them
    printed: str = ""


OUTCOME = {"Outcome": Outcome}
CallBack = Callable[[str, tuple, dict], Any]


def perform(
    steps: list[Step],
    targets: tuple,
    provides: tuple[str, ...] = (),
    refuses: tuple[str, ...] = (),
    call_back: CallBack | None = None,
) -> list[Outcome]:
    """Carries out one case's steps against the student's `targets`.

    `call_back(name, args, kwargs)` calls a function that stayed with the judge.
    """
    registers: dict[int | str, Any] = dict(enumerate(targets))
    return [_perform_step(step, registers, Guard(provides, refuses), call_back) for step in steps]


def ask_here(
    steps: list[Step], targets: tuple, provides: tuple[str, ...] = (), refuses: tuple[str, ...] = ()
) -> list[Outcome]:
    """`perform` in this process, with everything that goes in and out sent as if to another one.

    So a student's function gets fresh arrays that it may spoil, and answers are seen as plain data.
    """
    stays = {kept.name: kept.compile() for step in steps for kept in kept_in([step.args, step.kwargs])}
    sent = loads(dumps([step.without_sources() for step in steps], RECORDS), RECORDS, to_torch)

    def call_back(name: str, args: tuple, kwargs: dict) -> Any:
        arguments, named = loads(dumps((args, kwargs)))
        return loads(dumps(stays[name](*arguments, **named)), tensor=to_torch)

    return perform(sent, targets, provides, refuses, call_back)


def _perform_step(step: Step, registers: dict[int | str, Any], guard: Guard, call_back: CallBack | None) -> Outcome:
    stream = io.StringIO()
    args: tuple = ()
    kwargs: dict = {}
    value: Any = None
    raised = unsendable = None
    # A warning on stderr would cost the student the cell's points under nbgrader, so both streams are collected.
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        try:
            args = _resolved(step.args, registers, call_back)
            kwargs = _resolved(step.kwargs or {}, registers, call_back)
            with guard:
                subject = args[0] if step.kind == "put" else _subject(step, registers)
            if step.kind in ("put", "read"):
                value = None if subject is ... else subject  # both are ways to leave a blank
            elif not callable(subject):
                unsendable = f"got {_shown(subject)}, where a function or class is needed"
            elif step.kind == "many":
                guard.look_at(subject)
                stacked, fixed = args
                value = _many(subject, stacked, fixed, guard)
            else:
                guard.look_at(subject)
                with guard:
                    value = subject(*args, **kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = _described(error)
    printed = stream.getvalue()[:PRINTED_LIMIT]
    if raised or unsendable:
        return Outcome(raised=raised, unsendable=unsendable, refused=guard.caught, printed=printed)
    if step.keep:
        registers[step.keep] = value
    outcome = Outcome(
        value=value if step.wanted else None,
        refused=guard.caught,
        args_after=_returnable((args, kwargs)) if step.unchanged and step.kind == "call" else None,
        printed=printed,
    )
    try:
        # A copy, now: what a step returned may be changed by the next one.
        return loads(dumps(outcome, OUTCOME), OUTCOME)
    except Unsendable as error:
        return Outcome(unsendable=str(error), refused=guard.caught, printed=printed)


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


def _resolved(value: Any, registers: dict[int | str, Any], call_back: CallBack | None) -> Any:
    if isinstance(value, Register):
        return registers[value.name]
    if isinstance(value, Kept):
        return functools.partial(_kept_call, value.name, call_back)
    if isinstance(value, Given):
        return value.compile()
    if type(value) in (list, tuple):
        return type(value)(_resolved(part, registers, call_back) for part in value)
    if type(value) is dict:
        return {key: _resolved(part, registers, call_back) for key, part in value.items()}
    return value


def _kept_call(name: str, call_back: CallBack | None, /, *args: Any, **kwargs: Any) -> Any:
    if call_back is None:
        raise RuntimeError(f"{name} lives with the judge, and there is none")
    looking = sys.getprofile()
    sys.setprofile(None)  # what happens there is not the answer's doing
    try:
        return call_back(name, args, kwargs)
    finally:
        sys.setprofile(looking)


def _returnable(value: Any) -> Any:
    """What of an argument can be looked at again after the call: functions and objects become None."""
    if type(value) in (list, tuple):
        return type(value)(_returnable(part) for part in value)
    if type(value) is dict:
        return {key: _returnable(part) for key, part in value.items()}
    plain = isinstance(value, bool | int | float | complex | str | bytes | set | np.ndarray | np.generic)
    return value if plain or is_tensor(value) else None


def _described(error: BaseException) -> dict:
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == "__main__":
            line = {"function": frame.f_code.co_name, "number": number - frame.f_code.co_firstlineno + 1}
            line["source"] = linecache.getline(frame.f_code.co_filename, number).strip()
    kinds = [kind.__name__ for kind in type(error).__mro__[:-1]]
    return {"kinds": kinds, "text": _text(error), "line": line}


def _text(error: BaseException) -> str:
    try:
        return str(error)[:TEXT_LIMIT]
    except BaseException:  # its own __str__ may raise anything
        return "(its text cannot be read)"


def _shown(value: Any) -> str:
    kind = type(value).__name__
    return f"{value!r:.40} (type {kind})" if isinstance(value, int | float | str | None) else f"a value of type {kind}"
