"""A check is data: what is called, with what, and what should come back.

A case is a short script. Each step calls one of the named targets (or a method of an object that an earlier step made and
kept in a register), reads a value, or calls a target many times over stacked arguments; an expectation says what a step
should give. Written this way the same case runs in a notebook, is frozen as data for the students' copy, and drives a
process that the judge does not share.

    target       what the check line hands over, by position: 0, 1, …; or the name of a register
    register     a name under which a step keeps its result, for later steps
    expectation  Equal, Close, Between, Frequencies, Raises, Sealed
"""

import inspect
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from course_lib.checks.sealing import seal
from course_lib.checks.values import LEFT_OUT


@dataclass(frozen=True)
class Bound:
    """How far a number may be from what is expected: |got − want| ≤ absolute + relative·|want|, and why that far."""

    absolute: float = 0.0
    relative: float = 0.0
    why: str = ""

    def __post_init__(self) -> None:
        if not (self.absolute >= 0 and self.relative >= 0 and math.isfinite(self.absolute + self.relative)):
            raise ValueError(f"a Bound needs finite absolute, relative ≥ 0, got {self.absolute} and {self.relative}")

    @property
    def exact(self) -> bool:
        return self.absolute == 0 == self.relative


def rounding(terms: int, scale: float = 1.0, dtype: str = "float32") -> Bound:
    """The error of adding `terms` rounded numbers of size `scale` in `dtype`: 4·ε·√terms·scale.

    Rounding errors of a sum behave like a random walk of √terms steps of half a unit in the last place (Higham, 2002, §2.8);
    the factor 4 leaves room for another order of the same operations.
    """
    if terms < 1:
        raise ValueError(f"terms must be at least 1, got {terms}")
    epsilon = float(np.finfo(dtype).eps)
    return Bound(
        4 * epsilon * math.sqrt(terms) * scale,
        0.0,
        f"4·ε·√{terms} in {dtype}" + ("" if scale == 1 else f" × {scale:g}"),
    )


EXACT = Bound()


@dataclass(frozen=True)
class Equal:
    """The very value: numbers equal, texts equal, arrays equal in shape and entries."""

    value: Any


@dataclass(frozen=True)
class Close:
    """The value up to rounding; with `dtype`, in that dtype too (its name, e.g. "float32")."""

    value: Any
    bound: Bound
    dtype: str | None = None


@dataclass(frozen=True)
class Between:
    """A number, or an array of numbers, inside [low, high]."""

    low: float
    high: float


@dataclass(frozen=True)
class Frequencies:
    """Draws: `draws` whole numbers, or rows of them, that are these outcomes with these probabilities.

    Tested by chi-square, with cells of few expected draws taken together. `error` is the probability that a right answer fails.
    """

    outcomes: np.ndarray  # (k,), or (k, m) for rows
    probabilities: np.ndarray  # (k,)
    draws: int
    error: float = 1e-9

    def __post_init__(self) -> None:
        if len(self.outcomes) != len(self.probabilities) or abs(float(np.sum(self.probabilities)) - 1) > 1e-9:
            raise ValueError("Frequencies needs one probability for each outcome, and a sum of 1")
        if self.draws < 100:
            raise ValueError(f"Frequencies needs at least 100 draws to say anything, got {self.draws}")


@dataclass(frozen=True)
class Raises:
    """An exception of this type (or a subclass), its text mentioning each of the words."""

    error: str = "ValueError"
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sealed:
    """A value worked out by hand, known only by its digest, so that the published check does not give it away."""

    digests: tuple[str, ...]
    digits: int | None
    salt: str


Expectation = Equal | Close | Between | Frequencies | Raises | Sealed


@dataclass(frozen=True)
class Register:
    """Stands in an argument for what an earlier step kept under this name, or for a target by its number."""

    name: int | str


@dataclass(frozen=True)
class Given:
    """A function that the check hands to the student's code: its source, so that it too is data."""

    name: str
    source: str

    def compile(self) -> Callable:
        # The name marks calls from here as the course's own: what they call in the library is not the student's doing.
        namespace: dict[str, Any] = {"__name__": "course_lib.given"}
        exec(compile(self.source, f"<given {self.name}>", "exec"), namespace)
        return namespace[self.name]


@dataclass(frozen=True)
class Kept(Given):
    """A function that stays with the judge: the student's code is handed something to call, and each call is made there.

    So it can be counted, or hold what must not be read, where nothing of the student's can touch it.
    """


@dataclass(frozen=True)
class Step:
    """One call (`kind` "call"), a look at a value or attribute ("read"), many calls ("many"), or a value to keep ("put")."""

    kind: str
    target: int | str
    args: tuple = ()
    kwargs: dict | None = None
    name: str | None = None  # the method to call, or the attribute to read
    keep: str | None = None
    unchanged: bool = True
    expect: Expectation | None = None
    wanted: bool = False  # set by `without_expectation`: the result is to be sent back

    def without_expectation(self) -> "Step":
        """The step as the student's side may see it."""
        wanted = self.wanted or (self.expect is not None and not isinstance(self.expect, Raises))
        return replace(self, expect=None, wanted=wanted)

    def without_sources(self) -> "Step":
        """The step as it is sent: what stays with the judge goes by its name alone."""
        return replace(self, args=_without_sources(self.args), kwargs=_without_sources(self.kwargs))


