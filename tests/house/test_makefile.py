"""make: a bare one lists what there is, every target passes on what was set, and no Python is one line."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None and "CI" not in os.environ, reason="no make here")


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | environment
    return subprocess.run(["make", *arguments], cwd=ROOT, env=own, capture_output=True, text=True)


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


def test_browser_and_port_reach_the_command():
    done = make("-n", "start", "BROWSER=none", "PORT=8899")
    assert '.venv/bin/course start --browser "none" --port "8899"' in done.stdout
    assert "--port" not in make("-n", "start", "PORT=").stdout


def test_no_python_at_all_is_one_line():
    shell = shutil.which("sh")
    done = make("start", "PY=", PATH=str(Path(shell).parent) if shell else "")
    assert done.returncode != 0
    assert "install Python 3.11 or newer" in done.stderr
    assert done.stderr.count("\n") <= 2


def test_test_runs_everything_that_must_hold():
    done = make("-n", "test")
    for part in ("course sync --check", "ruff check", "ruff format --check", "lint-imports", "mypy", "pytest"):
        assert part in done.stdout
    assert '-m "not slow"' in done.stdout
    assert "pytest -m slow" in make("-n", "check-all").stdout


def test_ci_calls_make_test_and_lets_no_test_be_skipped():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"]).returncode == 0
    assert "export CI=1" in script
    assert script.rstrip().endswith("exec make test")
