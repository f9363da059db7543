"""Any bytes that were handed in, as a notebook, or the reason why they are none.

Students' files come back through mail, learning platforms and editors: cut off, in another encoding, with commas too many,
saved by a notebook of ten years ago, or as the script that a menu exported. Whatever whole cells are there are kept, in one
plain form (format 4.5, no outputs, nothing in the metadata but what tells a cell again), and each repair is a line for the
instructor. Nothing but `Unreadable` is raised, whatever the bytes.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from autograder.intake import Unreadable, scripts
from autograder.intake.salvage import notebook_json
from autograder.intake.words import counted, listed, shortened

MOST_RAW = 100 * 2**20
"""A larger file is not looked at."""
MOST_CELLS = 1_000
MOST_CODE = 2**20
"""Characters in all code cells together: code is parsed to align it."""
TYPES = ("code", "markdown", "raw")
OTHER_TYPES = {"md": "markdown", "text": "markdown", "html": "markdown", "python": "code", "py": "code"}
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
STATED = ("lab", "version", "drawn")
"""What a notebook of the course says of itself: its lab, the version of it, and a mark of what was drawn for its student."""
LONE = re.compile("[\ud800-\udfff]")
MAGIC = {
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "an empty zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a rar archive",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\xd0\xcf\x11\xe0": "an Office document",
}


@dataclass(frozen=True)
class Repaired:
    """A notebook in plain form, and what had to be put right in it."""

    notebook: dict[str, Any]
    notes: tuple[str, ...]


def repair(content: bytes, name: str = "") -> Repaired:
    """The notebook in the bytes of a file; its `name` helps to tell a script from a text.

    Raises Unreadable with the reason when there is none.
    """
    try:
        return _repair(content, name)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("its JSON is nested too deeply") from None
    except Exception as error:  # the promise above holds for what nobody has thought of, too
        raise Unreadable(f"it could not be read ({type(error).__name__})") from None


def stated(content: bytes) -> dict[str, str]:
    """What the notebook in the bytes of a file says of itself, by the keys of `STATED`; it may say nothing, and may lie."""
    if len(content) > MOST_RAW:
        return {}
    try:
        found = notebook_json(_decoded(content)[0])[0].get("metadata")
        return _about(found if isinstance(found, dict) else {}, []).get("course", {})
    except Exception:  # whatever the bytes are: `repair` says what is wrong with them
        return {}


def _repair(content: bytes, name: str) -> Repaired:
    if not content:
        raise Unreadable("the file is empty")
    if kind := next((kind for start, kind in MAGIC.items() if content.startswith(start)), None):
        raise Unreadable(f"the file is {kind}, not a notebook")
    if len(content) > MOST_RAW:
        raise Unreadable(f"the file has {len(content) / 2**20:.0f} MB; at most {MOST_RAW / 2**20:.0f} are looked at")
    text, notes = _decoded(content)
    bare = text.strip()
    if not bare:
        raise Unreadable("the file holds nothing but blanks and NUL bytes: the upload or the saving went wrong")
    if re.match(r"(?:<\?xml[^>]*>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype html|html|head|body)\b", bare, re.I | re.S):
        raise Unreadable("the file is a web page, not a notebook: it was printed or exported as HTML")
    if bare[0] in "{[" or re.search(r'"(?:cells|worksheets)"\s*:\s*\[|"cell_type"\s*:\s*"', bare):
        found, more = notebook_json(text)
    else:
        found, more = scripts.notebook(bare, name)
    return _plain(found, notes + more)


def _decoded(content: bytes) -> tuple[str, list[str]]:
    """The text of the bytes, whatever encoding they are in, without NULs."""
    import json

    notes: list[str] = []
    encoding = json.detect_encoding(content)
    try:
        text = content.decode(encoding)
        if encoding.startswith(("utf-16", "utf-32")):
            notes.append(f"the file is in {encoding.upper()}: read as such")
        elif encoding == "utf-8-sig":
            notes.append("the file begins with a byte order mark: left out")
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        wrong = text.count("�")
        others = sum(not char.isascii() for char in text) - wrong
        if wrong == 1 and text.endswith("�"):
            text = text[:-1]
        elif wrong <= others:
            notes.append(f"{counted(wrong, 'byte')} of the file {'is' if wrong == 1 else 'are'} not UTF-8: shown as �")
        else:
            text = content.decode("cp1252", "replace")
            notes.append("the file is not in UTF-8: read as Windows-1252 (Latin-1)")
    if nulls := text.count("\0"):
        text = text.replace("\0", "")
        notes.append(f"{counted(nulls, 'NUL byte')} left out")
    return text, notes


class _Gathered:
    """Repairs that several cells needed, told once each."""

    def __init__(self) -> None:
        self._cells: dict[str, list[int]] = {}

    def add(self, text: str, number: int) -> None:
        numbers = self._cells.setdefault(text, [])
        if number not in numbers:
            numbers.append(number)

    def lines(self) -> list[str]:
        return [f"{_which(numbers)}: {text}" for text, numbers in self._cells.items()]


def _which(numbers: list[int]) -> str:
    if len(numbers) > 8:
        return f"{len(numbers)} cells"
    return f"cell{'' if len(numbers) == 1 else 's'} {listed([str(number) for number in numbers])}"


def _plain(found: dict[str, Any], notes: list[str]) -> Repaired:
    """The notebook in plain form."""
    version = found.get("nbformat")
    cells = _cells_of(found)
    if not cells:
        raise Unreadable("the notebook has no cells")
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(cells):,} cells; at most {MOST_CELLS:,} are read")
    if isinstance(version, int) and 0 < version < 4:
        notes.append(f"the notebook is in format {version}: brought to format 4")
    elif version != 4 and "nbformat" not in found.get("_salvaged", ()):
        notes.append("the notebook does not say that its format is 4: read as if it did")
    gathered = _Gathered()
    plain = [_cell(cell, number, gathered) for number, cell in enumerate(cells, start=1)]
    kept = [cell for cell in plain if cell is not None]
    if (size := sum(len(cell["source"]) for cell in kept if cell["cell_type"] != "markdown")) > MOST_CODE:
        raise Unreadable(f"its code cells hold {size:,} characters; at most {MOST_CODE:,} are read")
    if not kept:
        raise Unreadable("none of the notebook's cells is one")
    minor = found.get("nbformat_minor")
    _settle_ids(kept, gathered, expected=version == 4 and isinstance(minor, int) and minor >= 5)
    metadata = found.get("metadata")
    about = _about(metadata if isinstance(metadata, dict) else {}, notes)
    for cell in kept:
        del cell["number"]
    notebook = {"cells": kept, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return Repaired(notebook, tuple(notes + gathered.lines()))


def _cells_of(found: dict[str, Any]) -> list[Any]:
    cells = found.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = found.get("worksheets")
    if isinstance(sheets, list):
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for cells in lists if isinstance(cells, list) for cell in cells]
    raise Unreadable("the file is JSON, but no notebook: it has no list of cells")


def _cell(cell: Any, number: int, gathered: _Gathered) -> dict[str, Any] | None:
    """One cell in plain form; `number` counts from 1, as a reader does."""
    if not isinstance(cell, dict):
        gathered.add("something else than a cell: left out", number)
        return None
    kind = _kind(cell, number, gathered)
    source = _source(cell, number, gathered)
    if cell.get("cell_type") == "heading" and source:
        level = cell.get("level")
        source = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1) + " " + source
    metadata = cell.get("metadata")
    if not isinstance(metadata, dict):
        if "metadata" in cell:
            gathered.add("metadata that are none were left out", number)
        metadata = {}
    own = cell.get("id")
    elsewhere = metadata.get("id")  # where Colab keeps it
    plain: dict[str, Any] = {
        "number": number,
        "cell_type": kind,
        "id": own if isinstance(own, str) else elsewhere if isinstance(elsewhere, str) else "",
        "metadata": _marks(metadata),
        "source": source,
    }
    if kind == "code":
        plain |= {"execution_count": None, "outputs": []}
    elif attachments := _attachments(cell.get("attachments")):
        plain["attachments"] = attachments
    return plain


def _kind(cell: dict[str, Any], number: int, gathered: _Gathered) -> str:
    stated = cell.get("cell_type")
    if isinstance(stated, str):
        if stated in TYPES:
            return stated
        if stated == "heading":
            return "markdown"
        lower = stated.strip().lower()
        near = difflib.get_close_matches(lower[:20], [*TYPES, *OTHER_TYPES], n=1)
        if near:
            kind = OTHER_TYPES.get(near[0], near[0])
            gathered.add(f"the type {shortened(stated, 20)!r} was read as {kind}", number)
            return kind
    kind = "code" if {"outputs", "execution_count", "input", "prompt_number"} & set(cell) else "markdown"
    gathered.add(f"a missing or unknown type was read as {kind}", number)
    return kind


def _source(cell: dict[str, Any], number: int, gathered: _Gathered) -> str:
    found = cell.get("source", cell.get("input"))
    if isinstance(found, list):
        lines = [line for line in found if isinstance(line, str)]
        if len(lines) < len(found):
            gathered.add("lines that were no text were left out", number)
        if len(lines) > 1 and not any(line.endswith(("\n", "\r")) for line in lines[:-1]):
            gathered.add("lines without ends were joined again", number)
            found = "\n".join(lines)
        else:
            found = "".join(lines)
    elif not isinstance(found, str):
        gathered.add("no source: read as empty", number)
        return ""
    if "\r" in found:
        gathered.add("line ends of Windows were replaced", number)
        found = found.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in found:
        gathered.add("NUL characters were left out", number)
        found = found.replace("\0", "")
    if LONE.search(found):
        gathered.add("halves of characters were replaced by �", number)
        found = LONE.sub("�", found)
    return found


def _marks(metadata: dict[str, Any]) -> dict[str, Any]:
    """What of a cell's metadata tells which cell of the lab it was."""
    marks: dict[str, Any] = {}
    nbgrader = metadata.get("nbgrader")
    if isinstance(nbgrader, dict) and isinstance(nbgrader.get("grade_id"), str):
        marks["nbgrader"] = {"grade_id": _clean(nbgrader["grade_id"])}
    tags = metadata.get("tags")
    if isinstance(tags, list) and "setup" in tags:
        marks["tags"] = ["setup"]
    return marks


