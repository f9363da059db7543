"""The habits that keep the house one house: light imports, a whole wheel, small files, docstrings, no test left out."""

import ast
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
BUILT = {"__pycache__", "build", "dist", "node_modules"}
HEAVY = {"numpy", "torch", "matplotlib", "ipywidgets", "IPython", "nbgrader", "nbformat", "jupytext", "scipy", "PIL"}
DRAWING = {"matplotlib", "ipywidgets", "IPython", "nbgrader"}
ABOVE_THE_MECHANISMS = {"house", "checks", "serving"}

# A file that passes about 300 lines is two ideas; the exceptions say why they are one.
MOST_LINES = 330
LONGER = {
    "tests/browser/jupyter.py": "one harness: what starts JupyterLab also drives it and ends it",
}


def files(*patterns: str, under: tuple[str, ...] = (".",)) -> Iterator[Path]:
    """The repository's own files: nothing hidden, nothing that a tool has built."""
    for folder in under:
        for where, folders, names in os.walk(ROOT / folder):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in BUILT and "egg-info" not in f)
            for name in sorted(names):
                path = Path(where, name)
                if any(path.match(pattern) for pattern in patterns):
                    yield path


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


SOURCES = list(files("*.py", under=("course_lib", "autograder")))


# Imports


def imported_by(statement: str, *watched: str) -> tuple[set[str], float]:
    """Which of the watched packages a fresh interpreter has loaded after `statement`, and the seconds that it took."""
    program = (
        f"import json, sys, time; start = time.perf_counter(); {statement}; seconds = time.perf_counter() - start; "
        f"print(json.dumps([[name for name in {watched!r} if name in sys.modules], seconds]))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    found, seconds = json.loads(done.stdout)
    return set(found), seconds


def test_importing_the_course_loads_nothing_heavy():
    loaded, seconds = imported_by("import course_lib", *HEAVY)
    print(f"import course_lib: {1000 * seconds:.0f} ms")
    assert not loaded


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("course_lib.arrays", DRAWING | {"torch"}),
        ("course_lib.costs", DRAWING | {"torch"}),
        ("course_lib.tokenization", DRAWING | {"torch"}),
        ("course_lib.positions", DRAWING | {"torch"}),
        ("course_lib.house.cli", HEAVY),
        ("course_lib.explore", {"ipywidgets", "IPython", "nbgrader", "torch", "matplotlib.pyplot"}),
        ("course_lib.checks", {"ipywidgets", "nbgrader", "torch", "matplotlib.pyplot"}),
    ],
)
def test_a_room_loads_only_what_it_needs(module, unwanted):
    loaded, _ = imported_by(f"import {module}", *unwanted)
    assert not loaded


def test_numpy_arrays_are_worked_on_without_torch():
    loaded, _ = imported_by(
        "import numpy; from course_lib.arrays import softmax, to_numpy; to_numpy(softmax(numpy.ones(3)))", "torch"
    )
    assert not loaded


# What is installed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> set[str]:
    """The names in the wheel, built with what is installed, so that no network is needed."""
    target = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", str(ROOT), *options], check=True, capture_output=True)
    (path,) = target.glob("*.whl")
    return set(zipfile.ZipFile(path).namelist())


def test_the_wheel_holds_all_that_the_course_needs_to_run(wheel):
    needed = {name_of(path) for path in SOURCES}
    needed |= {
        name_of(path) for path in files("cases/*.json", "recorded/*.json", "samples/*.txt", under=("course_lib",))
    }
    assert needed <= wheel
    assert "course_lib/house/syllabus.toml" in wheel


def test_the_wheel_holds_no_answers_and_no_tests(wheel):
    rooms = {name.split("/")[0] for name in wheel}
    assert {room for room in rooms if not room.endswith(".dist-info")} == {"course_lib", "autograder"}


# Files


def test_no_file_is_larger_than_five_megabytes():
    assert not [name_of(path) for path in files("*") if path.stat().st_size > 5_000_000]


def test_a_file_of_many_lines_says_why_it_is_one_idea():
    folders = ("course_lib", "autograder", "tests", "figures")
    lines = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in files("*.py", under=folders)}
    assert {name for name, count in lines.items() if count > MOST_LINES} <= set(LONGER)


def test_text_files_end_their_lines_as_unix_does():
    texts = files("*.py", "*.md", "*.toml", "*.txt", "*.json", "*.ipynb", "*.svg", "Makefile")
    assert not [name_of(path) for path in texts if b"\r" in path.read_bytes()]


def test_every_file_has_a_name_that_says_what_it_is_about():
    assert not [name_of(path) for path in SOURCES if path.stem in {"utils", "util", "helpers", "misc", "common"}]


# Docstrings


KINDS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef


def offered(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The public functions and classes of a module, and the public methods of those classes."""
    for child in node.body:
        if isinstance(child, KINDS) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from offered(child)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_every_module_and_class_says_what_it_is_and_every_function_of_a_mechanism_what_it_does(path):
    tree = ast.parse(path.read_text("utf-8"))
    silent = [node for node in offered(tree) if not ast.get_docstring(node)]
    if name_of(path).split("/")[1] in ABOVE_THE_MECHANISMS or path.is_relative_to(ROOT / "autograder"):
        silent = [node for node in silent if isinstance(node, ast.ClassDef)]
    assert ast.get_docstring(tree) or not tree.body, "the module has no docstring"
    assert not [node.name for node in silent]


# No test is left out


@pytest.mark.parametrize(
    ("ci", "outcomes"),
    [("", {"passed": 1, "skipped": 2, "xfailed": 1}), ("1", {"passed": 1, "errors": 1, "failed": 1, "xfailed": 1})],
)
def test_in_ci_a_skipped_test_fails(pytester, monkeypatch, ci, outcomes):
    monkeypatch.setenv("CI", ci)
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text("utf-8"))
    pytester.makepyfile(
        """
        import pytest

        def test_runs(): pass

        @pytest.mark.skip(reason="no time")
        def test_never(): pass

        def test_not_here(): pytest.importorskip("a_package_that_is_missing")

        @pytest.mark.xfail
        def test_known(): assert False
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(**outcomes)
