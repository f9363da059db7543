"""The corpus: every hostile, broken and honest notebook that the grader is proved against, with the grade it must get.

An honest student stands between every few of them: whatever ran before must not have changed what comes after.
"""

from collections.abc import Iterable
from dataclasses import replace

from tests.hostile import cells, endings, files, forgeries, honest, legacy, reaching, searches, wire
from tests.hostile.entry import Entry

EVERY = 5
KINDS = {
    "honest": honest,
    "endings": endings,
    "forgeries": forgeries,
    "legacy": legacy,
    "searches": searches,
    "wire": wire,
    "reaching": reaching,
    "cells": cells,
    "files": files,
}


def corpus(kinds: Iterable[str] = KINDS) -> list[Entry]:
    """The entries of these kinds, with an honest student first, last and after every few."""
    entries = [entry for kind in kinds for entry in KINDS[kind].corpus()]
    mixed = [_honest(0)]
    for number, entry in enumerate(entries, start=1):
        mixed.append(entry)
        if number % EVERY == 0 or number == len(entries):
            mixed.append(_honest(number))
    return mixed


def _honest(number: int) -> Entry:
    return replace(honest.PLAIN, name=f"{honest.PLAIN.name} ({number})")
