"""Cells of asserts in the grader: points for what holds where every canary fails, labelled, and the same as plain nbgrader's."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.evidence import Receipt, State, Verdict
from autograder.grading.course import Wish, grade_course
from autograder.grading.judge import Cell, Judged, Limits, judge_notebook
from autograder.grading.pool import Zygote
from autograder.records.receipts import Receipts
from autograder.release import release
from autograder.reports.show import show
from autograder.reports.stats import stats
from autograder.sandbox import NOBODY, probe
from course_lib.checks import labs
from course_lib.checks.judging import ASSERTS, CANARIES, UNSHOWN
from course_lib.house import sync
from tests.autograder.nbgrader_round import nbgrader
from tests.hostile import legacy, workshop
from tests.hostile.entry import FULL_OF

LAB = "lab98_legacy"
FOLDER = workshop.LABS / LAB
FULL = FULL_OF[LAB]
WRONG_PRIME = "def prime(n):\n    return 4 * n"
ONLY_SHOWN = "def prime(n):\n    return [2, 3, 5, 7, 11][n]"
LIMITS = Limits(cell=10, notebook=60, check=20)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(labs.load(FOLDER), probe()) as started:
        yield started


@pytest.fixture(scope="module")
def run(zygote) -> Callable[..., Judged]:
    """`run(before=[…], after=[…], prime="def prime…")` judges the solved notebook with these changes."""
    lab = labs.load(FOLDER)

    def judged(before: tuple = (), after: tuple = (), seed: int = 3, **answers: str) -> Judged:
        code = [cell for cell in workshop.solved(LAB, **answers)["cells"] if cell["cell_type"] == "code"]
        named = [(workshop.name_of(cell), workshop.text_of(cell)) for cell in code]
        named[2:2] = [("", source) for source in before]
        named += [("", source) for source in after]
        cells = [Cell(number, name, source) for number, (name, source) in enumerate(named[1:])]
        folder = tempfile.mkdtemp()
        if zygote.uid is not None:
            os.chown(folder, NOBODY, NOBODY)
        try:
            return judge_notebook(zygote, lab, cells, folder, seed, LIMITS)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return judged


def scores(judged: Judged) -> dict[str, float]:
    return {name: check.score for name, check in judged.checks.items()}


def said(judged: Judged, name: str) -> dict[str, tuple[bool, str, bool]]:
    return {case.name: (case.passed, case.said, case.hidden) for case in judged.checks[name].cases}


def test_right_answers_get_everything_and_again_the_same(run):
    first, second = run(), run()
    assert scores(first) == FULL
    assert first.checks == second.checks
    assert {name: check.shared for name, check in first.checks.items()} == {
        "old_weights": True,
        "old_prime": True,
        "old_stack": True,
        "double": False,
    }
    assert said(first, "old_prime") == {
        ASSERTS: (True, "", False),
        UNSHOWN: (True, "", True),
        CANARIES: (True, "", True),
    }
    assert not first.notes


def test_wrong_answers_say_which_assert_failed_and_a_student_sees_only_those_that_are_shown(run):
    shown = run(prime=WRONG_PRIME)
    assert scores(shown) == FULL | {"old_prime": 0.0}
    assert said(shown, "old_prime") == {
        ASSERTS: (False, 'line 1, assert prime(0) == 2, "the first prime": AssertionError: the first prime', False)
    }
    hidden = run(prime=ONLY_SHOWN)
    assert scores(hidden) == FULL | {"old_prime": 0.0}
    assert said(hidden, "old_prime") == {
        ASSERTS: (True, "", False),
        UNSHOWN: (False, "line 4, assert prime(1500) == 12569: IndexError: list index out of range", True),
    }
    assert "12569" not in repr(hidden.outputs)


def test_where_a_canary_passes_nothing_counts_and_the_others_are_not_touched(run):
    judged = run(prime=legacy.EQUAL)
    assert scores(judged) == FULL | {"old_prime": 0.0}
    assert judged.checks["old_prime"].verdict is Verdict.TAMPERED
    assert judged.notes == ["check_old_prime: a canary passed"]
    assert said(judged, "old_prime")[CANARIES][1].startswith("a canary passed: assert ")


def test_what_runs_at_the_end_finds_the_notebook_as_it_was_at_its_cell_and_leaves_nothing(run):
    judged = run(
        before=("count = 0",),
        prime="def prime(n):\n    global count\n    count += 1\n    assert count <= 6\n    return {1500: 12569}.get(n, "
        "[2, 3, 5, 7, 11][n % 5])",
        after=("prime = None\ncount = 1000", "print('count', count)"),
    )
    assert scores(judged) == FULL
    assert "count 1000" in repr(judged.outputs)


def test_a_cell_of_asserts_shows_what_it_shows_in_a_notebook(run):
    judged = run(prime=WRONG_PRIME, after=("thing",))
    (failed,) = [output for shown in judged.outputs.values() for output in shown if output.get("ename")]
    assert (failed["ename"], failed["evalue"]) == ("AssertionError", "the first prime")
    assert "'c'" in repr(judged.outputs[max(judged.outputs)])  # what a cell of asserts binds is there below it, as ever


@pytest.mark.parametrize(
    ("prime", "verdict"),
    [
        ("import os\ndef prime(n):\n    os._exit(0)", Verdict.CRASHED),
        ("import os\nhere = os.getpid()\ndef prime(n):\n    os.getpid() == here or os._exit(0)", Verdict.CRASHED),
        ("import os, signal\ndef prime(n):\n    n < 9 or os.kill(os.getpid(), signal.SIGKILL)\n    return [2, 3, 5, 7, 11][n]",
         Verdict.CRASHED),
    ],
    ids=["in the notebook", "in a copy alone", "where nobody sees"],
)  # fmt: skip
def test_a_death_costs_that_cell_alone(run, prime, verdict):
    judged = run(prime=prime)
    assert scores(judged) == FULL | {"old_prime": 0.0}
    assert judged.checks["old_prime"].verdict is verdict


def test_threads_and_children_that_stay_cost_nothing(run):
    pool = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\nlist(pool.map(abs, [-1]))"
    right = workshop._answers(LAB)["prime"].replace(
        "    found,", "    assert list(pool.map(abs, [-n])) == [n]\n    found,"
    )
    assert scores(run(before=(pool,), prime=right)) == FULL


# Whole submissions, by our grader and by plain nbgrader


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory) -> Path:
    """What three students handed in."""
    folder = tmp_path_factory.mktemp("handed_in")
    for name, answers in (("ada", {}), ("ben", {"prime": ONLY_SHOWN}), ("cleo", {"prime": legacy.EQUAL})):
        notebook = workshop.solved(LAB, **answers)
        (folder / f"{name}.ipynb").write_bytes(workshop.packed(notebook))
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A course's repository that holds the lab alone."""
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(FOLDER, root / "solutions" / LAB, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pyproject.toml").write_text('[tool.course]\nrepository = ""\n', encoding="utf-8")
    sync.run(root)
    return root


@pytest.fixture(scope="module")
def graded(root, handed_in, tmp_path_factory) -> tuple[Path, dict[str, Receipt]]:
    """A course in which they are graded by our grader, and their receipts."""
    course = tmp_path_factory.mktemp("ours") / "course"
    release(root / "solutions" / LAB, course)
    lines = grade_course(root / "solutions" / LAB, course, [handed_in], Wish(limits=LIMITS))
    return course, {line.receipt.student: line.receipt for line in lines}


def test_submissions_are_graded_and_their_receipts_say_how(graded):
    course, receipts = graded
    assert {name: (receipt.score, receipt.state) for name, receipt in receipts.items()} == {
        "ada": (6, State.GRADED),
        "ben": (4, State.GRADED),
        "cleo": (4, State.TAMPERED),
    }
    kept = Receipts(course).read(LAB, "ada")
    assert kept == receipts["ada"]
    entries = json.loads(kept.to_json())["checks"]
    assert [entry.get("shared", False) for entry in entries] == [True, True, True, False]
    assert "check_old_prime: a canary passed" in receipts["cleo"].notes


def test_the_label_is_in_what_an_instructor_reads(graded):
    course, _ = graded
    assert "old_prime: 2 of 2 points · shared process" in show(course, "ada", LAB)
    told = show(course, "cleo", LAB)
    assert "old_prime: 0 of 2 points · tampered · shared process" in told
    assert "a canary passed: assert " in told
    assert "double: 1 of 1 points\n" in told
    table = stats(course, LAB).text()
    assert "old_prime (shared process)" in table
    assert "double (" not in table


def test_the_label_is_in_the_gradebook_and_in_the_notebook_and_no_hidden_assert_is(graded):
    course, _ = graded
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        (notebook,) = gradebook.find_submission(LAB, "cleo").notebooks
        comments = {comment.name: comment.auto_comment or "" for comment in notebook.comments}
        points = {grade.name: grade.auto_score for grade in notebook.grades}
    assert points == {"check_old_weights": 2, "check_old_prime": 0, "check_old_stack": 1, "check_double": 1}
    assert "tampered in check_old_prime: a canary passed" in comments["prime"]
    assert "shared process" in comments["weights"]
    assert not comments["double"]
    saved = (course / "autograded" / "ben" / LAB / f"{LAB}.ipynb").read_text(encoding="utf-8")
    assert "Graded: 2 of 2 points, shared process" in saved
    assert "12569" not in saved + "".join(comments.values())


def test_plain_nbgrader_grades_the_same_cells_by_itself(root, handed_in, tmp_path):
    course = tmp_path / "course"
    release(root / "solutions" / LAB, course)
    cases = root / "course_lib/checks/cases" / f"{LAB}.json"  # beside the notebook: the library has no such lab
    for student in ("ben", "cleo"):
        place = course / "submitted" / student / LAB
        place.mkdir(parents=True)
        shutil.copy(handed_in / f"{student}.ipynb", place / f"{LAB}.ipynb")
        shutil.copy(cases, place / cases.name)
    done = nbgrader(course, "autograde", LAB)
    assert done.returncode == 0, done.stderr
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        found = {}
        for student in ("ben", "cleo"):
            (notebook,) = gradebook.find_submission(LAB, student).notebooks
            found[student] = {grade.name: grade.auto_score for grade in notebook.grades}
    full = {f"check_{name}": points for name, points in FULL.items()}
    # What is hidden is put back, so that ben loses its points; that cleo's answer lies, plain nbgrader cannot see.
    assert found == {"ben": full | {"check_old_prime": 0}, "cleo": full}