def _attachments(found: Any) -> dict[str, dict[str, str]]:
    """Pictures that were pasted into a text, as the format has them."""
    if not isinstance(found, dict):
        return {}
    kept = {}
    for name, forms in found.items():
        if not isinstance(forms, dict) or not forms or not all(isinstance(data, str) for data in forms.values()):
            continue
        if not LONE.search("".join([name, *forms, *forms.values()])):
            kept[name] = forms
    return kept


def _settle_ids(cells: list[dict[str, Any]], gathered: _Gathered, expected: bool) -> None:
    """Gives each cell an id of its own. Before format 4.5 cells had none, so a missing one is nothing to report."""
    stated = Counter(cell["id"] for cell in cells)
    used: set[str] = set()
    for cell in cells:
        if ID.fullmatch(cell["id"]) and cell["id"] not in used:
            used.add(cell["id"])
            continue
        if cell["id"] and stated[cell["id"]] > 1 and ID.fullmatch(cell["id"]):
            gathered.add("had the id of another cell, and a new one was given", cell["number"])
        elif cell["id"] or expected:
            gathered.add("had no valid id, and one was given", cell["number"])
        base = f"cell-{cell['number']}"
        name, copies = base, 1
        while name in used or name in stated:
            copies += 1
            name = f"{base}-{copies}"
        used.add(name)
        cell["id"] = name


def _about(metadata: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The notebook's metadata: its kernel, and which version of which lab it is."""
    about: dict[str, Any] = {}
    course = metadata.get("course")
    if isinstance(course, dict):
        about["course"] = {key: _clean(course[key]) for key in STATED if isinstance(course.get(key), str)}
    kernel, language = metadata.get("kernelspec"), metadata.get("language_info")
    names = _texts(kernel, ("language", "name", "display_name")) + _texts(language, ("name",))
    if names and not any("python" in name.lower() or "conda" in name.lower() for name in names):
        notes.append(f"its kernel is {shortened(names[-1], 30)!r}: run as Python all the same")
    return about


def _texts(found: Any, keys: Iterable[str]) -> list[str]:
    return [_clean(found[key]) for key in keys if isinstance(found.get(key), str)] if isinstance(found, dict) else []


def _clean(text: str) -> str:
    return LONE.sub("�", text.replace("\0", ""))[:200]
