"""The syllabus: thirteen units, and for each objective where it is taught and where it is proved.

`lectures/syllabus.toml` is the one list. Everything that speaks of units reads it here: the command `course map`, the map in
lecture 00, and the test that opens every reference, so that the syllabus cannot promise what is not there.
"""

import ast
import importlib
import re
import shutil
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from course_lib.house.paths import root as course_root

WALLS = ("attention", "decoding")
STATES = ("planned", "built")
REFERENCES = ("mechanism", "section", "checks", "figure", "explorer", "oracle")


@dataclass(frozen=True)
class Objective:
    """What a reader can do after the unit, and the references of REFERENCES ("" or () where there is none)."""

    text: str
    mechanism: str = ""
    section: str = ""
    checks: tuple[str, ...] = ()
    figure: str = ""
    explorer: str = ""
    oracle: str = ""


@dataclass(frozen=True)
class Unit:
    """One unit of the course; `minutes` are those of its lectures, `walls` which of the two walls it works on."""

    id: str
    title: str
    state: str
    minutes: int
    walls: tuple[str, ...]
    objectives: tuple[Objective, ...]
    lectures: tuple[str, ...] = ()
    labs: tuple[str, ...] = ()

    @property
    def built(self) -> bool:
        return self.state == "built"


def load(path: Path | None = None) -> tuple[Unit, ...]:
    """The units of `path`; by default of the checkout, or of the installed package where there is none.

    Raises ValueError for an unknown key, state or wall, and for an id that is missing or stands twice.
    """
    if path is None:
        root = course_root()
        path = root / "lectures/syllabus.toml" if root else Path(__file__).with_name("syllabus.toml")
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("unit", [])
    loaded = tuple(_unit(entry) for entry in entries)
    ids = [unit.id for unit in loaded]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise ValueError(f"{path.name}: unit ids must differ, got {', '.join(twice)} more than once")
    return loaded


def units() -> tuple[Unit, ...]:
    """The units of this course, in order."""
    return load()


def check(root: Path) -> list[str]:
    """Opens every reference of the syllabus of `root`; returns a line for each that leads nowhere.

    A unit that is built must also have lectures, a lab, every kind of reference at least once, a mechanism and a section for
    each objective, and an objective for each of its labs' checks.
    """
    return [
        f"unit {unit.id}: {fault}" for unit in load(root / "lectures/syllabus.toml") for fault in _faults(unit, root)
    ]


def print_map(unit: str | None = None) -> None:
    """Prints the syllabus, or one unit of it, as a table for a terminal. Raises ValueError for an unknown unit."""
    known = units()
    chosen = [entry for entry in known if unit is None or entry.id == unit.zfill(2)]
    if not chosen:
        raise ValueError(f"unit must be one of {', '.join(entry.id for entry in known)}; got {unit!r}")
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    print("\n\n".join("\n".join(_lines(entry, width)) for entry in chosen))


def _unit(entry: dict) -> Unit:
    name = f"unit {entry.get('id', '?')}"
    objectives = tuple(_record(Objective, objective, f"{name}, objective") for objective in entry.pop("objective", []))
    unit = _record(Unit, {**entry, "objectives": objectives}, name)
    if unit.state not in STATES:
        raise ValueError(f"{name}: state must be one of {STATES}, got {unit.state!r}")
    if not unit.walls or not set(unit.walls) <= set(WALLS):
        raise ValueError(f"{name}: walls must be of {WALLS}, got {unit.walls}")
    return unit


def _record(kind: type, entry: dict, name: str):
    known = {field.name for field in fields(kind)}
    if unknown := sorted(set(entry) - known):
        raise ValueError(f"{name}: unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}")
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
    except TypeError as error:
        raise ValueError(f"{name}: {str(error).partition('() ')[2]}") from None


def _faults(unit: Unit, root: Path) -> Iterator[str]:
    headings = set()
    for lecture in unit.lectures:
        if (root / lecture).is_file():
            headings |= set(_headings((root / lecture).read_text(encoding="utf-8")))
        else:
            yield f"there is no lecture {lecture}"
    items: dict[str, str] = {}
    for lab in unit.labs:
        try:
            items |= {f"{lab}.{name}": name for name in _lab_items(root / "solutions" / lab)}
        except (ValueError, OSError) as error:
            yield f"lab {lab} does not load: {error}"
    for objective in unit.objectives:
        yield from _broken(objective, unit, root, headings, items)
    if not unit.built:
        return
    if not unit.objectives or not unit.lectures or not unit.labs:
        yield "it is built, so it needs objectives, lectures and labs"
    for kind in REFERENCES:
        if not any(getattr(objective, kind) for objective in unit.objectives):
            yield f"it is built, and none of its objectives names its {kind}"
    for item in items:
        if not any(item in objective.checks for objective in unit.objectives):
            yield f"no objective names {item}"


def _broken(objective: Objective, unit: Unit, root: Path, headings: set[str], items: dict[str, str]) -> Iterator[str]:
    said = f"“{textwrap.shorten(objective.text, 40, placeholder='…')}”"
    for kind in ("mechanism", "section"):
        if unit.built and not getattr(objective, kind):
            yield f"{said} names no {kind}"
    for kind in ("mechanism", "explorer"):
        reference = getattr(objective, kind)
        if reference and not _importable(reference):
            yield f"{said}: {kind} {reference} cannot be imported"
    if objective.section and objective.section not in headings:
        yield f"{said}: no lecture of the unit has the heading “{objective.section}”"
    for item in objective.checks:
        if item not in items:
            yield f"{said}: there is no check {item}"
    if objective.figure and not (root / objective.figure).is_file():
        yield f"{said}: there is no figure {objective.figure}"
    if objective.oracle and not _has_test(root, objective.oracle):
        yield f"{said}: there is no test {objective.oracle}"


def _importable(reference: str) -> bool:
    module, _, attribute = reference.rpartition(".")
    if not module:
        return False
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ImportError:
        return False


def _headings(percent: str) -> list[str]:
    """The headings in the markdown cells of a lecture's source."""
    found = []
    for cell in re.split(r"^# %%", percent, flags=re.MULTILINE):
        marker, _, text = cell.partition("\n")
        if "[markdown]" in marker:
            if not text.startswith('"""'):
                text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
            found += re.findall(r"^#{1,6} +(.+?) *$", text, flags=re.MULTILINE)
    return found


def _lab_items(folder: Path) -> list[str]:
    from course_lib.checks import labs

    lab = labs.load(folder)
    return [*lab.checks, *lab.written_items]


def _has_test(root: Path, reference: str) -> bool:
    file, _, name = reference.partition("::")
    if not (root / file).is_file():
        return False
    tree = ast.parse((root / file).read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.walk(tree))


def _lines(unit: Unit, width: int) -> Iterator[str]:
    walls = "both walls" if len(unit.walls) == len(WALLS) else f"the {unit.walls[0]} wall"
    yield f"{unit.id}  {unit.title}  ({unit.state}, {unit.minutes} min, {walls})"
    for objective in unit.objectives:
        yield textwrap.fill(objective.text, width, initial_indent="    • ", subsequent_indent="      ")
        rows = [(kind, getattr(objective, kind)) for kind in REFERENCES]
        for kind, reference in rows:
            if reference:
                text = ", ".join(reference) if isinstance(reference, tuple) else reference
                yield textwrap.fill(f"{kind:<10} {text}", width, initial_indent=" " * 8, subsequent_indent=" " * 19)
    for kind, paths in (("lectures", unit.lectures), ("labs", unit.labs)):
        if paths:
            yield f"    {kind}: {', '.join(paths)}"
