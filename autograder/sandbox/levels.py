"""Levels: what a machine's working layers add up to. A grade is stamped with the level that it was made at.

    A  everything: untrusted batches
    B  no other user or no control group: memory is limited for each process alone
    C  no namespaces (Docker, Binder): one view of files and processes, sockets refused by seccomp, signals kept inside
    D  anything less (old kernels, macOS, Windows): only for people one trusts

A report says of each layer whether it works here, what was seen when it was tried, and what would make it work.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from autograder.sandbox.policy import NOBODY

Level = Literal["A", "B", "C", "D"]

GROUPS = {
    "process": ("limits", "ending"),
    "kernel": ("no_new_privs", "seccomp", "landlock"),
    "namespaces": ("user", "net", "pid", "ipc", "mount"),
    "root": ("identity", "cgroup"),
}
"""The layers, from what every system has to what needs root; a group's name stands for all in it."""

LAYERS = (*(name for group in GROUPS.values() for name in group), "proc", "together")
"""All layers, in the order in which they are tried. Two belong to no group: a fresh /proc, in place of which there is none, is
asked for by no level; that everything which works alone also works at once, by each."""


@dataclass(frozen=True)
class Layer:
    """One layer: whether it works here, what was seen when it was tried, and what would make it work ("" where it does)."""

    name: str
    works: bool
    effect: str
    raise_by: str = ""


@dataclass(frozen=True)
class Report:
    """What the layers of this machine do, and the level that they add up to."""

    layers: tuple[Layer, ...]

    def __getitem__(self, name: str) -> Layer:
        """The layer of that name."""
        return next(layer for layer in self.layers if layer.name == name)

    def works(self, *names: str) -> bool:
        """Whether all these layers, or groups of layers, work."""
        return all(self[name].works for name in expanded(names))

    @property
    def level(self) -> Level:
        """The level that a submission is run at."""
        if not self.works("process", "kernel", "together"):
            return "D"
        if not self.works("namespaces"):
            return "C"
        return "A" if self.works("root") else "B"

    @property
    def why(self) -> str:
        """One line: what keeps it from the next level, and what would raise it."""
        below = {"D": ("process", "kernel", "together"), "C": ("namespaces",), "B": ("root",), "A": ()}[self.level]
        missing = [self[name] for name in expanded(below) if not self[name].works]
        if not missing:
            return "every layer works"
        effects = dict.fromkeys(layer.effect for layer in missing)
        named = {effect: ", ".join(layer.name for layer in missing if layer.effect == effect) for effect in effects}
        said = "; ".join(f"{names}: {effect}" for effect, names in named.items())
        ways = "; ".join(dict.fromkeys(layer.raise_by for layer in missing if layer.raise_by))
        return f"{said}. To raise it: {ways}" if ways else said

    @property
    def uid(self) -> int | None:
        """The user that submissions should become, or None where they must stay who the grader is."""
        return NOBODY if self.works("identity") else None

    def to_json(self) -> str:
        """The report as text."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """The report of `to_json`'s text. Raises ValueError when it is none."""
        try:
            layers = tuple(Layer(**layer) for layer in json.loads(text)["layers"])
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a report: {error!r}") from None
        if tuple(layer.name for layer in layers) != LAYERS:
            raise ValueError("not a report of this version: its layers are others")
        return cls(layers)


def expanded(names: Iterable[str]) -> list[str]:
    """The layers that these names of layers and groups stand for. Raises ValueError for a name that is neither."""
    found: list[str] = []
    for name in names:
        if name not in GROUPS and name not in LAYERS:
            raise ValueError(f"{name!r} is no layer: there are {', '.join([*GROUPS, *LAYERS])}")
        found += GROUPS.get(name, (name,))
    return found
