"""The visible cases as a file: what the students' copy of a lab is checked with.

The author's functions that draw cases, and their references, stay with the solution; published are inputs, expectations,
and what known mistakes would give. The file is JSON, so that a change to a check can be read in a diff.
"""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.checks.cases import RECORDS
from course_lib.checks.definition import Check, Lab, Mistake, Written
from course_lib.checks.legacy.cell import Asserts
from course_lib.checks.values import from_json, to_json

FOLDER = Path(__file__).parent / "cases"
# The last bits of exp() differ between processors; a frozen number is renewed only when it moved by more.
LATER = ("groups", "asserts")  # what a file holds only where a check has it: older files stay as they are
NEAR = {"f2": 1e-3, "f4": 1e-5, "f8": 1e-10, "c8": 1e-5, "c16": 1e-10}


def freeze(lab: Lab, version: str, mistakes: list[Mistake]) -> dict:
    """The lab as JSON-ready data: its visible cases and what `mistakes` give on them."""
    data = {
        "lab": lab.name,
        "title": lab.title,
        "version": version,
        "minutes": lab.minutes,
        "provides": list(lab.provides),
        "checks": [_freeze_check(check) for check in lab.checks.values()],
        # A rubric says what a good answer holds, so only the points are published.
        "written": {item.name: item.points for item in lab.written_items.values()},
        "mistakes": [{"text": mistake.text, "outcomes": to_json(mistake.outcomes)} for mistake in mistakes],
    }
    return json.loads(dump(data))


def thaw(data: dict) -> Lab:
    """The lab of `freeze`'s data, with its visible cases only."""
    try:
        lab = Lab(data["lab"], data["title"], data["minutes"], data["provides"])
        for entry in data["checks"]:
            lab.checks[entry["name"]] = _thaw_check(entry)
        for name, points in data["written"].items():
            lab.written_items[name] = Written(name, points, {})
        lab.mistakes = [Mistake(entry["text"], from_json(entry["outcomes"])) for entry in data["mistakes"]]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not the frozen cases of a lab: {error!r}") from None
    return lab


def load(name: str, folder: Path = FOLDER) -> Lab:
    """The published lab `name`. Raises ValueError, naming the labs there are, for one that is not."""
    path = folder / f"{name}.json"
    if not path.is_file():
        there = sorted(file.stem for file in folder.glob("*.json"))
        raise ValueError(f"there is no lab {name!r}; there is {', '.join(there) or 'none'}")
    return thaw(json.loads(path.read_text(encoding="utf-8")))


def dump(data: dict) -> str:
    """The text of the file."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def same(old: dict, new: dict) -> bool:
    """Whether two frozen labs are one, up to the last bits of their floating-point numbers."""
    if old.keys() != new.keys():
        return False
    plain = [key for key in new if key not in ("checks", "mistakes")]
    try:
        return all(old[key] == new[key] for key in plain) and _alike(_opened(old), _opened(new))
    except (KeyError, TypeError, ValueError):
        return False


def _freeze_check(check: Check) -> dict:
    cases = check.visible_cases()
    entry = {field.name: getattr(check, field.name) for field in dataclasses.fields(check)}
    # A cell of asserts is published with the notebook; its canaries, and what it hides, are not.
    entry |= {"groups": check.groups or None, "asserts": True if check.asserts is not None else None}
    left_out = {"visible", "hidden", *(name for name in LATER if entry[name] is None)}
    entry = {name: value for name, value in entry.items() if name not in left_out}
    return {**entry, "cases": {case.name: to_json(case, RECORDS) for case in cases}}


def _thaw_check(entry: dict) -> Check:
    cases = [from_json(case, RECORDS) for case in entry["cases"].values()]
    known = {field.name for field in dataclasses.fields(Check)} - {"visible", "hidden"}
    plain: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items() if key in known
    }
    if plain.pop("asserts", False):
        plain["asserts"] = Asserts()
    return Check(visible=lambda draw: cases, **plain)


def _opened(data: dict) -> list:
    checks = [
        {**entry, "cases": {name: from_json(case, RECORDS) for name, case in entry["cases"].items()}}
        for entry in data["checks"]
    ]
    return [checks, [[entry["text"], from_json(entry["outcomes"])] for entry in data["mistakes"]]]


def _alike(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(_alike(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and _near(a, b)
    if isinstance(a, float):
        return math.isclose(a, b, rel_tol=1e-10) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


def _near(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.str[1:] not in NEAR:
        return bool(np.array_equal(a, b))
    near = NEAR[a.dtype.str[1:]]
    size = np.abs(b[np.isfinite(b)])
    return bool(np.allclose(a, b, near, near * float(np.max(size, initial=0.0)), equal_nan=True))
