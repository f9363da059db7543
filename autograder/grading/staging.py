"""What of the course's library a student's code may import while it is graded: a copy of a few files, and nothing else.

The repository itself is out of reach then. The copy holds the modules that the lab provides, whatever these need, and the
student's side of the checks, which knows no expectation. A package's own `__init__` keeps only the imports that lead to files
which are there: `course_lib.speculation` with nothing in it but `ngrams` gives no acceptance rate away.
"""

import ast
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import autograder
import course_lib
from course_lib.checks.definition import Lab

STUDENTS_SIDE = ("course_lib.checks.perform", "autograder.grading.zygote", "autograder.sandbox")
EXPECTATIONS = ("course_lib.checks.judging", "course_lib.checks.compare", "course_lib.checks.frozen")
# What a notebook calls `lab` is answered by the judge.
CHECKS_INIT = '''"""The student's side of the checks."""


def lab(name):
    """What a notebook's check lines are called on."""
    from autograder.grading.student import lab as answered

    return answered(name)
'''


def stage(lab: Lab, folder: Path) -> Path:
    """Copies what `lab` needs into `folder`, which then goes on the student's import path.

    Raises:
        ValueError: the lab provides a module that the library does not have, or one that brings expectations along.
    """
    modules = _closure([*map(_module_of, lab.provides), *STUDENTS_SIDE])
    if brought := [name for name in EXPECTATIONS if name in modules]:
        raise ValueError(f"lab {lab.name!r} provides modules that bring {', '.join(brought)} along")
    for name, path in modules.items():
        _write(folder, name, path.read_text(encoding="utf-8"))
    for package in {parent for name in modules for parent in _parents(name)}:
        _write(folder, f"{package}.__init__", _cut_down(package, modules))
        for data in _data_of(package):
            shutil.copytree(data, folder.joinpath(*package.split("."), data.name), dirs_exist_ok=True)
    _write(folder, "course_lib.checks.__init__", CHECKS_INIT)
    return folder


def _module_of(name: str) -> str:
    """The module or package that a provided name is or lies in: a lab may provide a single function of a module."""
    parts = name.split(".")
    for end in range(len(parts), 1, -1):
        if _path(".".join(parts[:end])):
            return ".".join(parts[:end])
    raise ValueError(f"{name!r} is provided, and course_lib has no such module")


def _closure(names: Iterable[str]) -> dict[str, Path]:
    """These modules, all modules of the packages among them, and whatever of ours they import."""
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if path is None or name in found:
            continue
        if path.name == "__init__.py":
            waiting += [f"{name}.{inner.stem}" for inner in path.parent.glob("*.py") if inner.stem != "__init__"]
            continue
        found[name] = path
        waiting += _imported(path)
    return dict(sorted(found.items()))


def _imported(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports; where it takes a name from a package, the module that the name comes from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _ours(node.module):
            package = _path(node.module)
            if package is None or package.name != "__init__.py":
                yield node.module
                continue
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _path(inner) else _exporter(package, alias.name)


def _exporter(package: Path, name: str) -> str:
    """The module from which a package's __init__ takes a name; "" if it defines it itself."""
    for node in ast.parse(package.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return node.module
    return ""


def _cut_down(package: str, modules: dict[str, Path]) -> str:
    """A package's __init__ without the imports that lead nowhere here."""
    tree = ast.parse(_path(package).read_text(encoding="utf-8"))  # type: ignore[union-attr]
    body: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and _ours(node.module):
            node.names = [
                alias for alias in node.names if node.module in modules or f"{node.module}.{alias.name}" in modules
            ]
            if not node.names:
                continue
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            continue  # it may speak of what is not here
        body.append(node)
    return ast.unparse(ast.Module(body, [])) + "\n"


def _data_of(package: str) -> Iterator[Path]:
    """Folders of data in a package, such as texts; never the frozen cases of labs."""
    folder = _path(package).parent  # type: ignore[union-attr]
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name not in ("cases", "__pycache__") and not (entry / "__init__.py").exists():
            yield entry


def _parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))


def _ours(name: str) -> bool:
    return name.split(".")[0] in ("course_lib", "autograder")


def _path(name: str) -> Path | None:
    """The file of a module of ours; it is not imported to find out."""
    first, *rest = name.split(".")
    if first not in ("course_lib", "autograder"):
        return None
    base = Path((course_lib if first == "course_lib" else autograder).__path__[0]).joinpath(*rest)
    found = [path for path in (base / "__init__.py", base.parent / f"{base.name}.py") if path.is_file()]
    return found[0] if found else None


def _write(folder: Path, name: str, text: str) -> None:
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
