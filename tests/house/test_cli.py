"""The `course` command: light to start, and a ValueError anywhere is one line to its user."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from course_lib.house import bundle, doctor, start, syllabus, sync
from course_lib.house.cli import main

HEAVY = ["numpy", "torch", "matplotlib", "ipywidgets", "IPython", "nbgrader", "nbformat", "jupytext"]


def test_help_names_every_command_and_loads_nothing_heavy():
    program = (
        "import sys\nfrom course_lib.house.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"print('loaded:', [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert all(command in done.stdout for command in ("start", "doctor", "sync", "map", "bundle", "fetch"))
    assert done.stdout.endswith("loaded: []\n")


@pytest.mark.parametrize(
    ("arguments", "module", "name"),
    [(["map", "77"], syllabus, "print_map"), (["bundle", "somewhere"], bundle, "make")],
)
def test_a_value_error_is_one_line(monkeypatch, arguments, module, name):
    def fail(*_):
        raise ValueError("the argument is 3, needs to be 4")

    monkeypatch.setattr(module, name, fail)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert result.output == "Error: the argument is 3, needs to be 4\n"


@pytest.mark.parametrize("command", ["start", "doctor", "sync", "map", "bundle"])
def test_every_command_explains_itself_without_running(command, monkeypatch):
    for module, name in [(doctor, "findings"), (syllabus, "print_map"), (sync, "run"), (bundle, "make")]:
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail(f"{command} --help ran {command}"))
    result = CliRunner().invoke(main, [command, "-h"])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) >= 5


@pytest.mark.parametrize(
    ("arguments", "changed", "status", "words"),
    [
        ([], 0, 0, "everything generated is up to date\n"),
        ([], 2, 0, "2 generated files rewritten\n"),
        (["--check"], 0, 0, "everything generated is up to date\n"),
        (["--check"], 1, 1, "Error: 1 generated file out of date: run `course sync`\n"),
    ],
)
def test_sync_says_how_many_files_and_its_check_fails_on_any(monkeypatch, arguments, changed, status, words):
    checked = []
    monkeypatch.setattr(sync, "run", lambda check: checked.append(check) or changed)
    result = CliRunner().invoke(main, ["sync", *arguments])
    assert (result.exit_code, result.output) == (status, words)
    assert checked == [bool(arguments)]


@pytest.mark.parametrize(("works", "status"), [(True, 0), (False, 1)])
def test_the_doctors_verdict_is_the_exit_status(monkeypatch, works, status):
    asked = []
    found = [doctor.Finding("torch", "there or not", works, needed=True)]
    monkeypatch.setattr(doctor, "findings", lambda quick: asked.append(quick) or found)
    assert CliRunner().invoke(main, ["doctor", "--quick"]).exit_code == status
    assert CliRunner().invoke(main, ["doctor"]).exit_code == status
    assert asked == [True, False]


@pytest.mark.parametrize("port", ["0", "65536", "eight"])
def test_a_port_that_is_none_is_refused(port, monkeypatch):
    monkeypatch.setattr(start, "run", lambda *_: pytest.fail("it was started"))
    result = CliRunner().invoke(main, ["start", "--port", port])
    assert result.exit_code == 2
    assert "--port" in result.output


def test_a_unit_that_is_not_there_is_named_beside_those_that_are():
    result = CliRunner().invoke(main, ["map", "77"])
    assert result.exit_code == 1
    assert "77" in result.output
    assert "12" in result.output


def test_the_map_prints_every_unit_and_its_state():
    result = CliRunner().invoke(main, ["map"])
    assert result.exit_code == 0
    assert all(f"{number:02d}  " in result.output for number in range(13))
    assert "(built" in result.output
    assert "(planned" in result.output
