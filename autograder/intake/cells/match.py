"""Which of a student's cells is which cell of the released lab.

A lab's cell is looked for by what a student changes last: nbgrader's mark on it, its id, the names that it defines, its
words, and at the end the place between its neighbours. A mark is believed only where the code does not speak against it,
since marks are copied along with cells, and lost or swapped by other tools.
"""

from collections import Counter
from dataclasses import replace

from rapidfuzz import fuzz

from autograder.intake.cells import code
from autograder.intake.cells.pieces import Match, Piece, Place, is_answered

ALIKE = 60.0
"""Two texts that share as much, in per cent, are forms of one text; half of that between texts which share an id."""
MOST_COMPARED = 1_000  # characters of each text
ENOUGH_WORDS = 4  # of its question, in an answer that has lost its place


def match(places: list[Place], pieces: list[Piece]) -> Match:
    """Finds for each place of the lab its piece."""
    result = Match(list(pieces))
    _checks(_of(places, "check"), result)
    _solutions(_of(places, "solution"), result)
    _written(_of(places, "written"), result)
    _given(_of(places, "setup", "code", "text"), result)
    _alike(_of(places, "solution"), result)
    for place in _of(places, "written"):
        _answer_elsewhere(place, places, result)
    _within(_of(places, "solution", "code"), result)
    return result


def _of(places: list[Place], *kinds: str) -> list[Place]:
    return [place for place in places if place.kind in kinds]


def _likeness(one: str, other: str, at_least: float) -> float:
    """How much of two texts is the same, in per cent; 0 below `at_least`."""
    return fuzz.ratio(one[:MOST_COMPARED], other[:MOST_COMPARED], score_cutoff=at_least)


def _checks(places: list[Place], result: Match) -> None:
    """Check cells and their copies. What else a student wrote into one stays in the pool, as a cell of its own."""
    by_line = {place.checks[0]: place for place in places if len(place.checks) == 1}
    by_source = {place.source.strip(): place for place in places}
    others = []
    for piece in list(result.pool):
        place = by_source.get(piece.source.strip())
        if place is None:
            lines = code.check_names(piece.source)
            lone = by_line.get(lines[0]) if len(lines) == 1 else None
            if lone is None or code.added(piece.source, lone.source):
                others.append((piece, lone))
                continue
            place = lone
        if result.has(place):
            result.put_by(result.again, place, piece)
        else:
            result.take(place, piece, "mark" if piece.mark == place.name else "source")
    for piece, lone in others:
        marked = next((place for place in places if piece.belongs_to(place)), None)
        place = marked if marked is not None and not result.has(marked) else lone
        if place is None or result.has(place):
            continue
        result.take(place, piece, "mark" if piece.mark == place.name else "source")
        if rest := code.added(piece.source, place.source).strip("\n"):
            own = replace(piece, source=rest, is_setup=False)
            if piece.belongs_to(place):
                own.mark = own.id = ""
            result.pool.append(own)
    result.pool.sort(key=lambda piece: piece.index)


def _solutions(places: list[Place], result: Match) -> None:
    """Solution cells by mark, id and the names that they define; of several copies the last one that was written in."""
    mine: dict[int, list[Piece]] = {}
    for piece in result.pool:
        shares = [len(place.names & piece.names) / len(place.names) if place.names else 0.0 for place in places]
        best = max(shares, default=0.0)
        marked = next((at for at, place in enumerate(places) if piece.belongs_to(place)), None)
        if marked is not None and (shares[marked] > 0 or best == 0):
            home = places[marked]
        elif best > 0:
            home = places[shares.index(best)]
        else:
            continue
        mine.setdefault(home.index, []).append(piece)
    for place in places:
        if candidates := mine.get(place.index):
            _choose(place, candidates, result)
    for piece in [one for one in result.pool if one.kind == "code" and not one.names and code.statements(one.source)]:
        for place in places:
            if result.has(place) and code.is_part_of(piece.source, place.source):
                result.put_by(result.parts, place, piece)
                break


def _choose(place: Place, candidates: list[Piece], result: Match) -> None:
    """Takes the best of the cells that may be the solution, and sorts the others."""

    def worth(piece: Piece) -> tuple:
        named = code.first_name(place.source) in piece.names
        return piece not in untouched, len(place.names & piece.names), named, piece.belongs_to(place), piece.index

    alone = len(candidates) == 1
    untouched = [] if alone else [one for one in candidates if code.is_part_of(one.source, place.source)]
    chosen = candidates[0] if alone else max(candidates, key=worth)
    marked = chosen.belongs_to(place)
    answered = chosen.names.union(*(piece.names for piece in candidates if piece not in untouched)) & place.names
    result.take(place, chosen, "mark" if chosen.mark == place.name else "id" if marked else "names")
    for piece in candidates:
        if piece is chosen:
            continue
        names = place.names & piece.names
        piece.kind = "code"  # it runs, whatever it was turned into
        if piece in untouched:
            result.put_by(result.parts if names - answered else result.again, place, piece)
        elif names >= place.names & chosen.names and (piece.belongs_to(place) or not marked):
            result.put_by(result.again, place, piece)
        elif piece.belongs_to(place) or names - chosen.names:
            result.put_by(result.parts, place, piece)


