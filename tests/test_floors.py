"""Imports go down the floors: the contracts of `.importlinter`, and that they cover every room there is."""

import configparser
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
MECHANISMS = ("tokenization", "positions", "attention", "cache", "costs", "decoding", "speculation", "ssm")
ABOVE_THE_MECHANISMS = {"house", "checks", "explore", "serving"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("course_lib", "autograder", cache_dir=None)


def test_every_import_goes_down():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    done = subprocess.run([*command, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_mechanism_is_held_to_draw_nothing(graph):
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    held = set(contracts["importlinter:contract:mechanisms-draw-nothing"]["source_modules"].split())
    rooms = {child for child in graph.find_children("course_lib") if child.split(".")[1] not in ABOVE_THE_MECHANISMS}
    assert held == rooms


def test_no_mechanism_reaches_into_the_insides_of_a_sibling(graph):
    """What a sibling offers stands in its package; its modules are its own affair."""

    def room(module: str) -> str:
        return module.split(".")[1] if module.count(".") else ""

    reached = [
        f"{module} imports {target}"
        for module in sorted(graph.modules)
        for target in sorted(graph.find_modules_directly_imported_by(module))
        if {room(module), room(target)} <= set(MECHANISMS) and room(module) != room(target) and target.count(".") > 1
    ]
    assert not reached
