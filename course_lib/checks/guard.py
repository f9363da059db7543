"""Notices when an answer calls a library function that it was to write itself.

Every call that an answer makes is looked at by a profiler while it runs: the functions of `course_lib` that the lab does not
provide are refused when anything but the library itself calls them, and those that a check refuses by name whoever calls
them. A profiler does not see what C calls from C, nor NumPy's ufuncs; so the names in the answer's own code are looked up,
too. It is a reminder, not a wall: while grading, the library's functions are not there to be called.
"""

import builtins
import dis
import functools
import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

GIVEN = "course_lib.given"  # the module name of functions that a check hands to an answer
PERFORM = "course_lib.checks.perform"
IMPORTING = ("<module>", "__create_fn__")  # a module's own code, and what makes the methods of its dataclasses


class Guard:
    """Inside `with guard:` every call in this thread is looked at; `caught` is the first that was refused.

    provides  modules or functions of `course_lib` that may be called, by dotted name
    refuses   functions and classes outside it that may not, by dotted name; one that nobody imported refuses nothing
    """

    def __init__(self, provides: tuple[str, ...], refuses: tuple[str, ...]) -> None:
        self.caught: str | None = None
        self._provides = provides
        self._refused = {name: found for name in refuses if (found := _find(name)) is not None}
        self._refused_codes = {code: name for name, found in self._refused.items() for code in _codes(found)}

    def __enter__(self) -> "Guard":
        self._previous = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._previous)

    def look_at(self, answer: Any) -> None:
        """Looks up the names that an answer's own code mentions."""
        if self._refused and not self.caught:
            for mentioned in _mentioned(answer):
                for name, found in self._refused.items():
                    if mentioned is found:
                        self.caught = self.caught or name

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.caught:
            return
        if event == "call":
            self.caught = self._refused_codes.get(frame.f_code) or self._refused_by_the_lab(frame)
        elif event == "c_call" and self._refused:
            owner = getattr(type(getattr(argument, "__self__", None)), getattr(argument, "__name__", ""), None)
            for name, found in self._refused.items():
                if argument is found or owner is found:
                    self.caught = self.caught or name

    def _refused_by_the_lab(self, frame: FrameType) -> str | None:
        code, module = frame.f_code, _module(frame)
        if not module.startswith("course_lib.") or module in (PERFORM, GIVEN, __name__) or code.co_name in IMPORTING:
            return None
        caller = _module(frame.f_back) if frame.f_back else ""
        if caller.startswith("course_lib.") and caller != PERFORM:
            return None  # the library calling itself, on behalf of something that was allowed
        name = f"{module}.{code.co_qualname}"
        if code.co_qualname.startswith(
            "__create_fn__"
        ):  # a dataclass's method, whose name did not say whose before 3.13
            name = f"{module}.{type(frame.f_locals.get('self')).__qualname__}.{code.co_name}"
        allowed = any(name == provided or name.startswith(provided + ".") for provided in self._provides)
        return None if allowed else name


def _module(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name if isinstance(name, str) else ""


def _find(name: str) -> Any:
    """The object of a dotted name, if its module has been imported: an answer cannot call what nobody imported."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        if found := sys.modules.get(".".join(parts[:cut])):
            for part in parts[cut:]:
                found = getattr(found, part, None)
            return found
    return None


def _codes(found: Any) -> Iterator[CodeType]:
    """The Python code that runs when `found` is called: under NumPy's dispatchers, and of a class its making."""
    made = [vars(found).get(name) for name in ("__init__", "__new__")] if isinstance(found, type) else [found]
    for part in made:
        plain = inspect.unwrap(part) if callable(part) else part
        if isinstance(plain, FunctionType):
            yield plain.__code__


def _mentioned(answer: Any) -> Iterator[Any]:
    """What an answer is made of and what its code names, through functions and classes of the same notebook."""
    waiting, seen, home = [answer], set(), None
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, functools.partial):
            waiting.append(part.func)
        elif isinstance(part, MethodType):
            waiting.append(part.__func__)
        elif isinstance(part, type):
            waiting += [value for value in vars(part).values() if isinstance(value, FunctionType)]
        elif isinstance(part, FunctionType):
            home = part.__globals__ if home is None else home
            if part.__globals__ is home:
                waiting += [cell.cell_contents for cell in part.__closure__ or () if _filled(cell)]
                waiting += _named(part.__code__, part.__globals__)


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """What the global names in some code stand for, attributes of modules included."""
    current = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            current = names.get(step.argval, getattr(builtins, step.argval, None))
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(current, ModuleType | type):
            current = getattr(current, step.argval, None)
        else:
            current = None
        if current is not None:
            yield current
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named(constant, names)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
