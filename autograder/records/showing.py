"""What of an output may be shown in an instructor's browser, and in a student's feedback.

An output keeps its text, tables and pictures, loses whatever could run (`markup`), and is no larger than a page can bear. One
that names a hidden case is left out.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import Any

from autograder.records import markup

MOST_OUTPUTS = 100  # of a cell
MOST_TEXT = 20_000  # characters of one output's text
MOST_HTML = 200_000
MOST_PICTURE = 3_000_000  # characters in base64
MOST_NOTEBOOK = 12_000_000  # characters of all outputs together

MODEL = re.compile(r"[0-9a-f-]{1,64}")
WIDGET = "application/vnd.jupyter.widget-view+json"
LEFT_OUT = "[output left out]"


@dataclass
class Shown:
    """Makes the outputs of one notebook fit to be shown; `notes` says what was done, by cell, for the instructor.

    hidden  names of cases that no output may hold
    beside  names of cases that may be shown
    """

    hidden: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    _total: int = 0

    def outputs(self, outputs: Sequence[Mapping[str, Any]], where: str) -> list[dict[str, Any]]:
        """The outputs of the cell that an instructor knows as `where`."""
        shown = []
        for output in outputs[:MOST_OUTPUTS]:
            one = _output(output)
            if one is None:
                self._note(where, "an output of no known kind was left out")
                continue
            size = sum(map(len, texts_of(one)))
            if names_one(texts_of(one), self.hidden, self.beside):
                self._note(where, "an output that names a hidden case was left out")
                one, size = {"output_type": "stream", "name": "stdout", "text": LEFT_OUT + "\n"}, len(LEFT_OUT)
            if self._total + size > MOST_NOTEBOOK:
                self._note(where, "outputs were left out: the notebook showed too much")
                break
            self._total += size
            shown.append(one)
        if len(outputs) > MOST_OUTPUTS:
            self._note(where, f"{len(outputs) - MOST_OUTPUTS} of {len(outputs)} outputs were left out")
        return shown

    def _note(self, where: str, text: str) -> None:
        line = f"{where}: {text}"
        if line not in self.notes:
            self.notes.append(line)


def names_one(texts: Sequence[str], names: frozenset[str], beside: frozenset[str] = frozenset()) -> bool:
    """Whether a text names one of these cases, as it stands or as a browser would show it.

    `beside` are names that may be there: what they hold of another name does not count.
    """
    if not names:
        return False
    bare = re.sub(r"<[^<>]*>", "", " ".join(texts))
    seen = re.sub(r"\s+", " ", unescape(bare))
    if beside:
        seen = _any_of(beside).sub("\n", seen)
    return _any_of(names).search(seen) is not None


@lru_cache(64)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    ordered = sorted((" ".join(name.split()) for name in names), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)")


def texts_of(output: Mapping[str, Any]) -> list[str]:
    """Every text in an output that `Shown` let through."""
    if output["output_type"] == "stream":
        return [output["text"]]
    if output["output_type"] == "error":
        return [output["ename"], output["evalue"], *output["traceback"]]
    return [part for part in output["data"].values() if isinstance(part, str)]


def _output(output: Mapping[str, Any]) -> dict[str, Any] | None:
    match dict(output):
        case {"output_type": "stream", "name": "stdout" | "stderr" as name, "text": text}:
            return {"output_type": "stream", "name": name, "text": _cut(text_of(text), MOST_TEXT)}
        case {"output_type": "error", "ename": name, "evalue": value, "traceback": list(lines)}:
            lines = _cut("\n".join(map(text_of, lines)), MOST_TEXT).split("\n")
            ename, evalue = _cut(text_of(name), 200), _cut(text_of(value), MOST_TEXT)
            return {"output_type": "error", "ename": ename, "evalue": evalue, "traceback": lines}
        case {"output_type": "display_data" | "execute_result" as kind, "data": data} if isinstance(data, Mapping):
            safe = _data(data)
            if not safe:
                return None
            shown = {"output_type": kind, "data": safe, "metadata": _sizes(output.get("metadata"), safe)}
            return shown if kind == "display_data" else {**shown, "execution_count": None}
    return None


def _data(data: Mapping[str, Any]) -> dict[str, Any]:
    safe: dict[str, Any] = {}
    for kind, value in data.items():
        if kind in ("image/png", "image/jpeg", "image/gif"):
            if picture := _picture(text_of(value)):
                safe[kind] = picture
        elif kind == "image/svg+xml" and len(text_of(value)) <= MOST_HTML:
            safe[kind] = text_of(value)  # nbconvert shows it as an image, in which no script runs
        elif kind == "text/html" and len(text_of(value)) <= MOST_HTML:
            safe[kind] = markup.html(text_of(value))
        elif kind == "text/markdown":
            safe[kind] = markup.markdown(_cut(text_of(value), MOST_TEXT))
        elif kind == "text/latex" and not markup.OPENS.search(text_of(value)):
            safe[kind] = markup.RUNS.sub("", _cut(text_of(value), MOST_TEXT))
        elif kind == "text/plain":
            safe[kind] = _cut(text_of(value), MOST_TEXT)
        elif kind == WIDGET and isinstance(value, Mapping) and MODEL.fullmatch(str(value.get("model_id"))):
            safe[kind] = {"model_id": value["model_id"], "version_major": 2, "version_minor": 0}
    if not safe and data:
        safe["text/plain"] = f"[{', '.join(sorted(map(str, data)))[:200]}: left out]"
    return safe


def _picture(text: str) -> str:
    """A picture's base64, or "" when it is none or too large."""
    text = "".join(text.split())
    if len(text) > MOST_PICTURE:
        return ""
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return text


def _sizes(metadata: Any, data: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Of an output's metadata, the sizes of its pictures."""
    sizes = {}
    for kind in data:
        wanted = metadata.get(kind) if isinstance(metadata, Mapping) else None
        if kind.startswith("image/") and isinstance(wanted, Mapping):
            found = {name: wanted[name] for name in ("width", "height") if type(wanted.get(name)) is int}
            if found:
                sizes[kind] = found
    return sizes


def text_of(value: Any) -> str:
    """A text as nbformat may hold it: one, or its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _cut(text: str, most: int) -> str:
    """A text with its middle left out where it is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
