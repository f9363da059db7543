"""The two sides of an alignment: the places of the released lab, the pieces of a student's notebook, and which is which."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from autograder.intake.cells import code

PLACES = {
    "setup": "the set-up cell",
    "code": "a code cell that the lab provides",
    "solution": "an answer in code",
    "check": "a check line, or another test of nbgrader's",
    "written": "an answer in words",
    "text": "anything to read",
}


def text_of(source: Any) -> str:
    """A cell's source as one text, however the notebook holds it."""
    return source if isinstance(source, str) else "".join(source)


@dataclass(eq=False)
class Place:
    """A cell of the released lab; its `kind` is one of PLACES."""

    index: int
    kind: str
    name: str
    """What nbgrader calls it; "" for a cell that is not graded."""
    cell: Mapping[str, Any]

    @cached_property
    def source(self) -> str:
        return text_of(self.cell["source"])

    @cached_property
    def id(self) -> str:
        return self.cell.get("id") or f"lab-{self.index}"

    @cached_property
    def names(self) -> frozenset[str]:
        return code.bound_names(self.source) if self.cell["cell_type"] == "code" else frozenset()

    @cached_property
    def checks(self) -> list[str]:
        return code.check_names(self.source)

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "written")


@dataclass(eq=False)
class Piece:
    """A cell of the student's, or what is left of one when a check line is taken out of it."""

    index: int
    kind: str
    """The type of the cell: "code", "markdown" or "raw"."""
    source: str
    id: str = ""
    mark: str = ""
    """nbgrader's grade_id, "" for none."""
    is_setup: bool = False
    attachments: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def is_python(self) -> bool:
        return code.parsed(self.source) is not None

    @cached_property
    def names(self) -> frozenset[str]:
        may_be_code = self.kind == "code" or self.mark or (code.may_bind(self.source) and self.is_python)
        return code.bound_names(self.source) if may_be_code else frozenset()

    @property
    def looks_like_text(self) -> bool:
        return self.kind != "code" or not self.is_python

    def belongs_to(self, place: Place) -> bool:
        """Whether nbgrader's mark or the id of the cell says so."""
        return self.mark == place.name if self.mark else self.id == place.id


@dataclass
class Match:
    """What was found for each place, by its index, and what became of the other pieces."""

    pool: list[Piece]
    """The pieces that no place has taken: in the end, the student's own cells."""
    found: dict[int, Piece] = field(default_factory=dict)
    how: dict[int, str] = field(default_factory=dict)
    """By what it was recognised: "mark", "id", "names", "source", "likeness", "place" or "words"."""
    again: dict[int, list[Piece]] = field(default_factory=dict)
    """Further copies of a place's cell, in the student's order."""
    parts: dict[int, list[Piece]] = field(default_factory=dict)
    """Cells that hold the rest of a solution that was split."""
    within: dict[int, Piece] = field(default_factory=dict)
    """Places whose names are all defined in a cell that was taken for another place, or is the student's own."""

    def take(self, place: Place, piece: Piece, how: str) -> None:
        self.found[place.index], self.how[place.index] = piece, how
        self.pool.remove(piece)

    def put_by(self, which: dict[int, list[Piece]], place: Place, piece: Piece) -> None:
        which.setdefault(place.index, []).append(piece)
        self.pool.remove(piece)

    def has(self, place: Place) -> bool:
        return place.index in self.found


def places_of(released: Mapping[str, Any]) -> list[Place]:
    """The cells of a released lab and what each is for."""
    places = []
    for index, cell in enumerate(released["cells"]):
        about = cell["metadata"].get("nbgrader", {})
        is_code = cell["cell_type"] == "code"
        if about.get("solution"):
            kind = "solution" if is_code else "written"
        elif about.get("grade") and is_code:
            kind = "check"
        elif is_code:
            kind = "setup" if "setup" in cell["metadata"].get("tags", []) else "code"
        else:
            kind = "text"
        graded = kind in ("solution", "written", "check")
        places.append(Place(index, kind, about.get("grade_id", "") if graded else "", cell))
    return places


def pieces_of(notebook: Mapping[str, Any]) -> list[Piece]:
    """The cells of a repaired notebook."""
    return [
        Piece(
            index,
            cell["cell_type"],
            text_of(cell["source"]),
            cell.get("id", ""),
            cell["metadata"].get("nbgrader", {}).get("grade_id", ""),
            "setup" in cell["metadata"].get("tags", []),
            dict(cell.get("attachments", {})),
        )
        for index, cell in enumerate(notebook["cells"])
    ]


def is_answered(text: str, placeholder: str) -> bool:
    """Whether a written answer says anything that the release does not."""
    mine, theirs = ("".join(c for c in one.casefold() if c.isalnum()) for one in (text, placeholder))
    return bool(mine) and mine != theirs
