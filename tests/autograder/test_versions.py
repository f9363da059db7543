"""A notebook is graded against the checks that it was made for, for as long as the course keeps them."""

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder import versions
from autograder.grading.batch import Task
from autograder.grading.course import Wish, grade_course
from autograder.grading.grader import Basis, Standards
from autograder.grading.judge import Limits
from autograder.grading.single import regrading
from autograder.records.receipts import Receipts
from autograder.release import release
from autograder.reports.whatif import verify, whatif
from autograder.sandbox import probe
from course_lib.checks import labs
from course_lib.house import sync
from tests.autograder.small import LAB, repository, solved

LIMITS = Limits(cell=60, notebook=120, check=60)
OLD_TOTAL = 'yield case("none at all", ([],), expect=0)'
NEW_TOTAL = 'yield case("none at all", ([],), raises="ValueError")'
NEW_CHECK = '''

@lab.check(points=1, target="half(x)")
def half(draw):
    """Half a number."""
    yield case("four", (4,), expect=2)
'''
NEW_CELLS = """
# %% [markdown]
# ## 4. Half

# %%
def half(x):
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION

# %%
check.half(half)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """The small lab. No test may change it."""
    return repository(tmp_path_factory.mktemp("small"))


@pytest.fixture
def folder(small, tmp_path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(small.parents[1], tmp_path / "repository")) / "solutions" / LAB


# What is kept


def test_what_is_kept_is_whole_private_and_stays(folder, tmp_path):
    edition = versions.keep(folder, tmp_path / "course")
    assert edition.version == labs.version(folder)
    place = tmp_path / "course" / "versions" / LAB / edition.version
    found = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    assert found == [f"{LAB}.ipynb", f"{LAB}.json", f"{LAB}/checks.py", f"{LAB}/hidden.py"]
    for path in [tmp_path / "course" / "versions", place.parent, place, *place.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    assert [path.name for path in place.parent.iterdir()] == [edition.version]
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    change(folder, "checks.py", OLD_TOTAL, NEW_TOTAL)
    newer = versions.keep(folder, tmp_path / "course")
    assert newer.version != edition.version
    assert {path: path.read_bytes() for path in before} == before
    old, new = (labs.load(one.folder) for one in (edition, newer))
    steps = [lab.checks["total"].visible_cases()[1].steps[0].expect for lab in (old, new)]
    assert [type(step).__name__ for step in steps] == ["Equal", "Raises"]


@pytest.mark.parametrize("text", ["", ".", "..", "../../..", "0123456789ab", "0123456789AB", "+0123456789ab", "x" * 12])
def test_only_a_version_that_is_kept_is_found(folder, tmp_path, text):
    versions.keep(folder, tmp_path / "course")
    assert versions.find(tmp_path / "course", LAB, text) is None


def test_what_was_changed_is_not_graded_against(folder, tmp_path):
    edition = versions.keep(folder, tmp_path)
    with (edition.folder / "hidden.py").open("a") as file:
        file.write("# more\n")
    with pytest.raises(ValueError, match="was changed: restore it, or remove it"):
        versions.find(tmp_path, LAB, edition.version)


def test_a_lab_out_of_step_with_its_release_is_not_kept(folder, tmp_path):
    with (folder / "checks.py").open("a") as file:
        file.write("# more\n")
    with pytest.raises(ValueError, match="run `course sync` first"):
        versions.keep(folder, tmp_path)
    assert not list(tmp_path.glob("versions/**/*"))


@pytest.mark.parametrize(("line", "runs"), [("import numpy", True), ("import what_has_gone_since", False)])
def test_a_version_that_no_longer_runs_cannot_be_had(folder, tmp_path, line, runs):
    """A student may name it, and one notebook must not stop a batch."""
    place = versions.keep(folder, tmp_path).release.parent
    with (place / LAB / "checks.py").open("a") as file:
        file.write(f"{line}\n")
    older = labs.version(place / LAB)
    place.rename(place.with_name(older))
    standards = Standards(Basis(folder, probe(), LIMITS, tmp_path))
    task = Task("ada", "ada.ipynb", nbformat.writes(stating(solved(folder), older)).encode(), 1)
    against = standards.of(task)
    assert against.version == (older if runs else labs.version(folder))
    assert bool(standards.notes(task, against)) is not runs


# What is graded against it


class Semester:
    """A course in which the lab was released, handed in once, changed, released again, and handed in by everybody."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder, self.course, self.handed_in = folder, scratch / "course", scratch / "handed_in"
        self.handed_in.mkdir()
        release(folder, self.course)
        self.first = labs.version(folder)
        old = solved(folder)
        self.hand_in("ada", old)
        self.before = self.graded()
        change(folder, "checks.py", OLD_TOTAL, NEW_TOTAL)
        change(folder, f"{LAB}.py", "    return sum(numbers, start=0)", RAISES)
        release(folder, self.course)
        self.second = labs.version(folder)
        self.hand_in("ben", old)
        self.hand_in("cleo", solved(folder))
        self.hand_in("dan", stating(old, None))
        self.hand_in("eve", stating(old, "0123456789ab"))
        self.hand_in("finn", stating(old, ["no", "text"]))
        self.after = self.graded()

    def hand_in(self, student: str, notebook: Any) -> None:
        nbformat.write(notebook, self.handed_in / f"{student}.ipynb")

    def graded(self, **more: Any) -> dict[str, Any]:
        wish = Wish(limits=LIMITS, **more)
        return {line.receipt.student: line for line in grade_course(self.folder, self.course, [self.handed_in], wish)}


RAISES = '    if not numbers:\n        raise ValueError("no numbers")\n    return sum(numbers, start=0)'


