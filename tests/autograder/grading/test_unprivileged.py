"""`autograder release` and `autograder grade` as an ordinary user runs them, and where a container or a kernel allows less.

Where the tests run as root, another user's process carries the commands out, in a home of its own; else they run as we are. What
a machine refuses is refused by the kernel itself, under a filter that every process of the command inherits.
"""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.evidence import Receipt
from autograder.records.receipts import Receipts
from autograder.sandbox import identity, probe, seccomp
from course_lib.house import sync
from tests.autograder.grading.conftest import FOLDER
from tests.autograder.sandbox.boxes import ROOT, open_interpreter, other_process

LAB = FOLDER.name
COMMAND = [sys.executable, "-c", "from autograder.cli import main; main()"]
PERSON = 23456
"""The number of a user whom this machine need not know by name."""
PATIENCE = 300
SPY = """
import os, pathlib
for path in ({course!r} + "/secret.json", {course!r} + "/gradebook.db", {handed_in!r} + "/ada.ipynb"):
    try: print("seen:", pathlib.Path(path).read_bytes()[:500])
    except OSError as error: print("refused:", type(error).__name__)
for folder in ({course!r}, {handed_in!r}, {outside!r}, {home!r}, "/tmp"):
    try: pathlib.Path(folder, "spy-was-here").write_text("x")
    except OSError as error: print("refused:", type(error).__name__)
"""


def as_docker() -> None:
    """Refuses what Docker's own filter refuses, namespaces among it."""
    identity.forbid_new_privileges()
    seccomp.apply(seccomp.program(network=True))


def without_landlock() -> None:
    """Answers as a kernel that is too old for it does."""
    identity.forbid_new_privileges()
    number = seccomp._step(seccomp.LOAD, seccomp.NUMBER_AT)
    refused = seccomp._all("landlock_create_ruleset", errno.ENOSYS)
    seccomp.apply(b"".join([number, *refused, seccomp._step(seccomp.RETURN, seccomp.ALLOW)]))


def clone(folder: Path) -> None:
    """A course's repository with one lab in it."""
    for name in ("course_lib", "autograder", f"solutions/{LAB}", f"labs/{LAB}"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "lectures").mkdir()
    for name in ("pyproject.toml", "lectures/syllabus.toml"):
        shutil.copy(ROOT / name, folder / name)
    for path in (folder / "course_lib" / "checks" / "cases").glob("lab*.json"):
        if path.stem != LAB:
            path.unlink()


