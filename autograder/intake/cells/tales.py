"""What an instructor is told about an alignment: a line for each thing that was put right, none where all was as it should be."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from autograder.intake.cells import code
from autograder.intake.cells.pieces import Match, Piece, Place, is_answered
from autograder.intake.words import counted, listed, shortened

MEANS = {
    "id": "by the ids of their cells",
    "names": "by the names that they define",
    "source": "by their text",
    "likeness": "by their likeness to the release",
    "place": "by the place between their neighbours",
    "words": "by the words that they share with the question",
}


def notes_on(
    places: list[Place], found: Match, notes: dict[int, str], mine: Mapping[str, Any], theirs: Mapping[str, Any]
) -> list[str]:
    """The lines, from what there is to say about single cells (`notes`, by place) to what concerns many.

    `mine` and `theirs` are what the notebook and the release say about which lab they are.
    """
    lines = list(_of_labs(mine, theirs))
    for place in places:
        copies = found.again.get(place.index, [])
        if (note := notes.get(place.index)) and (found.has(place) or (place.name and place.index in found.within)):
            lines.append(f"{_called(place)}: {note}")
        if place.kind == "check" and copies:
            lines.append(f"{place.name}: was there {1 + len(copies)} times; it runs once")
        elif place.kind in ("solution", "written") and found.has(place):
            lines += _of_answer(place, found, copies)
    return [*lines, *_of_lost(places, found), *_of_marks(places, found), *_of_order(places, found)]


def _called(place: Place) -> str:
    return place.name or f"the lab's cell that begins {shortened(place.source, 30)!r}"


def _of_labs(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    for key, words in (("lab", "is"), ("version", "is of version")):
        if mine.get(key) and theirs.get(key) and mine[key] != theirs[key]:
            return [f"the notebook says that it {words} {mine[key]}, and it is graded as {theirs[key]}"]
    return []


def _of_answer(place: Place, found: Match, copies: list[Piece]) -> list[str]:
    lines = []
    untouched = [one for one in copies if not _is_filled(one, place)]
    if copies:
        counts = counted(1 + len(copies), "cell")
        rest = (
            "an untouched copy is left out" if len(untouched) == len(copies) == 1 else "untouched copies are left out"
        )
        rest = rest if len(untouched) == len(copies) else "the earlier ones run before it"
        lines.append(f"{place.name}: {counts} for it; the last one that was written in counts, {rest}")
    if parts := found.parts.get(place.index):
        lines.append(f"{place.name}: was split over {counted(1 + len(parts), 'cell')}; they run one after another")
    return lines


def _is_filled(piece: Piece, place: Place) -> bool:
    if place.kind == "written":
        return is_answered(piece.source, place.source)
    return not code.is_part_of(piece.source, place.source)


def _of_marks(places: list[Place], found: Match) -> list[str]:
    """Graded cells that were not found by nbgrader's marks, grouped by what they were found by."""
    groups: dict[str, list[str]] = {}
    for place in places:
        if place.name and (how := found.how.get(place.index, "mark")) != "mark":
            groups.setdefault(how, []).append(place.name)
    return [f"without nbgrader's mark, found {MEANS[how]}: {listed(names)}" for how, names in groups.items()]


def _of_lost(places: list[Place], found: Match) -> list[str]:
    """The lab's cells that were deleted, copied or, for those to read, given another type."""
    gone = [place for place in places if not found.has(place) and place.index not in found.within]
    names = [place.name for place in gone if place.name]
    for kind, words in (("setup", "set-up cell"), ("code", "provided code cell"), ("text", "text cell")):
        if number := sum(place.kind == kind for place in gone):
            names.append(counted(number, words))
    lines = [f"not there, and put back as in the release: {listed(names)}"] if names else []
    texts = [place for place in places if place.kind == "text" and found.has(place)]
    if retyped := sum(found.found[place.index].kind != place.cell["cell_type"] for place in texts):
        lines.append(f"{counted(retyped, 'text cell')} of the lab had another type, and {_has(retyped)} its own again")
    sources = {place.source.strip() for place in places if not place.name and place.source.strip()}
    if copies := sum(piece.source.strip() in sources for piece in found.pool):
        lines.append(f"{counted(copies, 'further copy', 'further copies')} of cells that the lab provides: kept")
    return lines


def _has(number: int) -> str:
    return "has" if number == 1 else "have each"


def _of_order(places: list[Place], found: Match) -> list[str]:
    """Names what stood elsewhere: as few cells as must be moved to have the lab's order again."""
    order = [index for _, index in sorted((piece.index, index) for index, piece in found.found.items())]
    moved = [places[index] for index in sorted(set(order) - _longest_rising(order))]
    names = [place.name for place in moved if place.name]
    if others := len(moved) - len(names):
        names.append(f"{counted(others, 'other cell' if names else 'cell')} of the lab")
    return [f"stood elsewhere, and put back where the lab has it: {listed(names)}"] if names else []


def _longest_rising(order: list[int]) -> set[int]:
    """A longest rising part of a sequence of different numbers."""
    tails: list[int] = []
    ends: list[int] = []  # where in the sequence each tail is
    previous: list[int] = []
    for position, value in enumerate(order):
        at = bisect_left(tails, value)
        previous.append(ends[at - 1] if at else -1)
        tails[at:] = [value] if at == len(tails) else [value, *tails[at + 1 :]]
        ends[at:] = [position] if at == len(ends) else [position, *ends[at + 1 :]]
    found: set[int] = set()
    position = ends[-1] if ends else -1
    while position >= 0:
        found.add(order[position])
        position = previous[position]
    return found
