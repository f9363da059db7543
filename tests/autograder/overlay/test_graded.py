"""A class with an overlay, from the release to the gradebook: each is graded on what was made for them."""

import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autograder import versions
from autograder.cli import main
from autograder.grading.course import Wish, grade_course
from autograder.grading.judge import Limits
from autograder.grading.single import regrading
from autograder.overlay.folder import Overlay
from autograder.overlay.personal import Overlaid
from autograder.records.identity import SECRET, course_key, seed_for
from autograder.records.receipts import Receipts
from autograder.release import CONFIG
from autograder.reports.whatif import verify, whatif
from course_lib.checks import labs
from course_lib.house import paths, sync
from tests.autograder.small import LAB, solved

LIMITS = Limits(cell=60, notebook=120, check=60)
CLASS = ["s0", "s1", "s2", "s7", "s4"]


class Class:
    """Five students with a notebook of their own each; s7 hands in that of s1, and s4 the public one."""

    def __init__(self, folder: Path, instructor: Path, scratch: Path) -> None:
        self.folder, self.instructor = folder, instructor
        self.course, self.handed_in = scratch / "course", scratch / "handed_in"
        self.handed_in.mkdir()
        self.course.mkdir()
        (self.course / "nbgrader_config.py").write_text(CONFIG.format(root=str(self.course)), "utf-8")
        (self.course / SECRET).write_text(
            json.dumps({"key": bytes(range(32)).hex()}), "utf-8"
        )  # so that draws are known here
        (scratch / "class.csv").write_text("student_id,name\n" + "".join(f"{name},{name}\n" for name in CLASS), "utf-8")
        words = ["release", LAB, "--course", str(self.course), "--instructor", str(instructor)]
        self.released = CliRunner().invoke(main, [*words, "--students", str(scratch / "class.csv")])
        assert self.released.exit_code == 0, self.released.output
        self.overlaid = Overlaid(versions.current(folder), Overlay(instructor / LAB))
        for student in CLASS[:3]:
            self.hand_in(student, self.right(student))
        self.hand_in("s7", self.right("s1"))
        self.hand_in("s4", solved(folder))
        self.lines = self.graded(jobs=2)

    def drawn(self, student: str) -> Any:
        return self.overlaid.drawn(seed_for(course_key(self.course), LAB, student, ""))

    def right(self, student: str) -> Any:
        """The right answers to a student's own notebook."""
        return self.overlaid.solved(solved(self.folder), self.drawn(student))

    def hand_in(self, student: str, notebook: Any) -> None:
        nbformat.write(notebook, self.handed_in / f"{student}.ipynb")

    def graded(self, jobs: int = 1) -> dict[str, Any]:
        wish = Wish(jobs, limits=LIMITS, instructor=self.instructor)
        return {line.receipt.student: line for line in grade_course(self.folder, self.course, [self.handed_in], wish)}


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield monkeypatch


@pytest.fixture(scope="module")
def of(lab_folder, instructor, tmp_path_factory, patched) -> Class:
    patched.setattr(paths, "root", lambda: lab_folder.parents[1])
    return Class(lab_folder, instructor, tmp_path_factory.mktemp("class"))


def run(of: Class, *words: str) -> Any:
    return CliRunner().invoke(main, [*words, "--course", str(of.course)])


def test_each_earns_everything_with_the_answers_to_their_own_notebook(of):
    version = f"{labs.version(of.folder)}+{Overlay(of.instructor / LAB).digest}"
    for student in CLASS[:3]:
        receipt = of.lines[student].receipt
        assert (receipt.score, receipt.version, receipt.notes) == (6.5, version, ())
        assert "a number that is nobody else's" in [case.name for case in receipt.checks[0].cases]


def test_another_students_notebook_and_the_public_one_are_told_from_ones_own(of):
    other, public = of.lines["s7"].receipt, of.lines["s4"].receipt
    assert [note for note in other.notes if "it is another student's" in note]
    assert [note for note in public.notes if "it is no student's in particular" in note]
    assert of.drawn("s7").variants == of.drawn("s1").variants == {"total": "times"}
    assert of.drawn("s4").variants == {"total": "squares"}
    assert (other.score, public.score) == (4.83, 5.25)  # the sum of an empty list is right for all


