"""A lab under an overlay, student by student: their numbers, their variants, their checks and the notebook they were given.

Everything follows from the student's seed (`autograder.records.identity.seed_for` without a content). A variant is the one
whose digest with the seed is the largest, so that a further variant moves nobody but those who get it.
"""

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autograder.overlay import sections
from autograder.overlay.folder import Overlay
from autograder.versions import Edition
from course_lib.checks import frozen, labs
from course_lib.checks.definition import Lab, Mistake


@dataclass(frozen=True)
class Drawn:
    """What was drawn for one student: numbers by name, and the variant of each item that has some."""

    seed: int
    numbers: Mapping[str, Any]
    variants: Mapping[str, str]

    @property
    def mark(self) -> str:
        """Stands in the student's notebook, and tells it from everybody else's."""
        text = json.dumps([self.seed, self.numbers, self.variants], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Overlaid:
    """One edition of a lab under an overlay. Raises ValueError where the two do not fit."""

    def __init__(self, edition: Edition, overlay: Overlay) -> None:
        self.edition, self.overlay = edition, overlay
        self.lab = labs.load(edition.folder, overlay.folder)
        self._fits()

    @property
    def version(self) -> str:
        """What a receipt calls it."""
        return f"{self.edition.version}+{self.overlay.digest}"

    @property
    def is_personal(self) -> bool:
        """Whether students' notebooks differ."""
        return bool(self.lab.numbers or self.overlay.variants)

    def drawn(self, seed: int) -> Drawn:
        """What the student with this seed gets."""
        variants = {item: _drawn_from(list(files), f"{seed} {item}") for item, files in self.overlay.variants.items()}
        return Drawn(seed, self.lab.drawn(seed), variants)

    def lab_of(self, drawn: Drawn) -> Lab:
        """The lab as it is for one student, with the mistakes that are known of the checks that they share with others."""
        own = self.lab.for_one(drawn.numbers, self._chosen(drawn))
        own.mistakes = list(self.mistakes_of(drawn))
        return own

    def mistakes_of(self, drawn: Drawn) -> tuple[Mistake, ...]:
        """Known mistakes were made on the public cases, and say nothing about a variant."""
        chosen = self._chosen(drawn)
        kept = [
            Mistake(one.text, {name: gave for name, gave in one.outcomes.items() if name not in chosen})
            for one in self.edition.mistakes
        ]
        return tuple(mistake for mistake in kept if mistake.outcomes)

    def release_of(self, drawn: Drawn) -> Any:
        """The notebook of one student."""
        cells = {item: self._handed_out(item, variant) for item, variant in drawn.variants.items()}
        return self._with(self.edition.released, cells, drawn)

    def solved(self, source: Any, drawn: Drawn) -> Any:
        """The author's marked notebook `source` with the answers to one student's variants in it."""
        cells = {item: self._marked(item, variant).cells for item, variant in drawn.variants.items()}
        return self._with(source, cells, drawn)

    def frozen_of(self, drawn: Drawn) -> str:
        """The visible cases of one student, as the text of a file."""
        own = self.lab_of(drawn)
        return frozen.dump(frozen.freeze(own, self.edition.version, own.mistakes))

    def _with(self, notebook: Any, cells: Mapping[str, list], drawn: Drawn) -> Any:
        files = {item: self.overlay.variants[item][variant] for item, variant in drawn.variants.items()}
        own = {item: sections.filled(cells[item], drawn.numbers, files[item]) for item in cells}
        said = dict(self.edition.released.metadata["course"])
        return sections.replaced(notebook, own, {**said, **({"drawn": drawn.mark} if self.is_personal else {})})

    def _chosen(self, drawn: Drawn) -> dict[str, str]:
        """The variant of every check that has one, also of those that share the section of a varied one."""
        chosen = {}
        for item, variant in drawn.variants.items():
            for check in self._checks_beside(item):
                if variant in self.lab.variants.get(check, {}):
                    chosen[check] = variant
        return chosen

    def _checks_beside(self, item: str) -> list[str]:
        """The checks of an item's section."""
        names = sections.graded(self._section(item))
        return [name.removeprefix("check_") for name in names if name.removeprefix("check_") in self.lab.checks]

    def _section(self, item: str) -> list[Any]:
        cells = self.edition.released.cells
        return cells[sections.section(cells, item)]

    def _marked(self, item: str, variant: str) -> Any:
        if (item, variant) not in self._marks:
            path = self.overlay.variants[item][variant]
            self._marks[item, variant] = sections.marked(path, self.lab, self._section(item))
        return self._marks[item, variant]

    def _handed_out(self, item: str, variant: str) -> list[Any]:
        if (item, variant) not in self._releases:
            source = copy.deepcopy(self._marked(item, variant))
            self._releases[item, variant] = sections.handed_out(source, self.lab.name)
        return self._releases[item, variant]

    @cached_property
    def _marks(self) -> dict[tuple[str, str], Any]:
        return {}

    @cached_property
    def _releases(self) -> dict[tuple[str, str], list[Any]]:
        return {}

    def _fits(self) -> None:
        """Raises ValueError unless every variant has a file and cases, and no section has two items with variants."""
        files, folder = self.overlay.variants, self.overlay.folder
        taken: dict[int, str] = {}
        belongs: dict[str, str] = {}
        for item in files:
            if item not in self.lab.checks and item not in self.lab.written_items:
                raise ValueError(f"{folder}/variants/{item} is for no check and no written item of {self.lab.name}")
            start = sections.section(self.edition.released.cells, item).start
            if start in taken:
                raise ValueError(
                    f"{folder}/variants has {taken[start]} and {item}, which share a section: it is replaced as a whole"
                )
            taken[start] = item
            belongs |= dict.fromkeys(self._checks_beside(item), item)
            for variant, path in files[item].items():
                if item in self.lab.checks and variant not in self.lab.variants.get(item, {}):
                    raise ValueError(
                        f'{path} has no cases: overlay.py needs @lab.variant("{item}", "{variant}", target=…)'
                    )
        for check, forms in self.lab.variants.items():
            for variant in forms:
                item = belongs.get(check, check)
                if variant not in files.get(item, {}):
                    raise ValueError(
                        f"the variant {variant!r} of {check!r} has no file {folder}/variants/{item}/{variant}.py"
                    )


def _drawn_from(options: list[str], text: str) -> str:
    return max(options, key=lambda option: hashlib.sha256(f"{text} {option}".encode()).digest())
