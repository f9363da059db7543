"""From a folder of notebooks to the gradebook and back: every state told apart, nothing graded twice, receipts reproduced."""

import copy
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.evidence import State
from autograder.grading.course import Wish, grade_course
from autograder.grading.judge import Limits
from autograder.grading.single import regrading
from autograder.records.receipts import Receipts
from autograder.release import release
from course_lib.house import sync
from tests.autograder.grading.conftest import FOLDER

LAB = FOLDER.name
ROOT = FOLDER.parents[1]
WISH = Wish(limits=Limits(cell=2, notebook=20, check=2))


def notebooks() -> dict[str, object]:
    _, right = sync.marked_notebook(ROOT, FOLDER)
    untouched = nbformat.read(ROOT / "labs" / LAB / f"{LAB}.ipynb", as_version=4)
    exits = copy.deepcopy(right)
    for cell in exits.cells:
        if cell.source.startswith("def softmax"):
            cell.source = "def softmax(x):\n    import os\n    os._exit(0)"
    return {"ada": right, "ben": untouched, "cleo": exits}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> tuple[Path, Path]:
    """A course, and a folder of what was handed in."""
    folder = tmp_path_factory.mktemp("course") / "grading"
    release(FOLDER, folder)
    handed_in = tmp_path_factory.mktemp("handed_in")
    for name, notebook in notebooks().items():
        nbformat.write(notebook, handed_in / f"{name}.ipynb")
    (handed_in / "dan.ipynb").write_text("no notebook at all")
    return folder, handed_in


@pytest.fixture(scope="module")
def first(course):
    folder, handed_in = course
    return {line.receipt.student: line for line in grade_course(FOLDER, folder, [handed_in], WISH)}


def test_each_submission_has_its_state_and_its_points(first):
    found = {student: (line.receipt.state, line.receipt.score) for student, line in first.items()}
    assert found == {
        "ada": (State.NEEDS_A_PERSON, 18),
        "ben": (State.GRADED, 0),
        "cleo": (State.CRASHED, 13),
        "dan": (State.UNREADABLE, 0),
    }


def test_a_second_run_grades_nothing_and_a_changed_file_alone_is_graded_again(course, first):
    folder, handed_in = course
    again = list(grade_course(FOLDER, folder, [handed_in], WISH))
    assert not any(line.again for line in again)
    assert {line.receipt.student: line.receipt for line in again} == {s: line.receipt for s, line in first.items()}
    changed = nbformat.read(handed_in / "ben.ipynb", as_version=4)
    changed.cells.append(nbformat.v4.new_code_cell("print('more')"))
    nbformat.write(changed, handed_in / "ben.ipynb")
    third = {line.receipt.student: line.again for line in grade_course(FOLDER, folder, [handed_in], WISH)}
    assert third == {"ada": False, "ben": True, "cleo": False, "dan": False}


def test_nbgraders_gradebook_and_the_autograded_notebook_have_it_all(course, first):
    folder, _ = course
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions(LAB)}
    assert (scores["ada"], scores["cleo"], scores["dan"]) == (18, 13, 0)
    shown = (folder / "autograded" / "ada" / LAB / f"{LAB}.ipynb").read_text(encoding="utf-8")
    assert "7 of 7 cases" in shown
    hidden = {case.name for check in first["ada"].receipt.checks for case in check.cases if case.hidden}
    assert hidden
    assert not [name for name in hidden if name in shown]


def test_a_receipt_is_reproduced_byte_for_byte_from_what_the_course_keeps(course, first):
    folder, _ = course
    with regrading(FOLDER, folder) as again:
        for student in ("ada", "cleo"):
            assert again(student).to_json() == Receipts(folder).read(LAB, student).to_json()


def test_two_jobs_give_the_same_receipts(course, first, tmp_path):
    _, handed_in = course
    folder = tmp_path / "other"
    release(FOLDER, folder)
    wish = Wish(jobs=2, seed=7, limits=WISH.limits)
    two = {line.receipt.student: line.receipt for line in grade_course(FOLDER, folder, [handed_in], wish)}
    other = tmp_path / "one"
    release(FOLDER, other)
    one = grade_course(FOLDER, other, [handed_in], Wish(seed=7, limits=WISH.limits))
    assert two == {line.receipt.student: line.receipt for line in one}


def test_every_nth_submission_is_a_shard(course, first):
    folder, handed_in = course
    parts = [
        {line.receipt.student for line in grade_course(FOLDER, folder, [handed_in], Wish(shard=(i, 2)))} for i in (1, 2)
    ]
    assert parts[0] | parts[1] == {"ada", "ben", "cleo", "dan"}
    assert not parts[0] & parts[1]


def test_at_the_lowest_level_only_what_is_vouched_for_is_graded(course):
    folder, handed_in = course
    with pytest.raises(ValueError, match="--trusted"):
        list(grade_course(FOLDER, folder, [handed_in], Wish(without=("kernel",))))


def test_the_command_says_a_line_for_each_and_what_is_wrong_in_one(course, first):
    folder, handed_in = course
    run = lambda *words: CliRunner().invoke(main, [*words, "--course", str(folder)])  # noqa: E731
    done = run("grade", LAB, str(handed_in))
    assert done.exit_code == 0, done.output
    assert "level " in done.output
    assert "crashed" in done.output
    assert "check_softmax crashed" in done.output
    for words, said in (
        (("grade", LAB, str(folder / "nothing")), "nothing"),
        (("grade", LAB, str(handed_in), "--shard", "3/2"), "--shard needs I/N"),
        (("grade", "lab99", str(handed_in)), "there is no lab lab99"),
        (("show", "zoe", LAB), "zoe"),
    ):
        failed = run(*words)
        assert failed.exit_code == 1
        assert said in failed.output
        assert "Traceback" not in failed.output
    assert "softmax: 0 of 5 points · crashed" in run("show", "cleo", LAB).output
    assert "passed" in run("stats", LAB).output
