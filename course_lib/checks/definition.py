"""A lab and its checks, as its author writes them.

The visible cases are what a student sees and works against; the hidden ones, kept with the solution, are drawn with a secret
seed when a lab is graded. Both come from the same kind of function: it takes a `Draw` and yields cases.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from course_lib.checks.cases import RECORDS, Case
from course_lib.checks.draw import VISIBLE_SEED, Draw
from course_lib.checks.values import dumps, loads

CaseMaker = Callable[[Draw], Iterable[Case]]


@dataclass
class Check:
    """What one check line looks at."""

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

    def visible_cases(self, seed: int = VISIBLE_SEED) -> list[Case]:
        """The cases a student sees, or, under another seed, cases of the same form."""
        return self._drawn(self.visible, seed)

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
    """

    def __init__(self, name: str, title: str, minutes: int, provides: Sequence[str] = ()) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError(f"a lab's name is lower-case letters, digits and underscores, got {name!r}")
        self.name, self.title, self.minutes, self.provides = name, title, minutes, tuple(provides)
        self.checks: dict[str, Check] = {}
        self.written_items: dict[str, Written] = {}
        self.mistakes: list[Mistake] = []

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
    ) -> Callable[[CaseMaker], CaseMaker]:
        """Makes a check of a function that yields its visible cases; the function's name and docstring become the check's.

        target   the signature that the student is to meet, e.g. "softmax(x) -> p"; a list for several
        needs    checks whose answers this one's answer builds on
        refuses  functions outside the course's library that would be the answer, e.g. "torch.softmax"
        memory   bytes that an answer may take beyond what is there, which grading enforces
        """
        targets = (target,) if isinstance(target, str) else tuple(target)

        def add(maker: CaseMaker) -> CaseMaker:
            name = maker.__name__
            self._new(name)
            if points <= 0:
                raise ValueError(f"check {name!r} needs points above 0, got {points}")
            if unknown := [other for other in needs if other not in self.checks]:
                raise ValueError(f"check {name!r} needs {unknown}, which no check before it is called")
            if not maker.__doc__:
                raise ValueError(f"check {name!r} needs a docstring: the sentence that its report opens with")
            doc = " ".join(maker.__doc__.split())
            self.checks[name] = Check(
                name, doc, points, targets, maker, [], tuple(needs), tuple(refuses), tuple(hints), minutes, memory
            )
            return maker

        return add

    def hidden(self, name: str) -> Callable[[CaseMaker], CaseMaker]:
        """Adds cases to the check `name` that only grading runs."""

        def add(maker: CaseMaker) -> CaseMaker:
            if name not in self.checks:
                raise ValueError(f"hidden cases for {name!r}, but the checks are {list(self.checks)}")
            self.checks[name].hidden.append(maker)
            return maker

        return add

    def written(self, name: str, rubric: dict[str, float]) -> None:
        """Adds an answer in words; its points are those of its rubric."""
        self._new(name)
        self.written_items[name] = Written(name, sum(rubric.values()), rubric)

    def _new(self, name: str) -> None:
        if name == "progress":
            raise ValueError("an item cannot be called 'progress': check.progress() shows the state of the lab")
        if name in self.checks or name in self.written_items:
            raise ValueError(f"lab {self.name!r} has two items called {name!r}")