def _without_sources(value: Any) -> Any:
    """The same arguments, without the source of any function that stays with the judge."""
    if isinstance(value, Kept):
        return replace(value, source="")
    if type(value) in (list, tuple):
        return type(value)(_without_sources(part) for part in value)
    return {key: _without_sources(part) for key, part in value.items()} if type(value) is dict else value


@dataclass(frozen=True)
class Case:
    """One thing that a check looks at; it passes when every expectation of its steps holds.

    group  the cases that it earns points together with: all of them pass, or none of them counts
    """

    name: str
    steps: tuple[Step, ...]
    hint: str | None = None
    group: str | None = field(default=None, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        if not any(step.expect for step in self.steps):
            raise ValueError(f"the case {self.name!r} expects nothing, so it could not fail")


RECORDS: dict[str, type] = {
    record.__name__: record
    for record in (Bound, Equal, Close, Between, Frequencies, Raises, Sealed, Register, Given, Kept, Step, Case)
}

NOTHING = object()


def case(
    name: str,
    args: Sequence = (),
    kwargs: dict | None = None,
    *,
    expect: Any = NOTHING,
    bound: Bound | None = None,
    raises: Raises | str | None = None,
    target: int | str = 0,
    unchanged: bool = True,
    hint: str | None = None,
    group: str | None = None,
) -> Case:
    """One call of a target and what it should give: the commonest case."""
    one = call(target, *args, kwargs=kwargs, expect=expect, bound=bound, raises=raises, unchanged=unchanged)
    return Case(name, (one,), hint, group)


def script(name: str, *steps: Step, hint: str | None = None, group: str | None = None) -> Case:
    """Several steps in a row, against one state."""
    return Case(name, tuple(steps), hint, group)


def many(
    name: str,
    stacked: Sequence,
    fixed: Sequence = (),
    *,
    expect: Any,
    bound: Bound | None = None,
    hint: str | None = None,
    group: str | None = None,
) -> Case:
    """Calls `target(*(a[i] for a in stacked), *fixed)` for every i; what comes back is stacked along a new first axis."""
    lengths = {len(values) for values in stacked}
    if len(lengths) != 1:
        raise ValueError(f"stacked arguments must have one length, got {sorted(lengths)}")
    if 0 in lengths:
        raise ValueError("stacked arguments of length 0 call nothing, so the case could not fail")
    step = Step("many", 0, (tuple(stacked), tuple(fixed)), expect=_expectation(expect, bound, None))
    return Case(name, (step,), hint, group)


def typed(
    name: str,
    value: Any,
    *,
    digits: int | None = None,
    also: Sequence = (),
    target: int = 0,
    hint: str | None = None,
    group: str | None = None,
) -> Case:
    """A value that the student worked out by hand and typed in, right to `digits` significant digits (None: exactly)."""
    digests = tuple(seal(answer, digits, name) for answer in (value, *also))
    return Case(name, (Step("read", target, expect=Sealed(digests, digits, name)),), hint, group)


def call(
    target: int | str,
    *args: Any,
    kwargs: dict | None = None,
    method: str | None = None,
    keep: str | None = None,
    expect: Any = NOTHING,
    bound: Bound | None = None,
    raises: Raises | str | None = None,
    unchanged: bool = True,
) -> Step:
    """A step that calls a target, a method of it, or of what is in a register."""
    return Step("call", target, tuple(args), kwargs, method, keep, unchanged, _expectation(expect, bound, raises))


def read(target: int | str, attribute: str | None = None, *, expect: Any = NOTHING, bound: Bound | None = None) -> Step:
    """A step that looks at a target itself or at an attribute of it."""
    return Step("read", target, name=attribute, expect=_expectation(expect, bound, None))


def put(name: str, value: Any) -> Step:
    """A step that keeps a value, an array that is to be shared say, in the register `name`."""
    return Step("put", 0, (value,), keep=name)


def given(function: Callable) -> Given:
    """`function` as an argument for the student's code. It must stand alone: its imports inside, no closure."""
    if function.__name__ == "<lambda>":
        raise ValueError("a given function needs a name of its own: write it with def, not lambda")
    if function.__closure__:
        raise ValueError(
            f"given function {function.__name__!r} uses {function.__code__.co_freevars}; it must stand alone"
        )
    return Given(function.__name__, textwrap.dedent(inspect.getsource(function)))


def kept(function: Callable) -> Kept:
    """`function` as an argument that stays with the judge. It too must stand alone."""
    one = given(function)
    return Kept(one.name, one.source)


def kept_in(value: Any) -> list[Kept]:
    """The functions among some arguments that stay with the judge."""
    if isinstance(value, Kept):
        return [value]
    parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return [found for part in parts for found in kept_in(part)]


def _expectation(expect: Any, bound: Bound | None, raises: Raises | str | None) -> Expectation | None:
    if raises is not None:
        return raises if isinstance(raises, Raises) else Raises(raises)
    if expect is NOTHING:
        return None
    if isinstance(expect, Expectation):
        return expect
    return Equal(expect) if bound is None else Close(expect, bound)
