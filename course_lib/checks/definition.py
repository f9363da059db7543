"""A lab and its checks, as its author writes them.

The visible cases are what a student sees and works against; the hidden ones, kept with the solution, are drawn with a secret
seed when a lab is graded. Both come from the same kind of function: it takes a `Draw` and yields cases.
"""

import copy
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from course_lib.checks.cases import RECORDS, Case
from course_lib.checks.draw import VISIBLE_SEED, Draw
from course_lib.checks.legacy.cell import Asserts
from course_lib.checks.values import dumps, loads

CaseMaker = Callable[[Draw], Iterable[Case]]
NumberMaker = Callable[[Draw], Mapping[str, Any]]


@dataclass
class Check:
    """What one check line looks at; or, with `asserts`, one cell of plain asserts, which has no cases.

    groups  the share of a group of cases, where it is not that of one group among others
    """

    name: str
    doc: str
    points: float
    targets: tuple[str, ...]
    visible: CaseMaker
    hidden: list[CaseMaker] = field(default_factory=list)
    needs: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    minutes: int | None = None
    memory: int | None = None
    groups: dict[str, float] = field(default_factory=dict)
    asserts: Asserts | None = None

    def visible_cases(self, seed: int = VISIBLE_SEED) -> list[Case]:
        """The cases a student sees, or, under another seed, cases of the same form."""
        if self.asserts is not None:
            return []
        cases = self._drawn(self.visible, seed)
        if unseen := sorted(set(self.groups) - {case.group for case in cases}):
            raise ValueError(
                f"check {self.name!r} gives a share to {unseen[0]!r}, and no visible case is in that group"
            )
        return cases

    @cached_property
    def shown_cases(self) -> list[Case]:
        """The cases a student sees, made once: for a judge, who sends them and changes nothing in them."""
        return self.visible_cases()

    def hidden_cases(self, seed: int) -> list[Case]:
        """The cases that only grading runs."""
        return [case for maker in self.hidden for case in self._drawn(maker, seed)]

    def graded_cases(self, seed: int) -> list[Case]:
        """What grading runs under a secret seed: both kinds."""
        cases = self.visible_cases(seed) + self.hidden_cases(seed)
        names = [case.name for case in cases]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"check {self.name!r} has two cases called {twice[0]!r}")
        return cases

    def _drawn(self, maker: CaseMaker, seed: int) -> list[Case]:
        # Sent through the wire once, so that an author learns here that a case is not plain data.
        cases = [loads(dumps(case, RECORDS), RECORDS) for case in maker(Draw(seed, self.name))]
        names = [case.name for case in cases]
        if not cases or len(set(names)) < len(names):
            raise ValueError(f"check {self.name!r} needs cases with distinct names, got {names}")
        return cases


@dataclass(frozen=True)
class Written:
    """An answer in words, graded by a person against a rubric: {what earns points: how many}."""

    name: str
    points: float
    rubric: dict[str, float]


@dataclass(frozen=True)
class Mistake:
    """What a known mistake gives on the visible cases, so that it can be named when somebody makes it.

    `outcomes` holds, for each check it touches and each of its cases, one entry a step.
    """

    text: str
    outcomes: dict[str, dict[str, list]]


