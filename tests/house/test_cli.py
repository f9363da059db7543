"""The `course` command: light to start, and a ValueError anywhere is one line to its user."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from course_lib.house import bundle, syllabus
from course_lib.house.cli import main

HEAVY = ["numpy", "torch", "matplotlib", "ipywidgets", "IPython", "nbgrader", "nbformat", "jupytext"]


def test_help_names_every_command_and_loads_nothing_heavy():
    program = (
        "import sys\nfrom course_lib.house.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"print('loaded:', [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert all(command in done.stdout for command in ("start", "doctor", "sync", "map", "bundle"))
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
