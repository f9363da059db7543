"""A lab's folder as its author keeps it: definition, hidden cases, solution notebook and known-wrong answers.

solutions/<lab>/<lab>.py        the notebook, in jupytext's percent format
solutions/<lab>/checks.py       defines `lab`, with the visible cases
solutions/<lab>/hidden.py       `from .checks import lab`, adds hidden cases
solutions/<lab>/*.py            what these two import, where one file would be too long
solutions/<lab>/known_wrong/    one plausible mistake a file
"""

import ast
import contextlib
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from course_lib.checks.definition import Lab


@dataclass(frozen=True)
class KnownWrong:
    """A plausible wrong answer: its code, the names it replaces, and the points it must lose, by check."""

    name: str
    text: str
    code: str
    replaces: tuple[str, ...]
    loses: dict[str, float]


def load(folder: Path | str, overlay: Path | str | None = None) -> Lab:
    """The lab of an author's folder, hidden cases included, with what the `overlay.py` of another folder adds to it.

    Raises ValueError where the definitions are missing, or name another lab than their folder.
    """
    folder = Path(folder).resolve()
    # Two versions of a lab, or a lab with and without its overlay, may be there at once.
    package = f"_lab_{folder.name}_{hashlib.sha256(f'{folder} {overlay}'.encode()).hexdigest()[:8]}"
    for name in [name for name in sys.modules if name == package or name.startswith(package + ".")]:
        del sys.modules[name]
    module = ModuleType(package)
    module.__path__ = [str(folder), *([str(overlay)] if overlay else [])]
    sys.modules[package] = module
    lab = getattr(_module(package, folder / "checks.py"), "lab", None)
    if not isinstance(lab, Lab):
        raise ValueError(f"{folder / 'checks.py'} must define lab = Lab(…), got {type(lab).__name__}")
    if lab.name != folder.name:
        raise ValueError(f"{folder / 'checks.py'} names its lab {lab.name!r}; its folder is {folder.name!r}")
    if (folder / "hidden.py").exists():
        _module(package, folder / "hidden.py")
    if overlay:
        _module(package, Path(overlay) / "overlay.py")
    _read_asserts(lab, folder)
    return lab


def version(folder: Path | str) -> str:
    """A digest of what decides a score: the check definitions, what they are made of, and cells of asserts."""
    digest = hashlib.sha256()
    for path in _checks_of(Path(folder)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for name, source in sorted(_assert_cells(Path(folder).resolve()).items()):
        digest.update(f"{name}\0{source}\0".encode())
    return digest.hexdigest()[:12]


def definitions(folder: Path | str) -> list[Path]:
    """The files of an author's folder that grading needs: not the notebook, unless it has cells of asserts."""
    folder = Path(folder).resolve()
    return [*_checks_of(folder), *([folder / f"{folder.name}.py"] if _assert_cells(folder) else [])]


def _checks_of(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.py")) if path.stem != folder.resolve().name]


def known_wrong(folder: Path | str) -> list[KnownWrong]:
    """The known-wrong answers of a lab's folder, by file name."""
    return [_known_wrong(path) for path in sorted((Path(folder) / "known_wrong").glob("*.py"))]


def _known_wrong(path: Path) -> KnownWrong:
    code = path.read_text(encoding="utf-8")
    tree = ast.parse(code, str(path))
    constants = {}
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in ("replaces", "loses")
        ):
            with contextlib.suppress(ValueError):
                constants[node.targets[0].id] = ast.literal_eval(node.value)
    text = " ".join((ast.get_docstring(tree) or "").split())
    replaces, loses = constants.get("replaces"), constants.get("loses")
    numbers = isinstance(loses, dict) and all(isinstance(points, int | float) for points in loses.values())
    if not text or not replaces or not loses or not numbers:
        raise ValueError(
            f"{path} needs a docstring that names the mistake, `replaces = [names]` and `loses = {{check: points}}`"
        )
    missing = [name for name in replaces if name not in defined_names(code)]
    if missing:
        raise ValueError(f"{path} says that it replaces {missing}, and does not define them")
    return KnownWrong(path.stem, text, code, tuple(replaces), {check: float(points) for check, points in loses.items()})


def defined_names(code: str) -> set[str]:
    """The names that a cell's top level defines; none for a cell that does not parse."""
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return set()
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    for node in body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names |= {name for target in targets for name in assigned(target)}
    return names


def assigned(target: ast.expr) -> Iterator[str]:
    """The names that an assignment's left side binds; `table[0] = …` and `model.weight = …` bind none."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Starred):
        yield from assigned(target.value)
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from assigned(part)


def _read_asserts(lab: Lab, folder: Path) -> None:
    """Gives each cell of asserts that the lab declares its source, from the author's notebook."""
    wanted = {name: check.asserts for name, check in lab.checks.items() if check.asserts is not None}
    cells = _assert_cells(folder) if wanted else {}
    for name, asserts in wanted.items():
        if name not in cells:
            raise ValueError(f'{folder.name}.py needs a code cell marked asserts="{name}"')
        lab.checks[name].asserts = whole = replace(asserts, source=cells[name])
        try:
            whole.check()
        except ValueError as error:
            raise ValueError(f"asserts {name!r} of {lab.name}: {error}") from None


def _assert_cells(folder: Path) -> dict[str, str]:
    """The cells marked asserts="NAME" in a lab's notebook: their sources, by name."""
    path = folder / f"{folder.name}.py"
    if not path.is_file() or "asserts=" not in (text := path.read_text(encoding="utf-8")):
        return {}
    import jupytext

    cells = jupytext.reads(text, fmt="py:percent").cells
    return {cell.metadata["asserts"]: cell.source for cell in cells if "asserts" in cell.metadata}


def _module(package: str, path: Path) -> ModuleType:
    name = f"{package}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise ValueError(f"{path} is missing: a lab's folder needs its check definitions")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
