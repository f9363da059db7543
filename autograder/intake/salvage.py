"""The JSON of a notebook, read as far as it goes: with outputs cut out, commas too many, garbage after it, or its end missing.

All of it is one pass over the text, however hostile: what is not closed ends with the file.
"""

import json
import re
from typing import Any

from autograder.intake import Unreadable
from autograder.intake.words import counted, shortened

MOST_BYTES = 10 * 2**20
"""A notebook without its outputs is smaller."""
MOST_BRACKETS = 400_000
"""Each may become an object of some hundred bytes."""
MOST_FAILURES = 30
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
TOO_MANY = re.compile(rf"{STRING}|,(?=\s*+[}}\],])", re.DOTALL)
BRACKET = re.compile(rf"(?:{STRING}|[^\"\[\]])*+([\[\]])", re.DOTALL)
OUTPUTS = re.compile(r'"outputs"\s*+:\s*+\[')
CELLS = re.compile(r'"cells"\s*+:\s*+\[')
CELL = re.compile(
    r'\{\s*+"(?:attachments|cell_type|collapsed|execution_count|id|input|language|level|metadata|source)"\s*+:'
)
CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: .*)?$", re.MULTILINE)


def notebook_json(text: str) -> tuple[dict[str, Any], list[str]]:
    """The notebook that the text is meant to be, and what was done to read it. Raises Unreadable when no cell is whole."""
    notes: list[str] = []
    if len(text) > MOST_BYTES or _brackets(text) > MOST_BRACKETS:
        smaller = without_outputs(text)
        if len(smaller) > MOST_BYTES or _brackets(smaller) > MOST_BRACKETS:
            size = f"{len(smaller) / 2**20:.1f} MB and {_brackets(smaller):,} brackets"
            raise Unreadable(f"the notebook is too large: without its outputs it has {size}")
        notes.append(f"outputs of {(len(text) - len(smaller)) / 2**20:.1f} MB were left out unread")
        text = smaller
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        raise Unreadable("the file holds no JSON")
    try:
        return _as_notebook(*_parsed(text, start, notes)), notes
    except (ValueError, RecursionError) as error:
        if isinstance(error, Unreadable):
            raise
        first = error
    mended = TOO_MANY.sub(lambda token: "" if token[0] == "," else token[0], text)
    if (spare := len(text) - len(mended)) > 0:
        try:
            found = _as_notebook(*_parsed(mended, start, notes))
            return found, [*notes, f"{counted(spare, 'comma')} too many in its JSON left out"]
        except (ValueError, RecursionError) as error:
            if isinstance(error, Unreadable):
                raise
    return _whole_cells(mended, notes, first)


def without_outputs(text: str) -> str:
    """The JSON text with every list of outputs emptied, not parsed."""
    parts, at = [], 0
    while start := OUTPUTS.search(text, at):
        parts.append(text[at : start.end()])
        depth, at = 1, len(text)
        for bracket in BRACKET.finditer(text, start.end()):
            depth += 1 if bracket[1] == "[" else -1
            if depth == 0:
                at = bracket.start(1)
                break
    return "".join([*parts, text[at:]])


def _brackets(text: str) -> int:
    return text.count("{") + text.count("[")


def _whole(digits: str) -> int:
    return int(digits) if len(digits) < 20 else 0


_DECODER = json.JSONDecoder(strict=False, parse_int=_whole)


def _parsed(text: str, start: int, notes: list[str]) -> tuple[Any, str, str, list[str]]:
    value, end = _DECODER.raw_decode(text, start)
    return value, text[:start].strip(), text[end:].strip(), notes


def _as_notebook(value: Any, before: str, after: str, notes: list[str]) -> dict[str, Any]:
    if isinstance(value, list) and value and all(isinstance(cell, dict) and "cell_type" in cell for cell in value):
        notes.append("the file is a bare list of cells: read as a notebook")
        value = {"cells": value, "_salvaged": ["nbformat"]}
    if '"cell_type"' in after and not (isinstance(value, dict) and {"cells", "worksheets"} & set(value)):
        raise ValueError("it begins in the middle")
    if not isinstance(value, dict):
        raise Unreadable(f"the file is JSON, but no notebook: it begins {shortened(json.dumps(value)[:80], 30)}")
    if before:
        notes.append(f"{counted(len(before), 'character')} before the notebook's JSON left out")
    if after:
        notes.append(f"{counted(len(after), 'character')} after the notebook's JSON left out")
    return value


def _whole_cells(text: str, notes: list[str], reason: Exception) -> tuple[dict[str, Any], list[str]]:
    """What is left of a broken file: each cell that is there from its first bracket to its last."""
    cells: list[Any] = []
    failures = 0
    found = CELLS.search(text)
    at = found.end() if found else 0
    while failures < MOST_FAILURES and (start := CELL.search(text, at)):
        try:
            value, at = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            failures, at = failures + 1, start.end()
            continue
        if isinstance(value.get("cell_type"), str) and {"source", "input"} & set(value):
            cells.append(value)
    where = _where(text, reason)
    if not cells:
        raise Unreadable(f"{where}, and no whole cell is left")
    if CONFLICT.search(text):
        where = f"the file holds the marks of an unfinished merge (git), and {where}"
    return {"cells": cells, "_salvaged": ["nbformat"]}, [
        *notes,
        f"{where}: {counted(len(cells), 'whole cell')} recovered",
    ]


def _where(text: str, reason: Exception) -> str:
    if isinstance(reason, RecursionError):
        return "its JSON is nested too deeply"
    if isinstance(reason, json.JSONDecodeError):
        if reason.pos >= len(text.rstrip()) - 1 or reason.msg.startswith("Unterminated string"):
            return "the file ends in the middle of its JSON"
        return f"its JSON is broken in line {reason.lineno}"
    return "the file begins in the middle of its JSON"