def _written(places: list[Place], result: Match) -> None:
    """Answers in words by mark and id; of several copies the last one that was written in."""
    for place in places:
        candidates = [piece for piece in result.pool if piece.belongs_to(place)]
        if not candidates:
            continue
        chosen = max(candidates, key=lambda piece: (is_answered(piece.source, place.source), piece.index))
        result.take(place, chosen, "mark" if chosen.mark == place.name else "id")
        for piece in candidates:
            if piece is not chosen and not is_answered(piece.source, place.source):
                result.put_by(result.again, place, piece)


def _given(places: list[Place], result: Match) -> None:
    """What is not graded: cells that are as they were, then those with their id or names, then those that are alike."""
    by_source: dict[str, list[Piece]] = {}
    by_id = {piece.id: piece for piece in result.pool if piece.id}
    for piece in result.pool:
        by_source.setdefault(piece.source.strip(), []).append(piece)
    for place in places:
        if same := by_source.get(place.source.strip()):
            piece = next((piece for piece in same if piece.id == place.id), same[0])
            same.remove(piece)
            result.take(place, piece, "source")
    for place in places:
        with_id = by_id.get(place.id)
        if with_id is None or with_id not in result.pool or result.has(place):
            continue
        if _likeness(with_id.source, place.source, ALIKE / 2):
            result.take(place, with_id, "id")
    for place in places:
        if result.has(place) or place.is_text:
            continue
        if place.kind == "setup":
            fits = [piece for piece in result.pool if piece.is_setup]
        else:
            fits = [p for p in result.pool if place.names and place.names <= p.names and p.kind == "code"]
        if fits:
            result.take(place, fits[-1], "names")
    _alike(places, result)
    for place in _of(places, "setup"):
        if result.has(place) and (rest := code.added(result.found[place.index].source, place.source).strip("\n")):
            result.pool.append(Piece(result.found[place.index].index, "code", rest))
            result.pool.sort(key=lambda piece: piece.index)


def _alike(places: list[Place], result: Match) -> None:
    """Gives what is left of the places to the pieces that are most like them, the likest first."""
    pairs = []
    for place in places:
        if result.has(place):
            continue
        for piece in result.pool:
            if place.is_text and not piece.looks_like_text:
                continue
            if alike := _likeness(piece.source, place.source, ALIKE):
                pairs.append((-alike, place.index, piece.index, place, piece))
    for *_, place, piece in sorted(pairs, key=lambda pair: pair[:3]):
        if not result.has(place) and piece in result.pool:
            result.take(place, piece, "likeness")


def _answer_elsewhere(place: Place, places: list[Place], result: Match) -> None:
    """A written answer that is not in its cell: it stands beside it, or where it was, or else shares its question's words."""
    old = result.found.get(place.index)
    if old is not None and is_answered(old.source, place.source):
        return
    texts = [piece for piece in result.pool if piece.looks_like_text and piece.source.strip()]
    answers, how = [piece for piece in texts if _is_beside(piece, place, result)], "place"
    question = next((other.source for other in reversed(places[: place.index]) if other.kind == "text"), "")
    shared = {id(piece): _shared_words(piece.source, question) for piece in texts}
    telling = [piece for piece in texts if shared[id(piece)] >= ENOUGH_WORDS or len(texts) == 1]
    if beside := [piece for piece in answers if piece in telling]:
        answers = beside
    elif old is None and telling:
        answers, how = [max(telling, key=lambda piece: shared[id(piece)])], "words"
    answers = [piece for piece in answers if is_answered(piece.source, place.source)] or answers[:1]
    if not answers:
        return
    for piece in answers:
        result.pool.remove(piece)
    if old is not None:
        result.again.setdefault(place.index, []).append(old)
    pictures = {name: data for piece in answers for name, data in piece.attachments.items()}
    joined = replace(answers[0], source="\n\n".join(piece.source for piece in answers), attachments=pictures)
    result.found[place.index], result.how[place.index] = joined, how


def _is_beside(piece: Piece, place: Place, result: Match) -> bool:
    """Whether the cell of the lab next to a piece, on either side, is the place, what stands before it, or what follows it."""
    before = [(other.index, index) for index, other in result.found.items() if other.index < piece.index]
    after = [(other.index, index) for index, other in result.found.items() if other.index > piece.index]
    return (before and max(before)[1] in (place.index - 1, place.index)) or (
        bool(after) and min(after)[1] in (place.index, place.index + 1)
    )


def _shared_words(text: str, other: str) -> int:
    mine, theirs = (Counter(word for word in source.casefold().split() if len(word) > 3) for source in (text, other))
    return (mine & theirs).total()


def _within(places: list[Place], result: Match) -> None:
    """Places without a cell whose names another cell defines: cells that were merged into one."""
    everything = [*result.found.values(), *result.pool, *(piece for parts in result.parts.values() for piece in parts)]
    for place in places:
        if place.names and not result.has(place):
            holders = [piece for piece in everything if place.names <= piece.names]
            if holders:
                result.within[place.index] = max(holders, key=lambda piece: piece.index)
