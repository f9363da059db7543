"""make and .ci/run: each target calls what it should with what was set, and what is missing is one line.

They are run in a folder with their own two files alone, where stand-ins note down how they were called.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None and "CI" not in os.environ, reason="no make here")


def make(*arguments: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | environment
    return subprocess.run(["make", *arguments], cwd=folder, env=own, capture_output=True, text=True)


def stand_in(path: Path, script: str = "", log: Path | None = None) -> None:
    """A program that notes its name and arguments in `log` and then does what `script` says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    note = f'echo "${{0##*/}} $*" >> "{log}"\n' if log else ""
    path.write_text(f"#!/bin/sh\n{note}{script}\n")
    path.chmod(0o755)


@pytest.fixture
def copy(tmp_path) -> Path:
    """The Makefile beside a set-up and an environment that only write their calls to `calls`."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "tests" / "benchmarks").mkdir(parents=True)
    bootstrap = tmp_path / "course_lib" / "house" / "bootstrap.py"
    bootstrap.parent.mkdir(parents=True)
    bootstrap.write_text("import sys\nprint('set-up', *sys.argv[1:], file=open('calls', 'a'))\n")
    for name in ("course", "ruff", "lint-imports", "mypy", "pytest"):
        stand_in(tmp_path / ".venv" / "bin" / name, log=tmp_path / "calls")
    return tmp_path


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def test_a_bare_make_lists_the_targets_with_what_they_do():
    done = make()
    assert done.returncode == 0
    listed = {line.split()[1]: line for line in done.stdout.splitlines() if line.strip()}
    assert {"start", "test", "check-all", "figures", "bench", "sync", "doctor", "clean"} <= set(listed)
    assert all(len(line.split()) > 3 for line in listed.values())


def test_the_students_copy_lists_only_what_a_student_can_do(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = subprocess.run(["make"], cwd=tmp_path, capture_output=True, text=True)
    assert "make start" in done.stdout
    assert "make test" not in done.stdout


def test_browser_and_port_reach_the_command_after_the_set_up(copy):
    assert make("start", "BROWSER=none", "PORT=8899", folder=copy).returncode == 0
    assert calls(copy) == ["set-up lab grade", "course start --browser none --port 8899"]
    (copy / "calls").unlink()
    assert make("start", folder=copy, BROWSER="", PORT="").returncode == 0
    assert calls(copy)[1].split() == ["course", "start", "--browser"]


@pytest.mark.parametrize(("target", "called"), [("doctor", "course doctor"), ("sync", "course sync")])
def test_a_target_calls_its_command_after_the_set_up(copy, target, called):
    assert make(target, folder=copy).returncode == 0
    assert calls(copy) == ["set-up lab grade", called]


def test_no_python_at_all_is_one_line(copy):
    done = make("start", "PY=", folder=copy)
    assert done.returncode == 2
    assert "install Python 3.11 or newer" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (copy / "calls").exists()


def test_a_named_python_that_is_not_there_is_one_line_before_makes_own(copy):
    shutil.copy(ROOT / "course_lib/house/bootstrap.py", copy / "course_lib/house/bootstrap.py")
    for name in ("pyproject.toml", "constraints.txt"):
        (copy / name).touch()
    done = make("start", f"PYTHON={copy}/nowhere", folder=copy)
    assert done.returncode == 2
    said, makes_own = done.stderr.splitlines()
    assert said == f"course set-up: PYTHON={copy}/nowhere does not run: Python 3.11 or newer is needed"
    assert makes_own.startswith("make: ***")


@pytest.mark.parametrize(
    ("target", "folder", "name"), [("figures", "figures", ""), ("bench", "tests/benchmarks", "bench_")]
)
def test_every_figure_and_every_benchmark_is_run_and_the_first_failure_stops(copy, target, folder, name):
    (copy / folder).mkdir(exist_ok=True)
    for letter in "abc":
        (copy / folder / f"{name}{letter}.py").touch()
    stand_in(copy / ".venv/bin/python", log=copy / "calls")
    assert make(target, folder=copy).returncode == 0
    assert calls(copy)[1:] == [f"python {folder}/{name}{letter}.py" for letter in "abc"]
    (copy / "calls").unlink()
    stand_in(copy / ".venv/bin/python", f"case $1 in *{name}b.py) exit 3;; esac", copy / "calls")
    assert make(target, folder=copy).returncode != 0
    assert calls(copy)[-1] == f"python {folder}/{name}b.py"


def test_clean_removes_what_tools_made_and_nothing_else(copy):
    kept = {path for path in copy.rglob("*") if path.is_file() and ".venv" not in path.parts}
    for name in (".course/sync.json", ".mypy_cache/x", "course_lib/__pycache__/x.pyc", "dist/x.whl"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).touch()
    assert make("clean", folder=copy).returncode == 0
    assert {path for path in copy.rglob("*") if path.is_file()} == kept


def test_test_runs_everything_that_must_hold_and_stops_at_what_does_not(copy):
    assert make("test", folder=copy).returncode == 0
    everything = [
        "set-up lab grade test",
        "course sync --check",
        "ruff check",
        "ruff format --check",
        "lint-imports ",
        "mypy ",
        "pytest -m not slow",
    ]
    assert calls(copy) == everything
    (copy / "calls").unlink()
    assert make("check-all", folder=copy).returncode == 0
    assert calls(copy) == [*everything, "pytest -m slow"]
    (copy / "calls").unlink()
    stand_in(copy / ".venv/bin/course", "exit 1", copy / "calls")
    assert make("test", folder=copy).returncode != 0
    assert calls(copy) == everything[:2]


@pytest.fixture
def ci(tmp_path) -> Callable[..., subprocess.CompletedProcess]:
    """Runs .ci/run, as user number `user`, on a machine that has the programs named and a python3 too old or not."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    programs = tmp_path / "programs"

    def run(*names: str, user: int = 0, python_fits: bool = False) -> subprocess.CompletedProcess:
        stand_in(programs / "id", f"echo {user}")
        stand_in(programs / "python3", "exit 0" if python_fits else "exit 1")
        stand_in(programs / "apt-get", log=tmp_path / "calls")
        for name in names:
            stand_in(programs / name, 'test "$CI" = 1', tmp_path / "calls")
        (programs / "dirname").symlink_to(shutil.which("dirname"))
        command = [shutil.which("bash"), tmp_path / ".ci" / "run"]
        return subprocess.run(command, env={"PATH": str(programs)}, cwd="/", capture_output=True, text=True)

    return run


def test_ci_installs_what_a_bare_machine_lacks_and_calls_make_test(ci, tmp_path):
    done = ci("make", "git")
    assert done.returncode == 0, done.stderr
    update, install, tests = calls(tmp_path)
    assert update == "apt-get -q update"
    assert install.endswith(" install python3 python3-venv chromium fonts-dejavu-core")
    assert tests == "make test"


@pytest.mark.parametrize("browser", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
def test_ci_installs_nothing_where_nothing_is_missing(ci, tmp_path, browser):
    assert ci("make", "git", browser, python_fits=True, user=1000).returncode == 0
    assert calls(tmp_path) == ["make test"]


def test_ci_names_what_it_may_not_install_in_one_line(ci, tmp_path):
    done = ci(user=1000)
    assert done.returncode == 1
    assert "missing here: make git python3 python3-venv chromium fonts-dejavu-core. Install them" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "calls").exists()


def test_a_failing_test_fails_ci(ci, tmp_path):
    stand_in(tmp_path / "programs" / "make", "exit 2")
    assert ci("git", "chromium", python_fits=True).returncode == 2
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