@pytest.fixture(scope="module")
def semester(small, tmp_path_factory) -> Semester:
    scratch = tmp_path_factory.mktemp("semester")
    folder = Path(shutil.copytree(small.parents[1], scratch / "repository")) / "solutions" / LAB
    return Semester(folder, scratch)


def test_each_is_graded_against_the_version_that_its_notebook_was_made_for(semester):
    found = {student: (line.receipt.version, line.receipt.score) for student, line in semester.after.items()}
    assert found == {
        "ada": (semester.first, 6.5),
        "ben": (semester.first, 6.5),
        "cleo": (semester.second, 6.5),
        "dan": (semester.second, 5.25),
        "eve": (semester.second, 5.25),
        "finn": (semester.second, 5.25),
    }


def test_what_was_graded_before_the_change_is_left_alone(semester):
    assert semester.before["ada"].again
    assert not semester.after["ada"].again
    again = semester.graded()
    assert not any(line.again for line in again.values())


def test_another_version_than_the_notebooks_is_on_the_receipt_and_that_the_lab_changed_beside_it(semester):
    receipts = {student: line.receipt.notes for student, line in semester.after.items()}
    assert f"made for version '0123456789ab' of the lab, graded against {semester.second}" in receipts["eve"]
    for student in ("ada", "ben", "cleo"):
        assert receipts[student] == ()
    assert not [note for note in receipts["dan"] if "version" in note]
    assert f"the lab is at {semester.second}" in "".join(semester.after["ben"].notes)
    assert "which cannot be had here" in "".join(semester.after["eve"].notes)
    assert not [note for note in semester.after["cleo"].notes if "version" in note]


def test_every_receipt_is_reproduced_also_those_of_the_older_version(semester):
    with regrading(semester.folder, semester.course) as again:
        found = verify(semester.course, LAB, again)
    assert (found.differences, len(found.same)) == ({}, 6)


def test_what_would_change_is_asked_of_the_lab_as_it_is_now(semester):
    with regrading(semester.folder, semester.course, as_now=True) as again:
        found = whatif(semester.course, LAB, again)
    assert {change.before.student: change.points for change in found.changes} == {"ada": -1.25, "ben": -1.25}
    assert found.faults == []


def test_once_there_are_grades_their_cells_stay(semester, tmp_path):
    folder = Path(shutil.copytree(semester.folder.parents[1], tmp_path / "repository")) / "solutions" / LAB
    add_half(folder)
    with pytest.raises(ValueError, match="put none back, take check_half, half out, or release into another course"):
        release(folder, semester.course)
    assert versions.find(semester.course, LAB, labs.version(folder)) is None


def test_a_check_that_an_older_version_has_not_or_that_is_worth_something_else_now_is_not_lost_without_a_word(
    folder, tmp_path
):
    release(folder, tmp_path / "course")
    old = solved(folder)
    add_half(folder)
    change(folder, "checks.py", "@lab.check(points=4", "@lab.check(points=5")
    release(folder, tmp_path / "course")
    (tmp_path / "handed_in").mkdir()
    nbformat.write(old, tmp_path / "handed_in" / "ada.ipynb")
    (line,) = grade_course(folder, tmp_path / "course", [tmp_path / "handed_in"], Wish(limits=LIMITS))
    said = "\n".join(line.notes)
    assert "check_half is not in the version of the lab that was graded" in said
    assert "check_double is worth 5 points now and was graded out of 4" in said
    with Gradebook(f"sqlite:///{tmp_path / 'course' / 'gradebook.db'}") as gradebook:
        (one,) = gradebook.assignment_submissions(LAB)
        assert (one.score, one.needs_manual_grade) == (2.5, True)


def test_on_request_everybody_is_graded_against_the_lab_as_it_is_now(semester, tmp_path):
    course = Path(shutil.copytree(semester.course, tmp_path / "course"))
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8").replace(str(semester.course), str(course)), "utf-8")
    lines = {
        line.receipt.student: line
        for line in grade_course(semester.folder, course, [semester.handed_in], Wish(limits=LIMITS, as_now=True))
    }
    assert {student for student, line in lines.items() if line.again} == {"ada", "ben"}
    ada = lines["ada"].receipt
    assert (ada.version, ada.score) == (semester.second, 5.25)
    assert f"made for version {semester.first!r} of the lab, graded against {semester.second}" in ada.notes
    with regrading(semester.folder, course) as again:
        assert again("ada").to_json() == Receipts(course).path(LAB, "ada").read_text("utf-8")


def add_half(folder: Path) -> None:
    """Gives the lab one more exercise."""
    change(folder, "checks.py", 'lab.written("why"', NEW_CHECK.strip() + '\n\nlab.written("why"', made=False)
    change(folder, f"{LAB}.py", "\n# %%\ncheck.progress()", NEW_CELLS + "\n# %%\ncheck.progress()")


def change(folder: Path, name: str, old: str, new: str, made: bool = True) -> None:
    """Changes a file of the lab, and brings what is `made` of it up to date."""
    text = (folder / name).read_text("utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
    (folder / name).write_text(text.replace(old, new), encoding="utf-8", newline="\n")
    if made:
        sync.run(folder.parents[1])


def stating(notebook: Any, version: Any) -> Any:
    """A copy of a notebook that says another version of itself, or (None) nothing."""
    made = nbformat.from_dict(dict(notebook))
    made.metadata = nbformat.from_dict({**notebook.metadata})
    if version is None:
        del made.metadata["course"]
    else:
        made.metadata["course"] = nbformat.from_dict({**notebook.metadata.course, "version": version})
    return made
