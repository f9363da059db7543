"""Tasks, results and what they rest on, as JSON text: how they travel to another process or machine, and back.

What comes back is read, never unpickled or run. Receipts are the text that is kept.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.evidence import Receipt
from autograder.grading.batch import Graded, Task
from autograder.grading.judge import Limits
from autograder.grading.standards import Basis, Standards
from autograder.records import identity
from autograder.sandbox import Report, probe
from autograder.versions import FOLDER as VERSIONS
from autograder.versions import VERSION


@dataclass(frozen=True)
class Setting:
    """What a grader elsewhere needs to know. On another machine (`probes`) it finds out what the sandbox does there."""

    basis: Basis
    without: tuple[str, ...] = ()
    probes: bool = False


def of_setting(setting: Setting) -> str:
    """Where things are. A folder of the course's own repository is named from its top, which may be elsewhere there."""
    basis = setting.basis
    paths = {name: _named(getattr(basis, name)) for name in ("folder", "course", "instructor")}
    sandbox = {"without": setting.without} if setting.probes else {"report": basis.report.to_json()}
    return json.dumps({**paths, **sandbox, "limits": asdict(basis.limits), "as_now": basis.as_now})


def to_basis(text: str) -> Basis:
    """What a grader rests on here. Raises ValueError when the lab is not here."""
    data = json.loads(text)
    folder, course, instructor = (_found(data[name]) for name in ("folder", "course", "instructor"))
    if folder is None or not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    report = Report.from_json(data["report"]) if "report" in data else probe(data["without"])
    course = course if course is not None and course.is_dir() else None
    return Basis(folder, report, Limits(**data["limits"]), course, instructor, data["as_now"])


def standing(basis: Basis) -> dict[str, str]:
    """All that decides a grade beside the submission and its seed, each by a name that can be said to a person."""
    standards = Standards(basis)
    lab, course = standards.current, basis.course
    kept = course / VERSIONS / lab.lab if course else None
    older = [path.name for path in kept.iterdir() if VERSION.fullmatch(path.name)] if kept and kept.is_dir() else []
    secret = course / identity.SECRET if course and standards.overlay else None
    return {
        **identity.environment_parts(),
        "lab": lab.version,
        "released notebook": _digest(lab.released),
        "known mistakes": _digest([asdict(mistake) for mistake in lab.mistakes]),
        "older versions": ", ".join(sorted(set(older) - {lab.version})) or "none",
        "overlay": standards.overlay.digest if standards.overlay else "none",
        "course's key": _digest(secret.read_text("utf-8")) if secret and secret.is_file() else "none",
        "sandbox level": basis.report.level,
    }


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """What differs, in words."""
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    return [f"{name} is {there.get(name, 'not there')} there, {here.get(name, 'unknown')} here" for name in names]


def of_task(task: Task) -> str:
    """A task as text."""
    content = None if task.content is None else base64.b64encode(task.content).decode()
    return json.dumps({**asdict(task), "content": content})


def to_task(text: str) -> Task:
    """The task of `of_task`'s text."""
    data = json.loads(text)
    content = None if data["content"] is None else base64.b64decode(data["content"])
    return Task(**{**data, "content": content, "notes": tuple(data["notes"])})


def of_graded(graded: Graded) -> str:
    """A result as text. What no notebook could hold, which only a forger's output has, is left out."""
    parts = {"receipt": graded.receipt.to_json(), "notebook": graded.notebook, "answers": graded.answers}
    outputs = list(graded.outputs.items())
    return json.dumps({**parts, "outputs": outputs}, skipkeys=True, default=lambda value: None)


def to_graded(text: str) -> Graded:
    """The result of `of_graded`'s text. Raises ValueError when it is none."""
    try:
        data = json.loads(text)
        outputs = {int(number): list(shown) for number, shown in data["outputs"]}
        return Graded(Receipt.from_json(data["receipt"]), data["notebook"], outputs, data["answers"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"not a result: {error}") from None


def _named(path: Path | None) -> tuple[str, bool] | None:
    """A path as text, and whether it is one inside the repository."""
    if path is None:
        return None
    path = path.resolve()
    inside = path.is_relative_to(identity.ROOT)
    return (path.relative_to(identity.ROOT).as_posix() if inside else str(path)), inside


def _found(named: tuple[str, bool] | None) -> Path | None:
    return None if named is None else identity.ROOT / named[0] if named[1] else Path(named[0])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=repr).encode()).hexdigest()[:12]
