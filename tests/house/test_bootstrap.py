"""The set-up makes an environment, knows when there is nothing to do, and says each thing that stops it in one line.

pip is played by a script: what it would write is put into its mouth.
"""

import ast
import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.house import bootstrap

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "course_lib" / "house" / "bootstrap.py"
PYPROJECT = """
[project]
name = "small"
[project.optional-dependencies]
lab = ["jupyterlab"]
grade = []
[tool.course]
repository = ""
"""
FAKE_PYTHON = """#!/bin/sh
# Answers as the interpreter of a new virtual environment would; `-m pip` does what pip.sh beside the course says.
case "$*" in
  *"-m venv"*)
    for folder; do :; done
    mkdir -p "$folder/bin"; touch "$folder/pyvenv.cfg"
    cp "$0" "$folder/bin/python"; cp "$0" "$folder/bin/pip" ;;
  *"-m pip"*) echo "$*" >> "{root}/pip.log"; . "{root}/pip.sh" ;;
  *-c*) echo "$0"; echo {major}; echo {minor}; echo {venv} ;;
esac
"""


class Course:
    """A folder with the set-up script, a pretended interpreter and a pretended pip."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "course_lib" / "house").mkdir(parents=True)
        shutil.copy(SOURCE, root / "course_lib" / "house")
        (root / "pyproject.toml").write_text(PYPROJECT)
        (root / "constraints.txt").write_text("numpy==2.0\n")
        self.python = self.fake("python3")
        self.pip("exit 0")

    def fake(self, name: str, version: tuple[int, int] = (3, 12), venv: int = 1) -> Path:
        path = self.root / "fakes" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(FAKE_PYTHON.format(root=self.root, major=version[0], minor=version[1], venv=venv))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def pip(self, script: str) -> None:
        (self.root / "pip.sh").write_text(script + "\n")

    def start(self, *extras: str, python: Path | str | None = None, **variables: str) -> subprocess.Popen:
        environment = {"PATH": os.environ["PATH"], "PYTHON": str(python or self.python)} | variables
        command = [sys.executable, str(self.root / "course_lib/house/bootstrap.py"), *extras]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True, cwd="/")

    def run(self, *extras: str, **options) -> subprocess.CompletedProcess:
        process = self.start(*extras, **options)
        output, errors = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    @property
    def pip_calls(self) -> list[str]:
        log = self.root / "pip.log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path.resolve())


@pytest.fixture
def on_path(course, monkeypatch):
    """Makes the course's pretended interpreters the only ones on this machine."""
    monkeypatch.delenv("PYTHON", raising=False)
    monkeypatch.setenv("PATH", str(course.python.parent))
    monkeypatch.setattr(bootstrap, "USUAL_PLACES", [])
    monkeypatch.setattr(sys, "executable", "")
    course.python.unlink()
    return course


