"""The self-check finds what is wrong with a lab: one fault planted at a time."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.proving import apart
from autograder.proving.rows import Row
from autograder.proving.table import Table
from autograder.selfcheck import SelfCheck, lab_faults, selfcheck
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

    def rows(self, seeds: int = 2, **how: int) -> list[Row]:
        return list(selfcheck(self.folder, self.release, list(range(seeds)), **how))

    def faults(self, seeds: int = 2, **how: int) -> dict[str, list[str]]:
        return {row.name: row.faults for row in self.rows(seeds, **how) if row.faults}

    def checked(self, seeds: int = 2, **how: int) -> SelfCheck:
        lab = labs.load(self.folder)
        return SelfCheck(lab, self.rows(seeds, **how), lab_faults(self.folder, lab))


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
    assert course.faults() == {"only_three": ["double scores 1, must score 1.5 (seeds 0, 1)"]}


def test_a_known_wrong_answer_that_loses_elsewhere_too_is_found(course):
    course.write("lab_small.py", NOTEBOOK.replace("return -n", "return n - double(n)"))
    found = course.faults(1)
    assert any("negate scores 0, must score 1" in fault for fault in found["square"])


def test_a_known_wrong_answer_for_a_check_that_is_not_there_is_found(course):
    course.wrong("lost", "double", "return 0", {"halve": 1.0})
    assert "'halve'" in course.faults()["lost"][0]


def test_an_answer_that_hangs_is_stopped_and_the_next_is_unhurt(course, monkeypatch):
    monkeypatch.setattr(apart, "DEADLINE_S", 5)
    course.wrong("hangs", "double", "while True: pass", {"double": 2.0})
    assert course.faults(1, jobs=2) == {"hangs": ["seed 0: ran for more than 5 s"]}


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


def test_a_flaky_check_is_named_with_its_seeds_and_the_command_that_repeats_it(course):
    course.write("checks.py", CHECKS.replace("expect=2 * n", "expect=2 * n if n < 90 else 0"))
    found = course.checked(20)
    (line,) = (line for line in found.flaky if "solution" in line)
    seeds = [int(seed) for seed in re.search(r"of 20 seeds \(([\d, ]+)\)", line)[1].split(", ")]
    assert 0 < len(seeds) < 20
    assert line.startswith(f"double is flaky: solution, under {len(seeds)} of 20 seeds")
    assert line.endswith(f"again: autograder selfcheck lab_small --seeds 1 --first-seed {seeds[0]}")
    (again, *_) = selfcheck(course.folder, course.release, seeds[:1])
    assert again.faults == [f"double scores 1, must score 2 (seed {seeds[0]})"]


def test_what_goes_wrong_under_every_seed_is_not_called_flaky(course):
    course.write("lab_small.py", NOTEBOOK.replace("return -n", "return 0"))
    found = course.checked()
    assert not found.passed
    assert found.flaky == []


def test_known_wrong_answers_share_out_the_seeds_and_the_solution_gets_all(course):
    looked = {row.name: row.looked["double"] for row in course.rows(6, wrong_seeds=2) if "double" in row.looked}
    assert looked["solution"] == [0, 1, 2, 3, 4, 5]
    assert looked["only_three"] == [0, 1]
    assert looked["square"] == [4, 5]


def test_several_processes_give_the_same_rows_in_the_same_order(course):
    course.wrong("dies", "double", "import os; os._exit(7)", {"double": 2.0})
    one, three = course.rows(12), course.rows(12, jobs=3)
    assert [(row.name, row.scores, row.looked, row.faults) for row in three] == [
        (row.name, row.scores, row.looked, row.faults) for row in one
    ]
    assert len(one) == 9


BUILDS_ON = NOTEBOOK.replace("return -n", "return double(n) - 3 * n")


def test_a_syntax_error_costs_the_check_of_its_cell_and_what_builds_on_it(course):
    course.write("lab_small.py", BUILDS_ON)
    rows = {row.name: row for row in course.rows(1)}
    assert rows["syntax error: double"].lost == {"double": 2, "negate": 1}
    assert rows["syntax error: negate"].lost == {"negate": 1}
    assert rows["syntax errors elsewhere"].lost == {}
    assert not [fault for name in rows if "syntax" in name for fault in rows[name].faults]


def test_a_check_that_builds_on_a_cell_without_using_its_names_is_found(course):
    course.write("lab_small.py", NOTEBOOK.replace("return -n", "return -n if 'double' in globals() else 0"))
    assert course.faults(1) == {"syntax errors elsewhere": ["negate scores 0, must score 1 (seed 0)"]}


def test_an_answer_that_is_not_needed_is_found(course):
    given = "# %%\ndouble = lambda n: 2 * n\n\n# %%\ndef double(n):"
    course.write("lab_small.py", NOTEBOOK.replace("# %%\ndef double(n):", given))
    assert course.faults(1) == {"syntax error: double": ["no check loses a point by it"]}


def test_a_check_that_is_passed_without_its_answer_is_found(course):
    course.write(
        "lab_small.py",
        NOTEBOOK.replace(
            "check.double(double)", "try:\n    double\nexcept NameError:\n    pass\ncheck.double(lambda n: 2 * n)"
        ),
    )
    found = course.faults(1)
    assert found["syntax error: double"] == ["double scores 2, must score 0 (seed 0)"]


def test_each_row_is_a_matrix_where_it_fits_and_else_what_it_loses(course):
    rows = {row.name: row for row in course.rows(1)}
    wide, narrow = (Table(labs.load(course.folder), width) for width in (100, 60))
    assert wide.is_matrix
    assert not narrow.is_matrix
    assert wide.head().split() == ["points", "lost", "sum", "double", "negate"]
    assert wide.line(rows["square"]).split() == ["✓", "square", "1", "-2", "·"]
    assert narrow.line(rows["square"]).split() == ["✓", "square", "1", "double", "-2"]
    assert narrow.line(rows["release"]).split() == ["✓", "release", "0", "all", "of", "it"]
    assert max(len(line) for row in rows.values() for line in narrow.line(row).splitlines()) <= 60


def test_too_few_known_wrong_answers_and_a_check_without_one_are_found(course):
    (course.folder / "known_wrong" / "same.py").unlink()
    faults = lab_faults(course.folder, labs.load(course.folder))
    assert faults == ["2 known-wrong answers; a lab needs 3", "no known-wrong answer loses a point on negate"]


def proved(lab: str, *options: str) -> str:
    """What the command says of a real lab: in a process of its own, in which no test's hook looks at shapes."""
    command = [
        sys.executable,
        "-c",
        "from autograder.cli import main; main()",
        "selfcheck",
        lab,
        "--jobs",
        "2",
        *options,
    ]
    done = subprocess.run(command, cwd=RELEASE.parents[2], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("lab", LABS)
def test_a_real_lab_tells_right_from_wrong(lab):
    said = proved(lab, "--seeds", "1", "--first-seed", "3")
    assert "✓ tells right from wrong" in said
    assert "✓ syntax errors elsewhere" in said
    assert "a person grades: " in said


@pytest.mark.slow
@pytest.mark.parametrize("lab", LABS)
def test_a_real_lab_does_so_under_twenty_seeds(lab):
    said = proved(lab, "--seeds", "20", "--wrong-seeds", "20", "--first-seed", "1000")
    assert "seeds 1000 to 1019" in said
    assert "✓ tells right from wrong" in said


def test_the_command_fails_when_a_lab_does(course, monkeypatch):
    from course_lib.house import paths

    (course.folder.parents[1] / "lectures").mkdir()
    monkeypatch.setattr(paths, "root", lambda: course.folder.parents[1])
    command = ["selfcheck", "--seeds", "2", "--first-seed", "5"]
    assert CliRunner().invoke(main, command).exit_code == 0
    course.wrong("same", "negate", "return n", {"negate": 0.5})
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "✗ same" in result.output
    assert "negate scores 0, must score 0.5 (seeds 5, 6)" in result.output
    assert "✗ does not pass" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["lab99"], "there is no lab lab99"), (["--seeds", "0"], "at least 1"), (["--jobs", "0"], "at least 1")],
)
def test_a_call_that_makes_no_sense_is_answered_in_a_line(arguments, words):
    result = CliRunner().invoke(main, ["selfcheck", *arguments])
    assert result.exit_code != 0
    assert words in result.output
