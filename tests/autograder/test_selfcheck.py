"""The self-check finds what is wrong with a lab: one fault planted at a time."""

import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder import selfcheck as module
from autograder.cli import main
from autograder.selfcheck import lab_faults, selfcheck
from course_lib.checks import labs
from tests.autograder.submissions import RELEASE, SOURCE

LABS = sorted(path.parent.name for path in SOURCE.parent.glob("*/checks.py"))

CHECKS = '''
from course_lib.checks import Lab, case

lab = Lab("lab_small", "Small", minutes=1)


@lab.check(points=2, target="double(n)")
def double(draw):
    """Twice the number."""
    yield case("three", (3,), expect=6)
    yield case("any", (n := draw.integers(10, 99),), expect=2 * n)


@lab.check(points=1, target="negate(n)")
def negate(draw):
    """The number with the other sign."""
    yield case("three", (3,), expect=-3)
'''
NOTEBOOK = """
# %%
from course_lib.checks import lab

check = lab("lab_small")

# %%
def double(n):
    ### BEGIN SOLUTION
    return 2 * n
    ### END SOLUTION

# %%
check.double(double)

# %%
def negate(n):
    ### BEGIN SOLUTION
    return -n
    ### END SOLUTION

# %%
check.negate(negate)
"""
WRONG = '"""Gives {text}."""\nreplaces = ["{name}"]\nloses = {loses}\n\ndef {name}(n):\n    {body}\n'


class Course:
    """A small lab in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "solutions" / "lab_small"
        (self.folder / "known_wrong").mkdir(parents=True)
        self.release = folder / "labs" / "lab_small" / "lab_small.ipynb"
        self.release.parent.mkdir(parents=True)
        self.write("checks.py", CHECKS)
        self.write("lab_small.py", NOTEBOOK)
        self.hand_out(
            NOTEBOOK.replace("return 2 * n", "raise NotImplementedError").replace(
                "return -n", "raise NotImplementedError"
            )
        )
        self.wrong("square", "double", "return n * n", {"double": 2.0})
        self.wrong("only_three", "double", "return 6", {"double": 1.0})
        self.wrong("same", "negate", "return n", {"negate": 1.0})

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def wrong(self, file: str, name: str, body: str, loses: dict) -> None:
        self.write(f"known_wrong/{file}.py", WRONG.format(text=file, name=name, body=body, loses=loses))

    def hand_out(self, text: str) -> None:
        import jupytext

        jupytext.write(jupytext.reads(text, "py:percent"), self.release)

    def faults(self, seeds: int = 2) -> dict[str, list[str]]:
        rows = selfcheck(self.folder, self.release, list(range(seeds)))
        return {row.name: row.faults for row in rows if row.faults}


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def test_a_lab_that_tells_right_from_wrong_has_no_faults(course):
    assert course.faults() == {}
    assert lab_faults(course.folder, labs.load(course.folder)) == []


def test_a_solution_that_does_not_score_everything_is_found(course):
    course.write("lab_small.py", NOTEBOOK.replace("return -n", "return 0"))
    assert "negate scores 0, must score 1" in course.faults()["solution"][0]


def test_a_release_that_scores_is_found(course):
    course.hand_out(NOTEBOOK)
    assert "double scores 2, must score 0" in course.faults()["release"][0]


def test_a_release_that_is_not_there_is_said(course):
    course.release.unlink()
    assert "run `course sync`" in course.faults()["release"][0]


def test_a_known_wrong_answer_must_lose_exactly_what_it_says(course):
    course.wrong("only_three", "double", "return 6", {"double": 0.5})
    assert course.faults() == {
        "only_three": [f"seed {seed}: double scores 1, must score 1.5" for seed in (0, 1)],
    }


def test_a_known_wrong_answer_that_loses_elsewhere_too_is_found(course):
    course.write("lab_small.py", NOTEBOOK.replace("return -n", "return n - double(n)"))
    found = course.faults(1)
    assert any("negate scores 0, must score 1" in fault for fault in found["square"])


def test_a_known_wrong_answer_for_a_check_that_is_not_there_is_found(course):
    course.wrong("lost", "double", "return 0", {"halve": 1.0})
    assert "'halve'" in course.faults()["lost"][0]


def test_an_answer_that_hangs_is_stopped_and_the_next_is_unhurt(course, monkeypatch):
    monkeypatch.setattr(module, "DEADLINE_S", 2)
    course.wrong("hangs", "double", "while True: pass", {"double": 2.0})
    found = course.faults(1)
    assert found == {"hangs": ["seed 0: ran for more than 2 s"]}


def test_an_answer_that_ends_its_process_is_reported_and_the_next_is_unhurt(course):
    course.wrong("dies", "double", "import os; os._exit(7)", {"double": 2.0})
    found = course.faults(2)
    assert found == {"dies": ["seed 0: the process died (exit code 7)", "seed 1: not run"]}


def test_a_case_that_cannot_be_made_is_the_authors_fault(course):
    course.write("checks.py", CHECKS.replace("expect=-3", "expect=undefined"))
    assert "the lab's cases could not be made: NameError" in course.faults(1)["solution"][0]


def test_a_case_that_is_right_under_some_seeds_only_is_found(course):
    course.write("checks.py", CHECKS.replace("expect=2 * n", "expect=2 * n if n < 90 else 0"))
    assert any("double scores 1, must score 2" in fault for fault in course.faults(40)["solution"])


def test_too_few_known_wrong_answers_and_a_check_without_one_are_found(course):
    (course.folder / "known_wrong" / "same.py").unlink()
    faults = lab_faults(course.folder, labs.load(course.folder))
    assert faults == ["2 known-wrong answers; a lab needs 3", "no known-wrong answer loses a point on negate"]


@pytest.mark.parametrize("lab", LABS)
def test_a_real_lab_tells_right_from_wrong(lab):
    result = CliRunner().invoke(main, ["selfcheck", lab, "--seeds", "1", "--first-seed", "3"])
    assert result.exit_code == 0, result.output
    assert "✓ tells right from wrong" in result.output
    assert "a person grades: " in result.output


@pytest.mark.slow
@pytest.mark.parametrize("lab", LABS)
def test_a_real_lab_does_so_under_twenty_seeds(lab):
    release = RELEASE.parents[1] / lab / f"{lab}.ipynb"
    rows = list(selfcheck(SOURCE.parent / lab, release, list(range(1000, 1020))))
    assert len(rows) > 10
    assert not [fault for row in rows for fault in row.faults]


def test_the_command_fails_when_a_lab_does(course, monkeypatch):
    from course_lib.house import paths

    (course.folder.parents[1] / "lectures").mkdir()
    monkeypatch.setattr(paths, "root", lambda: course.folder.parents[1])
    assert CliRunner().invoke(main, ["selfcheck", "--seeds", "1"]).exit_code == 0
    course.wrong("same", "negate", "return n", {"negate": 0.5})
    result = CliRunner().invoke(main, ["selfcheck", "--seeds", "1"])
    assert result.exit_code == 1
    assert "✗ does not pass" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"), [(["lab99"], "there is no lab lab99"), (["--seeds", "0"], "at least 1")]
)
def test_a_call_that_makes_no_sense_is_answered_in_a_line(arguments, words):
    result = CliRunner().invoke(main, ["selfcheck", *arguments])
    assert result.exit_code != 0
    assert words in result.output