def one_line(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("course set-up: ")
    return done.stderr


def test_it_parses_where_python_is_old_and_needs_nothing_installed():
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 6))
    imported = {
        alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= set(sys.stdlib_module_names)


def test_the_first_run_installs_with_the_constraints_and_the_second_does_nothing(course):
    first = course.run("lab", "test")
    assert first.returncode == 0, first.stderr
    assert len(course.pip_calls) == 1
    assert "-c constraints.txt -e .[lab]" in course.pip_calls[0]  # there is no extra called test here
    assert course.run("lab").stdout == ""
    assert len(course.pip_calls) == 1


def test_where_nothing_changed_no_other_program_is_run(course, monkeypatch):
    course.run("lab")
    monkeypatch.delenv("PYTHON", raising=False)
    for name in ("run", "Popen"):
        monkeypatch.setattr(bootstrap.subprocess, name, lambda *_, **__: pytest.fail("a program was run"))
    bootstrap.set_up(str(course.root), ["lab"])


def test_the_index_that_torch_comes_from_can_be_named(course):
    course.run("lab", TORCH_INDEX="https://example.org/cpu")
    assert course.pip_calls[0].endswith(" --extra-index-url https://example.org/cpu")


@pytest.mark.parametrize("change", ["constraints", "packages", "extras", "moved", "python"])
def test_what_changes_the_install_is_installed_again(course, change, tmp_path_factory):
    course.run("lab")
    python, extras = course.python, ["lab"]
    if change == "constraints":
        (course.root / "constraints.txt").write_text("numpy==2.1\n")
    elif change == "packages":
        (course.root / "pyproject.toml").write_text(
            PYPROJECT.replace('name = "small"', 'name = "small"\ndependencies = ["x"]')
        )
    elif change == "extras":
        extras = ["lab", "grade"]
    elif change == "python":
        python = course.fake("python-other", version=(3, 13))
    else:
        moved = tmp_path_factory.mktemp("moved") / "course"
        shutil.copytree(course.root, moved)
        course.root = moved
        course.python = python = course.fake("python3")
    before = len(course.pip_calls)
    done = course.run(*extras, python=python)
    assert done.returncode == 0
    assert len(course.pip_calls) == before + 1
    # pip can change what is installed, but not the folder or the interpreter that an environment is tied to.
    assert ("making .venv" in done.stdout) == (change in ("moved", "python"))


def test_a_setting_of_the_course_is_no_reason_to_install_again(course):
    course.run("lab")
    (course.root / "pyproject.toml").write_text(PYPROJECT.replace('repository = ""', 'repository = "o/r"'))
    course.run("lab")
    assert len(course.pip_calls) == 1


def test_an_install_that_was_killed_is_started_over(course):
    course.pip('echo "Installing collected packages: numpy"; kill -9 $$')
    assert course.run("lab").returncode == 1
    (course.root / ".venv" / "half").touch()
    course.pip("exit 0")
    assert course.run("lab").returncode == 0
    assert not (course.root / ".venv" / "half").exists()
    assert json.loads((course.root / ".venv" / "course-install.json").read_text())["state"] == "ready"


def test_a_killed_set_up_and_an_environment_whose_python_went_away_are_made_anew(course):
    killer = course.fake("killer")
    killer.write_text(killer.read_text().replace("mkdir -p", "kill -9 $PPID; exit; mkdir -p"))
    assert course.run("lab", python=killer).returncode == -9
    assert "making .venv" in course.run("lab").stdout
    (course.root / ".venv" / "bin" / "python").unlink()
    assert "making .venv" in course.run("lab").stdout
    assert len(course.pip_calls) == 2


def test_two_set_ups_at_once_install_once(course):
    course.pip(f'while [ ! -e "{course.root}/go" ]; do sleep 0.05; done')
    first = course.start("lab")
    while not course.pip_calls and first.poll() is None:
        time.sleep(0.02)
    second = course.start("lab")
    assert second.stdout.readline() == "another set-up is at work here: waiting for it\n"
    (course.root / "go").touch()
    assert [process.communicate()[1] for process in (first, second)] == ["", ""]
    assert [first.returncode, second.returncode] == [0, 0]
    assert len(course.pip_calls) == 1


@pytest.mark.parametrize(
    ("pip_says", "line"),
    [
        (
            "WARNING: Retrying (Retry(total=4)) after connection broken\nERROR: No matching distribution",
            "no network",
        ),
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "the disk is full"),
        ("ssl.SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED", "certificate"),
        ("OSError: [Errno 13] Permission denied", "no permission to write"),
        ("ERROR: Cannot install numpy==9: conflicting", "pip failed: Cannot install numpy==9: conflicting"),
    ],
)
def test_what_stops_pip_is_one_line_that_names_the_log(course, pip_says, line):
    course.pip(f"cat <<'END'\n{pip_says}\nEND\nexit 1")
    said = one_line(course.run("lab"))
    assert line in said
    log = said.rpartition("the whole log: ")[2].strip().rstrip(")")
    assert pip_says.splitlines()[0] in Path(log).read_text()


def test_a_failed_install_is_tried_again(course):
    course.pip("exit 1")
    course.run("lab")
    course.pip("exit 0")
    assert course.run("lab").returncode == 0


def test_an_update_that_pip_could_not_begin_leaves_what_was_there(course):
    course.run("lab")
    (course.root / "constraints.txt").write_text("numpy==2.1\n")
    course.pip("echo 'WARNING: Retrying (Retry(total=4))'; exit 1")
    assert "no network" in one_line(course.run("lab"))
    (course.root / "constraints.txt").write_text("numpy==2.0\n")
    assert course.run("lab").stdout == ""
    assert len(course.pip_calls) == 2