class Home:
    """A user's home, with a clone of the course and what was handed in; beside it a folder in which anyone may write."""

    def __init__(self, above: Path, uid: int) -> None:
        self.uid = uid
        self.path, self.outside = above / "home", above / "outside"
        names = ("clone", "grading", "handed_in", "tmp")
        self.clone, self.course, self.handed_in, self.tmp = (self.path / name for name in names)
        for folder in (self.path, self.outside, self.handed_in, self.tmp):
            folder.mkdir()
        self.outside.chmod(0o777)
        clone(self.clone)
        _, right = sync.marked_notebook(ROOT, FOLDER)
        untouched = nbformat.read(ROOT / "labs" / LAB / f"{LAB}.ipynb", as_version=4)
        nbformat.write(right, self.handed_in / "ada.ipynb")
        nbformat.write(untouched, self.handed_in / "ben.ipynb")
        places = {name: str(getattr(self, name)) for name in ("course", "handed_in", "outside")} | {
            "home": str(self.path)
        }
        right.cells.append(nbformat.v4.new_code_cell(SPY.format(**places)))
        nbformat.write(right, self.handed_in / "eve.ipynb")
        for path in (self.path, *self.path.rglob("*")):
            os.chown(path, uid, uid)

    def process(self, body: Callable[[], Any], first: Callable[[], None] = lambda: None) -> Any:
        """What `body` returns in a process of the user's, after `first`."""

        def whole() -> Any:
            if self.uid != os.geteuid():
                open_interpreter()
                identity.drop(self.uid, self.uid)
                identity.make_dumpable()
            os.chdir(self.clone)
            first()
            return body()

        return other_process("as we are", whole, seconds=PATIENCE)

    def run(self, *words: str, first: Callable[[], None] = lambda: None) -> list:
        """The exit status of an `autograder` command, and what it said."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "TMPDIR": str(self.tmp),
            "PYTHONPATH": str(self.clone),
        }

        def body() -> list:
            command = [*COMMAND, *words, "--course", str(self.course)]
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            return [done.returncode, done.stdout + done.stderr]

        return self.process(body, first)

    def grade(self, *words: str, first: Callable[[], None] = lambda: None) -> list:
        return self.run("grade", LAB, str(self.handed_in), "--seed", "5", *words, first=first)

    def receipts(self) -> dict[str, Receipt]:
        store = Receipts(self.course)
        found = {student: store.read(LAB, student) for student in ("ada", "ben", "eve")}
        return {student: receipt for student, receipt in found.items() if receipt}


def made(uid: int) -> Iterator[Home]:
    above = Path(os.path.realpath(tempfile.mkdtemp(prefix="unprivileged-")))
    above.chmod(0o755)
    try:
        home = Home(above, uid)
        code, said = home.run("release", LAB)
        assert code == 0, said
        yield home
    finally:
        shutil.rmtree(above)


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    yield from made(PERSON if os.geteuid() == 0 else os.geteuid())


def expect_right_scores(home: Home, level: str) -> None:
    """Everyone has their points and the level; the spy has seen nothing, and nothing lies where it should not."""
    receipts = home.receipts()
    assert {student: (one.score, one.level) for student, one in receipts.items()} == {
        "ada": (18, level),
        "ben": (0, level),
        "eve": (18, level),
    }
    notebook = nbformat.read(home.course / "autograded" / "eve" / LAB / f"{LAB}.ipynb", as_version=4)
    shown = repr([cell.get("outputs") for cell in notebook.cells])
    assert "seen: " not in shown
    assert shown.count("refused: ") == 8
    assert not [path for path in home.path.parent.rglob("spy-was-here")]
    assert not Path("/tmp/spy-was-here").exists()
    there = sorted(path.name for path in home.path.iterdir() if not path.name.startswith("."))
    assert there == ["clone", "grading", "handed_in", "tmp"]
    assert list(home.outside.iterdir()) == []
    assert list(home.tmp.iterdir()) == []


def test_an_ordinary_user_grades_at_the_best_level_that_the_machine_gives(home: Home):
    level = home.process(lambda: probe().level)
    assert level in ("B", "C")
    code, said = home.grade()
    assert code == 0, said
    assert said.startswith(f"level {level}: ")
    assert level == "C" or "identity: only root may become another user" in said
    expect_right_scores(home, level)
    assert {path.stat().st_uid for path in home.course.rglob("*")} == {home.uid}


@pytest.mark.slow
def test_where_namespaces_are_refused_everything_is_graded_at_level_c(home: Home):
    code, said = home.grade(first=as_docker)
    assert code == 0, said
    assert said.startswith("level C: ")
    assert "(as before)" not in said, "what was graded at another level is graded again"
    expect_right_scores(home, "C")


def test_where_too_little_holds_it_off_nothing_is_graded_without_trust(home: Home):
    before = home.receipts()
    code, said = home.grade(first=without_landlock)
    assert code == 1
    assert said.startswith("Error: level D: landlock: ")
    assert said.rstrip("\n").endswith("Grade with --trusted only what you would run yourself")
    assert said.count("\n") == 1
    assert home.receipts() == before


@pytest.mark.slow
def test_what_is_trusted_is_graded_at_level_d_and_says_so(home: Home):
    """The spy is left out: it is not to be trusted."""
    spy = home.handed_in / "eve.ipynb"
    spy.rename(home.path.parent / "eve.ipynb")
    try:
        code, said = home.grade("--trusted", first=without_landlock)
    finally:
        (home.path.parent / "eve.ipynb").rename(spy)
    assert code == 0, said
    assert said.startswith("level D: landlock: ")
    found = {student: (one.score, one.level) for student, one in home.receipts().items() if student != "eve"}
    assert found == {"ada": (18, "D"), "ben": (0, "D")}


@pytest.mark.slow
def test_root_in_a_container_without_namespaces_grades_at_level_c():
    """Its submissions are another user's where that one can reach the interpreter; else a line says that it cannot."""
    for home in made(os.geteuid()):
        code, said = home.grade(first=as_docker)
        assert code == 0, said
        assert said.startswith("level C: ")
        expect_right_scores(home, "C")