class Lab:
    """A lab: its checks in the order of the notebook, its written items, and what of the library it provides.

    provides  modules or functions of `course_lib` that an answer may call; every other one is refused, since it may be
              what the student is asked to write
    numbers   what a private overlay draws for each student, and `variants` its other forms of checks (`autograder.overlay`)
    """

    def __init__(self, name: str, title: str, minutes: int, provides: Sequence[str] = ()) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError(f"a lab's name is lower-case letters, digits and underscores, got {name!r}")
        self.name, self.title, self.minutes, self.provides = name, title, minutes, tuple(provides)
        self.checks: dict[str, Check] = {}
        self.written_items: dict[str, Written] = {}
        self.mistakes: list[Mistake] = []
        self.numbers: list[NumberMaker] = []
        self.variants: dict[str, dict[str, Check]] = {}

    @property
    def points(self) -> float:
        checks = sum(check.points for check in self.checks.values())
        return checks + sum(item.points for item in self.written_items.values())

    def check(
        self,
        points: float,
        target: str | Sequence[str],
        *,
        needs: Sequence[str] = (),
        refuses: Sequence[str] = (),
        hints: Sequence[str] = (),
        minutes: int | None = None,
        memory: int | None = None,
        groups: Mapping[str, float] | None = None,
    ) -> Callable[[CaseMaker], CaseMaker]:
        """Makes a check of a function that yields its visible cases; the function's name and docstring become the check's.

        target   the signature that the student is to meet, e.g. "softmax(x) -> p"; a list for several
        needs    checks whose answers this one's answer builds on
        refuses  functions outside the course's library that would be the answer, e.g. "torch.softmax"
        memory   bytes that an answer may take beyond what is there, which grading enforces
        groups   how much the cases of a group weigh together, e.g. {"ragged tails": 2}; 1 for a group that is not named
                 here, and for a case without a group
        """
        shares = dict(groups or {})
        targets = (target,) if isinstance(target, str) else tuple(target)

        def add(maker: CaseMaker) -> CaseMaker:
            name = maker.__name__
            self._new(name)
            if points <= 0:
                raise ValueError(f"check {name!r} needs points above 0, got {points}")
            if wrong := [group for group, share in shares.items() if not 0 < share < math.inf]:
                raise ValueError(f"check {name!r} needs shares above 0, got {shares[wrong[0]]} for {wrong[0]!r}")
            if unknown := [other for other in needs if other not in self.checks]:
                raise ValueError(f"check {name!r} needs {unknown}, which no check before it is called")
            if not maker.__doc__:
                raise ValueError(f"check {name!r} needs a docstring: the sentence that its report opens with")
            doc = " ".join(maker.__doc__.split())
            kept = tuple(needs), tuple(refuses), tuple(hints)
            self.checks[name] = Check(name, doc, points, targets, maker, [], *kept, minutes, memory, shares)
            return maker

        return add

    def asserts(
        self, name: str, points: float, *, canaries: Sequence[str] = (), doc: str = "", minutes: int | None = None
    ) -> None:
        """Makes a check of an old lab's test cell: the one that is marked `asserts="name"` in the notebook.

        Its asserts run in the process of the answer, so an answer that is out to cheat can make them hold; use a check line
        for anything that matters. Each canary is code that must end in an AssertionError, such as an assert with a wrong
        expectation: where one passes, the asserts are not believed. All points, or none.
        """
        self._new(name)
        if not name.isidentifier() or points <= 0:
            raise ValueError(f"asserts need a name that is an identifier and points above 0, got {name!r} and {points}")
        if isinstance(canaries, str):
            raise ValueError(f"the canaries of {name!r} must be a list of texts, got one text")
        doc = doc or "A cell of asserts."
        asserts = Asserts("", tuple(canaries))
        self.checks[name] = Check(name, doc, points, (), lambda draw: (), minutes=minutes, asserts=asserts)

    def hidden(self, name: str, variant: str | None = None) -> Callable[[CaseMaker], CaseMaker]:
        """Adds cases that only grading runs to the check `name`, or to one of its variants."""

        def add(maker: CaseMaker) -> CaseMaker:
            if name not in self.checks:
                raise ValueError(f"hidden cases for {name!r}, but the checks are {list(self.checks)}")
            if self.checks[name].asserts is not None and variant is None:
                raise ValueError(f"{name!r} is a cell of asserts: what it hides stands in the cell")
            forms = self.variants.get(name, {})
            if variant is not None and variant not in forms:
                raise ValueError(f"hidden cases for {name!r} as {variant!r}, but its variants are {list(forms)}")
            (self.checks[name] if variant is None else forms[variant]).hidden.append(maker)
            return maker

        return add

    def personal(self, maker: NumberMaker) -> NumberMaker:
        """Draws numbers for each student by `maker(draw)`, a dictionary of plain values; cases find them in `draw.mine`."""
        self.numbers.append(maker)
        return maker

    def variant(
        self,
        check: str,
        name: str,
        *,
        target: str | Sequence[str],
        refuses: Sequence[str] | None = None,
        hints: Sequence[str] = (),
        minutes: int | None = None,
        memory: int | None = None,
        groups: Mapping[str, float] | None = None,
    ) -> Callable[[CaseMaker], CaseMaker]:
        """Makes another form of a check, called `name`, of a function that yields its visible cases.

        Its points and what it needs stay those of the check; so do `refuses`, `minutes` and `memory` where they are not given.
        """

        def add(maker: CaseMaker) -> CaseMaker:
            if check not in self.checks:
                raise ValueError(f"a variant of {check!r}, but the checks are {list(self.checks)}")
            if self.checks[check].asserts is not None:
                raise ValueError(f"{check!r} is a cell of asserts: it has no variants")
            if name in self.variants.get(check, {}):
                raise ValueError(f"check {check!r} has two variants called {name!r}")
            if not maker.__doc__:
                raise ValueError(
                    f"variant {name!r} of {check!r} needs a docstring: the sentence that its report opens with"
                )
            one = self.checks[check]
            self.variants.setdefault(check, {})[name] = replace(
                one,
                doc=" ".join(maker.__doc__.split()),
                targets=(target,) if isinstance(target, str) else tuple(target),
                visible=maker,
                hidden=[],
                refuses=one.refuses if refuses is None else tuple(refuses),
                hints=tuple(hints),
                minutes=one.minutes if minutes is None else minutes,
                memory=one.memory if memory is None else memory,
                groups=dict(groups or {}),
                asserts=None,
            )
            return maker

        return add

    def drawn(self, seed: int) -> dict[str, Any]:
        """The numbers of the student with this seed."""
        found: dict[str, Any] = {}
        for maker in self.numbers:
            for name, value in maker(Draw(seed, maker.__name__)).items():
                if not name.isidentifier() or name in found:
                    raise ValueError(f"personal numbers need names of their own, each an identifier, got {name!r}")
                if not isinstance(value, str | int | float | bool):
                    raise ValueError(
                        f"the personal number {name!r} must be a plain number or text, got {type(value).__name__}"
                    )
                found[name] = value
        return found

    def for_one(self, mine: Mapping[str, Any], chosen: Mapping[str, str]) -> "Lab":
        """The lab of one student: with their numbers, and with the variant `chosen` for a check in its place."""
        own = copy.copy(self)
        own.checks = {
            name: _told(self.variants[name][chosen[name]] if name in chosen else check, mine)
            for name, check in self.checks.items()
        }
        return own

    def written(self, name: str, rubric: dict[str, float]) -> None:
        """Adds an answer in words; its points are those of its rubric."""
        self._new(name)
        self.written_items[name] = Written(name, sum(rubric.values()), rubric)

    def _new(self, name: str) -> None:
        if name == "progress":
            raise ValueError("an item cannot be called 'progress': check.progress() shows the state of the lab")
        if name in self.checks or name in self.written_items:
            raise ValueError(f"lab {self.name!r} has two items called {name!r}")


def _told(check: Check, mine: Mapping[str, Any]) -> Check:
    """The check, with a student's numbers at hand where its cases are drawn."""

    def told(maker: CaseMaker) -> CaseMaker:
        def make(draw: Draw) -> Iterable[Case]:
            draw.mine = mine
            return maker(draw)

        return make

    return replace(check, visible=told(check.visible), hidden=[told(maker) for maker in check.hidden])
