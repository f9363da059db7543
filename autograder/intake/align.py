"""A student's notebook, brought back into the form of the lab that was handed out, ready to be run.

Check lines, the set-up cell and the order of the lab's cells come from the release; answers come from the student, whatever
became of the marks on their cells. The student's own cells stay beside their neighbours: they run, and earn nothing. What
was put right is told to the instructor; a notebook in which nothing was moved, lost or added to the lab's cells gets no note.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autograder.intake.cells import code
from autograder.intake.cells.match import match
from autograder.intake.cells.pieces import Match, Piece, Place, is_answered, pieces_of, places_of
from autograder.intake.cells.tales import notes_on


@dataclass(frozen=True)
class Cell:
    """One cell of the aligned notebook; its `kind` is one of autograder.intake.cells.pieces.PLACES."""

    kind: str
    name: str
    """What nbgrader calls a graded cell; "" for any other."""
    source: str
    id: str
    note: str = ""
    """What was put right about it."""
    answered: bool = False
    """Whether a written answer says anything that the release does not."""
    of_the_lab: bool = True
    """False for a cell that the student added: it runs, and earns nothing."""


@dataclass(frozen=True)
class Aligned:
    """A notebook in the form of its lab. `missing` names the answers that were not found at all."""

    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    missing: tuple[str, ...]
    notebook: dict[str, Any]
    """In format 4.5, cell by cell, with nbgrader's metadata as the release has them, and no outputs."""


def align(notebook: Mapping[str, Any], released: Mapping[str, Any]) -> Aligned:
    """Matches the cells of a repaired `notebook` with those of the `released` lab, and puts them in its order."""
    places = places_of(released)
    found = match(places, pieces_of(notebook))
    assembly = _Assembly(places, found)
    notes = notes_on(places, found, assembly.notes, _course(notebook), _course(released))
    whole = {"cells": assembly.files, "metadata": _plain(released["metadata"]), "nbformat": 4, "nbformat_minor": 5}
    answers = [place for place in places if place.kind in ("solution", "written")]
    missing = [place.name for place in answers if not found.has(place) and place.index not in found.within]
    return Aligned(tuple(assembly.cells), tuple(notes), tuple(missing), whole)


def _course(notebook: Mapping[str, Any]) -> Mapping[str, Any]:
    return notebook.get("metadata", {}).get("course", {})


class _Assembly:
    """Puts the cells together. `notes` says by place what was put right about its cell."""

    def __init__(self, places: list[Place], found: Match) -> None:
        self.found = found
        self.cells: list[Cell] = []
        self.files: list[dict[str, Any]] = []
        self.notes: dict[int, str] = {}
        self._used = {place.id for place in places}
        before, after = neighbours(places, found)
        for place in places:
            for piece in before.get(place.index, []):
                self._add_own(piece)
            self._add(place)
            for piece in after.get(place.index, []):
                self._add_own(piece)

    def _add(self, place: Place) -> None:
        piece = self.found.found.get(place.index)
        source, note = self._content(place, piece)
        if note:
            self.notes[place.index] = note
        answered = place.kind == "written" and is_answered(source, place.source)
        self.cells.append(Cell(place.kind, place.name, source, place.id, note, answered))
        file = {**_plain(place.cell), "id": place.id, "source": source}
        if file["cell_type"] == "code":
            file |= {"execution_count": None, "outputs": []}
        elif piece is not None and piece.attachments:
            file["attachments"] = piece.attachments
        self.files.append(file)

    def _content(self, place: Place, piece: Piece | None) -> tuple[str, str]:
        """The source of a lab's cell, and what was put right about it."""
        if piece is None:
            return self._absent(place)
        notes = []
        edited = piece.source.split() != place.source.split()
        if place.kind in ("check", "setup"):
            if edited:
                whose = "the lab's own line runs" if place.kind == "check" else "the lab's own form runs"
                notes.append(f"was edited; {whose}")
        elif place.kind == "code" and edited and not code.is_part_of(piece.source, place.source):
            if "check" in place.names - piece.names:
                note = "no longer makes `check`: the lab's own form runs before the student's"
                return f"{place.source}\n\n{piece.source}", note
            notes.append("was edited; it runs as the student has it")
        wanted = place.cell["cell_type"]
        if piece.kind != wanted and place.kind != "text":
            notes.append(f"was turned into a {piece.kind} cell; it is {wanted} again")
        if place.kind in ("check", "setup"):
            return place.source, ", and ".join(notes)
        return piece.source, ", and ".join(notes)

    def _absent(self, place: Place) -> tuple[str, str]:
        holder = self.found.within.get(place.index)
        if holder is None:
            return place.source, "was not there; put back as in the release"
        names = ", ".join(sorted(place.names & holder.names))
        return f"# {names}: written in another cell", "is written in another cell, together with other things"

    def _add_own(self, piece: Piece) -> None:
        base = piece.id or f"own-{piece.index + 1}"
        cell_id, copies = base, 1
        while cell_id in self._used:
            copies += 1
            cell_id = f"{base[:58]}-{copies}"
        self._used.add(cell_id)
        kind = "code" if piece.kind == "code" else "text"
        self.cells.append(Cell(kind, "", piece.source, cell_id, of_the_lab=False))
        file: dict[str, Any] = {"cell_type": piece.kind, "id": cell_id, "metadata": {}, "source": piece.source}
        if piece.kind == "code":
            file |= {"execution_count": None, "outputs": []}
        elif piece.attachments:
            file["attachments"] = piece.attachments
        self.files.append(file)


def neighbours(places: list[Place], found: Match) -> tuple[dict[int, list[Piece]], dict[int, list[Piece]]]:
    """The student's own cells by the lab's cell that each comes before, or after, in the student's order."""
    before: dict[int, list[Piece]] = {}
    after: dict[int, list[Piece]] = {}
    late: dict[int, list[Piece]] = {}
    homes = sorted((piece.index, index) for index, piece in found.found.items())
    starts = [start for start, _ in homes]
    for piece in found.pool:
        at = bisect_left(starts, piece.index + 1)
        last = homes[at - 1][1] if at else None
        following = homes[at][1] if at < len(homes) else None
        if last is None:
            before.setdefault(following or 0, []).append(piece)
        elif places[last].kind != "check":
            after.setdefault(last, []).append(piece)
        elif starts[at - 1] == piece.index:  # what was written into a check cell runs before the check
            before.setdefault(last, []).append(piece)
        elif following is not None and following < last:  # the check had been moved above what it checks
            before.setdefault(following, []).append(piece)
        else:
            after.setdefault(last, []).append(piece)
    for place in places:
        if place.kind != "solution" or not found.has(place):
            continue
        chosen = found.found[place.index]
        copies = [one for one in found.again.get(place.index, []) if not code.is_part_of(one.source, place.source)]
        parts = found.parts.get(place.index, [])
        untouched = [one for one in parts if code.is_part_of(one.source, place.source)]
        answered = chosen.names.union(*(one.names for one in [*copies, *parts] if one not in untouched))
        stubs = [one for one in untouched if one.names & answered]
        for piece in sorted([*copies, *parts], key=lambda piece: (piece not in stubs, piece.index)):
            side = before if piece.index < chosen.index or piece in stubs else late
            side.setdefault(place.index, []).append(piece)
        after[place.index] = late.pop(place.index, []) + after.get(place.index, [])
    return before, after


def _plain(found: Any) -> Any:
    """A copy made of plain dicts and lists."""
    if isinstance(found, Mapping):
        return {key: _plain(value) for key, value in found.items()}
    return [_plain(value) for value in found] if isinstance(found, list) else found
