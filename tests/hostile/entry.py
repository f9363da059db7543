"""One notebook of the corpus: what is handed in, and what must come of it.

An entry says what a grader that cannot be fooled gives: the points by check, the state, and what the saved notebook must show or
must never show. What nobody may do (write elsewhere, leave a process, reach the network, learn a secret) holds for all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.evidence import State
from tests.hostile.ground import Ground

FULL = {"softmax": 4.0, "pairs": 2.0, "nearly": 1.0, "by_hand": 1.0, "tally": 2.0, "follow": 2.0}
NOTHING = dict.fromkeys(FULL, 0.0)
FULL_OF = {
    "lab99_light": FULL,
    "lab98_legacy": {"old_weights": 2.0, "old_prime": 2.0, "old_stack": 1.0, "double": 1.0},
}


@dataclass(frozen=True)
class Link:
    """A symbolic link in place of a file."""

    target: Path


Files = Mapping[str, "bytes | Link"]


@dataclass(frozen=True)
class Entry:
    """A submission and its right grade.

    files     what is in the student's folder, made on a ground (its addresses and paths are part of some attacks)
    points    the score of each check; None: no receipt at all, since nothing of it belongs to a student
    states    the state it must show; more than one where the level decides who notices first
    shows     texts that the saved notebook must hold; `never` those that it must not
    """

    name: str
    files: Callable[[Ground], Files]
    points: Mapping[str, float] = field(default_factory=lambda: FULL)
    states: tuple[State, ...] = (State.GRADED,)
    shows: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    student: str = ""
    at_most: bool = False
    """Whether fewer points do as well: what harms nobody but itself."""
    lab: str = "lab99_light"

    @property
    def known_as(self) -> str:
        """The student's folder."""
        return self.student or "".join(char if char.isalnum() else "-" for char in self.name)

    @property
    def total(self) -> float:
        """The points that it must get."""
        return round(sum(self.points.values()), 2)

    @property
    def honest(self) -> bool:
        """Whether it must get every point."""
        return dict(self.points) == FULL_OF[self.lab] and self.states == (State.GRADED,)


def without(*checks: str) -> dict[str, float]:
    """All points but those of these checks."""
    if unknown := set(checks) - set(FULL):
        raise ValueError(f"the lab has no check {', '.join(sorted(unknown))}; it has {', '.join(FULL)}")
    return {name: 0.0 if name in checks else points for name, points in FULL.items()}
