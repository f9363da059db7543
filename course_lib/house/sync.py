"""Generates what is generated: lecture notebooks, the students' lab notebooks, and the visible cases of their checks.

It runs one way, from source to product. A product that was edited or merely touched never flows back; a product whose source
and bytes are as they were is not made again, nor are the libraries imported that would make it.

    lectures/NN_name.py     →  lectures/NN_name.ipynb
    solutions/<lab>/        →  labs/<lab>/<lab>.ipynb  and  course_lib/checks/cases/<lab>.json
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.files import replace_file
from course_lib.house import notebooks
from course_lib.house.paths import root as course_root

if TYPE_CHECKING:
    from course_lib.checks.definition import Lab

PACKAGE = Path(__file__).resolve().parents[1]
STATE = Path(".course/sync.json")


@dataclass(frozen=True)
class Job:
    """Some files made together: what they are made from, where they go, and how (a text for each output)."""

    name: str
    inputs: list[Path]
    outputs: list[Path]
    make: Callable[[], list[str]]


def run(root: Path | None = None, check: bool = False, force: bool = False) -> int:
    """Brings every generated file up to date and returns how many were written, naming each on standard output.

    root   the course's folder; by default the one found from here
    check  write no product; the number is that of the files that would change, stale ones included
    force  make everything again, also what seems up to date

    A student's copy has no sources, so there is nothing to do. Raises ValueError where a lab and its notebook disagree.
    """
    root = root or course_root()
    if root is None:
        raise ValueError("course sync needs the course's folder: run it inside one")
    root = Path(root).resolve()
    if not (root / "solutions").is_dir():
        return 0
    known = {} if force else _remembered(root)
    fresh, changed = {}, 0
    jobs = [*_lectures(root), *_labs(root)]
    salts = _salts(root)
    for job in jobs:
        salt = salts[job.name.partition("/")[0]]
        if known.get(job.name) == _fingerprint(job, root, salt):
            fresh[job.name] = known[job.name]
            continue
        differ = [
            (path, text)
            for path, text in zip(job.outputs, _made(job), strict=True)
            if not path.is_file() or path.read_bytes() != text.encode()
        ]
        for path, text in differ:
            print(f"{'out of date' if check else 'wrote'}: {path.relative_to(root)}")
            if not check:
                write(path, text)
        changed += len(differ)
        if not (check and differ):
            fresh[job.name] = _fingerprint(job, root, salt)
    stale = _stale(root, {path for job in jobs for path in job.outputs})
    for path in stale:
        print(f"stale: {path.relative_to(root)} has no source any more; delete it")
    if fresh != known:
        with contextlib.suppress(OSError):  # a course that cannot be written: what is not remembered is made again
            write(root / STATE, json.dumps(fresh, indent=1) + "\n")
    return changed + len(stale) if check else changed


def marked_notebook(root: Path, folder: Path) -> "tuple[Lab, Any]":
    """The lab of an author's folder, and its notebook with the answers in it, as nbgrader wants its source."""
    from course_lib.checks import labs
    from course_lib.house.release import mark

    lab = labs.load(folder)
    notebook = notebooks.read(folder / f"{lab.name}.py")
    mark(notebook, lab)
    notebooks.fill_in(notebook, notebooks.home(root), f"labs/{lab.name}/{lab.name}.ipynb")
    points = int(lab.points) if lab.points == int(lab.points) else lab.points
    return lab, notebooks.settle(notebook, {"lab": lab.name, "points": points, "version": labs.version(folder)})


def write(path: Path, text: str) -> None:
    """Replaces a text file in one step."""
    replace_file(path, text.encode())


def _lectures(root: Path) -> Iterable[Job]:
    for source in sorted((root / "lectures").glob("[0-9][0-9]_*.py")):
        product = source.with_suffix(".ipynb")

        def make(source: Path = source, path: str = product.relative_to(root).as_posix()) -> list[str]:
            notebook = notebooks.read(source)
            notebooks.fill_in(notebook, notebooks.home(root), path)
            return [notebooks.text(notebooks.settle(notebook))]

        yield Job(f"lectures/{source.name}", [source], [product], make)


def _labs(root: Path) -> Iterable[Job]:
    for folder in sorted(path.parent for path in (root / "solutions").glob("*/checks.py")):
        notebook = root / "labs" / folder.name / f"{folder.name}.ipynb"
        cases = root / "course_lib/checks/cases" / f"{folder.name}.json"
        inputs = [
            path for path in sorted(folder.rglob("*")) if path.suffix not in (".pyc", ".ipynb") and path.is_file()
        ]

        def make(folder: Path = folder, cases: Path = cases) -> list[str]:
            return _lab(root, folder, cases)

        yield Job(f"labs/{folder.name}", inputs, [notebook, cases], make)


def _lab(root: Path, folder: Path, cases: Path) -> list[str]:
    """The text of a lab's notebook and of its frozen cases."""
    from course_lib.checks import frozen, labs, variants
    from course_lib.house.release import release

    lab, source = marked_notebook(root, folder)
    released = notebooks.settle(release(source, lab.name), source.metadata["course"])
    new = frozen.freeze(lab, labs.version(folder), variants.mistakes(lab, folder))
    text = frozen.dump(new)
    if cases.is_file():
        old = cases.read_text(encoding="utf-8")
        # Another processor rounds exp() differently: that alone is no change.
        if _rounds_like(old, new):
            text = old
    return [notebooks.text(released), text]


def _rounds_like(old: str, new: dict) -> bool:
    """Whether a frozen file holds the new cases, in our form, up to the last bits of their numbers."""
    from course_lib.checks import frozen

    try:
        data = json.loads(old)
    except ValueError:
        return False
    return isinstance(data, dict) and frozen.dump(data) == old and frozen.same(data, new)


def _made(job: Job) -> list[str]:
    try:
        return job.make()
    except ModuleNotFoundError as error:
        if error.name in ("jupytext", "nbformat", "nbgrader"):
            raise ValueError(f"course sync needs {error.name}: install the course with its `grade` extra") from None
        raise
    except ValueError as error:
        raise ValueError(f"{job.name}: {error}") from error


def _stale(root: Path, products: set[Path]) -> list[Path]:
    lectures = root.glob("lectures/[0-9][0-9]_*.ipynb")
    released = (path for path in root.glob("labs/*/*.ipynb") if path.stem == path.parent.name)
    cases = root.glob("course_lib/checks/cases/*.json")
    return sorted({*lectures, *released, *cases} - products)


def _remembered(root: Path) -> dict[str, str]:
    try:
        known = json.loads((root / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _salts(root: Path) -> dict[str, str]:
    """What the products depend on besides their own source, by kind: this code, the tools, and where the course lives.

    A lab's cases may call any mechanism for what is right, so its salt covers the whole library.
    """
    tools = [f"{name} {_version(name)}" for name in ("jupytext", "nbformat", "nbgrader")]
    common = [*tools, repr(notebooks.home(root))]
    own = [Path(__file__), Path(notebooks.__file__)]
    return {
        "lectures": _digest(common, own, PACKAGE),
        "labs": _digest(common, sorted(PACKAGE.rglob("*.py")), PACKAGE),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _fingerprint(job: Job, root: Path, salt: str) -> str:
    return _digest([salt], [*job.inputs, *job.outputs], root)


def _digest(words: list[str], files: list[Path], root: Path) -> str:
    digest = hashlib.sha256("\0".join(words).encode())
    for path in files:
        digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b"missing")
    return digest.hexdigest()