def test_the_first_python_that_will_do_is_found_behind_shims_and_old_ones(on_path):
    on_path.fake("python3").write_text("#!/bin/sh\necho 'python3: command not found' >&2\nexit 127\n")
    on_path.fake("python3.13", venv=0)
    expected = on_path.fake("python3.12")
    on_path.fake("python3.11", version=(3, 11))
    assert bootstrap.find_python().path == str(expected)


def test_a_python_newer_than_the_tested_ones_is_taken_only_where_there_is_no_other(on_path):
    newer, tested = on_path.fake("python3", version=(3, 14)), on_path.fake("python3.11", version=(3, 11))
    assert bootstrap.find_python().path == str(tested)
    tested.unlink()
    assert bootstrap.find_python().path == str(newer)


def test_where_every_python_is_old_the_line_names_the_newest(on_path):
    on_path.fake("python3", version=(3, 8))
    on_path.fake("python3.11", version=(3, 10))
    with pytest.raises(bootstrap.SetupError, match=r"^no Python 3.11 or newer here, the newest is .*3\.10.: install"):
        bootstrap.find_python()


def test_a_named_python_that_will_not_do_is_one_line_that_says_what_is_needed(course):
    old, bare = course.fake("python-old", version=(3, 9)), course.fake("python-bare", venv=0)
    assert "is Python 3.9: Python 3.11 or newer is needed" in one_line(course.run("lab", python=old))
    assert "does not run: Python 3.11 or newer" in one_line(course.run("lab", python=course.root / "nowhere"))
    assert "sudo apt install python3.12-venv" in one_line(course.run("lab", python=bare))
    assert not (course.root / ".venv").exists()


def test_a_folder_that_is_no_environment_is_left_alone(course):
    (course.root / ".venv").mkdir()
    (course.root / ".venv" / "thesis.txt").write_text("all of it")
    assert "is not a virtual environment: move it away" in one_line(course.run("lab"))
    assert (course.root / ".venv" / "thesis.txt").read_text() == "all of it"


def test_a_file_in_the_environments_place_is_left_alone(course):
    (course.root / ".venv").write_text("all of it")
    assert "is not a virtual environment: move it away" in one_line(course.run("lab"))
    assert (course.root / ".venv").read_text() == "all of it"


def test_no_permission_to_write_is_one_line(course, monkeypatch, capsys):
    """Asked of os.access: the tests may run as root, whom no mode bits stop."""
    monkeypatch.setattr(bootstrap.os, "access", lambda path, mode: False)
    with pytest.raises(bootstrap.SetupError, match=r"no permission to write in .*: copy the course"):
        bootstrap.set_up(str(course.root), ["lab"])


def test_windows_is_told_where_to_go(course, monkeypatch):
    monkeypatch.setattr(bootstrap.os, "name", "nt")
    with pytest.raises(bootstrap.SetupError, match="use WSL"):
        bootstrap.set_up(str(course.root), ["lab"])


@pytest.mark.parametrize(
    ("stopped_by", "status", "line"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "the disk is full"),
        (OSError(errno.EROFS, "Read-only file system", "/course/.venv"), 1, "Read-only file system: '/course/.venv'"),
        (KeyboardInterrupt(), 130, "stopped; the next run starts the install over"),
    ],
)
def test_what_stops_the_set_up_itself_is_one_line(course, monkeypatch, capsys, stopped_by, status, line):
    def stop(*_, **__):
        raise stopped_by

    monkeypatch.setattr(bootstrap, "__file__", str(course.root / "course_lib/house/bootstrap.py"))
    monkeypatch.setenv("PYTHON", str(course.python))
    monkeypatch.setattr(bootstrap.os, "makedirs", stop)
    assert bootstrap.main(["lab"]) == status
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("word", ["--help", "labs", "start"])
def test_a_word_that_is_no_extra_installs_nothing(course, word):
    done = course.run(word)
    assert done.returncode == 2
    assert done.stderr == f"course set-up: {word!r} is no extra; there is lab, grade, test\n"
    assert course.pip_calls == []
    assert not (course.root / ".venv").exists()