def test_the_alignment_and_the_kept_notebook_are_those_of_the_students_own(of):
    for student in CLASS[:3]:
        path = of.course / "autograded" / student / LAB / f"{LAB}.ipynb"
        shown = nbformat.read(path, as_version=4)
        texts = [cell.source for cell in shown.cells]
        own = of.overlaid.release_of(of.drawn(student))
        assert next(cell.source for cell in own.cells if cell.source.startswith("## 2")) in texts
        hidden = {case.name for check in of.lines[student].receipt.checks for case in check.cases if case.hidden}
        assert hidden
        assert not [name for name in hidden if name in json.dumps(shown)]
    with Gradebook(f"sqlite:///{of.course / 'gradebook.db'}") as gradebook:
        scores = {one.student.id: one.score for one in gradebook.assignment_submissions(LAB)}
    assert scores == {student: line.receipt.score for student, line in of.lines.items()}


def test_nothing_is_graded_twice_and_every_receipt_is_reproduced_without_being_told_of_the_overlay(of):
    assert not any(line.again for line in of.graded().values())
    with regrading(of.folder, of.course) as again:
        found = verify(of.course, LAB, again)
    assert (found.differences, len(found.same)) == ({}, len(CLASS))


def test_an_overlay_that_is_forgotten_is_asked_for(of):
    for words in (["grade", LAB, str(of.handed_in)], ["whatif", LAB]):
        failed = run(of, *words)
        assert failed.exit_code == 1
        assert "was handed out or graded with a private overlay" in failed.output
        assert "Traceback" not in failed.output
    nothing = run(of, "grade", LAB, str(of.handed_in), "--instructor", str(of.handed_in))
    assert "holds no overlay of lab_small" in nothing.output


def test_a_changed_overlay_grades_again_and_old_receipts_still_hold(of, own, tmp_path):
    course = copied(of.course, tmp_path / "course")
    text = (own / "overlay.py").read_text("utf-8")
    (own / "overlay.py").write_text(text.replace("expect=2 * draw", "expect=3 * draw"), "utf-8")
    with regrading(of.folder, course, own.parent, as_now=True) as again:
        found = whatif(course, LAB, again)
    assert {change.points for change in found.changes} == {-1.0}
    assert len(found.changes) == len(CLASS)
    wish = Wish(limits=LIMITS, instructor=own.parent)
    handed_in = tmp_path / "handed_in"
    handed_in.mkdir()
    shutil.copy(of.handed_in / "s0.ipynb", handed_in)
    (line,) = grade_course(of.folder, course, [handed_in], wish)
    assert line.again
    assert (line.receipt.score, line.receipt.notes) == (5.5, ())
    with regrading(of.folder, course) as again:
        for student in ("s0", "s1"):
            assert again(student).to_json() == Receipts(course).path(LAB, student).read_text("utf-8")


def test_an_older_version_keeps_its_students_numbers(of, tmp_path):
    course = copied(of.course, tmp_path / "course")
    folder = Path(shutil.copytree(of.folder.parents[1], tmp_path / "repository")) / "solutions" / LAB
    checks = folder / "checks.py"
    checks.write_text(checks.read_text("utf-8").replace("np.full(7, 2.0)", "np.full(7, 5.0)"), "utf-8")
    sync.run(folder.parents[1])
    handed_in = tmp_path / "handed_in"
    handed_in.mkdir()
    shutil.copy(of.handed_in / "s0.ipynb", handed_in / "s0.ipynb")
    lost = nbformat.read(of.handed_in / "s1.ipynb", as_version=4)
    lost.metadata["course"] = {}
    nbformat.write(lost, handed_in / "s1.ipynb")
    wish = Wish(limits=LIMITS, instructor=of.instructor)
    lines = {line.receipt.student: line for line in grade_course(folder, course, [handed_in], wish)}
    assert not lines["s0"].again
    assert lines["s0"].receipt.score == 6.5
    assert (lines["s1"].receipt.version.split("+")[0], lines["s1"].receipt.score) == (labs.version(folder), 5.5)


def test_who_is_to_get_a_notebook_may_be_whom_the_gradebook_knows(of, tmp_path):
    course = copied(of.course, tmp_path / "course")
    shutil.rmtree(course / "handouts")
    done = CliRunner().invoke(main, ["release", LAB, "--course", str(course), "--instructor", str(of.instructor)])
    assert done.exit_code == 0, done.output
    assert f"hand out to {len(CLASS)} students" in done.output
    for student in CLASS:
        path = Path("handouts", LAB, student, f"{LAB}.ipynb")
        assert (course / path).read_bytes() == (of.course / path).read_bytes()
    refused = CliRunner().invoke(main, ["release", LAB, "--course", str(course), "--students", str(course / "x")])
    assert "--students needs --instructor DIR" in refused.output


def copied(course: Path, to: Path) -> Path:
    """A copy of a course, which knows where it is."""
    shutil.copytree(course, to)
    config = to / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8").replace(str(course), str(to)), "utf-8")
    return to
