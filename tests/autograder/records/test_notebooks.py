"""The autograded notebook: what formgrader and feedback show of it, and what can be read back of it."""

import logging
import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import GenerateFeedback
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import compute_checksum

from autograder.evidence import State, Verdict
from autograder.records import notebooks
from autograder.records.course import load
from autograder.records.gradebook import Book, reconcile
from autograder.records.notebooks import answers_of, kept, write
from autograder.records.receipts import Receipts
from tests.autograder.records.made_up import (
    HIDDEN,
    at,
    by_hand,
    database,
    notebook,
    points,
    receipt,
    unreadable,
    waiting,
)
from tests.autograder.submissions import LAB, RELEASE

RELEASED = nbformat.read(RELEASE, as_version=4)


def stream(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": text}


def report(html: str) -> dict:
    return {"output_type": "execute_result", "data": {"text/plain": "5", "text/html": html}, "metadata": {}}


def read(course: Path, student: str = "ada"):
    return nbformat.read(course / "autograded" / student / LAB / f"{LAB}.ipynb", as_version=4)


def graded(made) -> dict:
    found = ((cell.metadata.get("nbgrader", {}).get("grade_id"), cell) for cell in made.cells)
    return {name: cell for name, cell in found if name}


# What is written


def test_the_notebook_keeps_answers_and_outputs_under_the_metadata_of_the_release(course):
    made = notebook("Both.")
    made.cells[at(made, "softmax")].source = "def softmax(x): ..."
    outputs = {at(made, "softmax"): [stream("hello")], at(made, "check_softmax"): [report("<b>5 of 5</b>")]}
    assert write(course, receipt(), made, outputs, "2026-11-30 12:00 Europe/Berlin") == []
    found = graded(read(course))
    assert found["softmax"].source == "def softmax(x): ..."
    assert found["softmax"].outputs == [stream("hello")]
    assert found["check_softmax"].outputs[0].data["text/html"] == "<b>5 of 5</b>"
    for name, master in graded(RELEASED).items():
        assert found[name].metadata == master.metadata
        if found[name].metadata.nbgrader.locked:
            assert compute_checksum(found[name]) == found[name].metadata.nbgrader.checksum
    MetadataValidator().validate_nb(read(course))
    assert read(course).metadata == RELEASED.metadata
    stamp = (course / "autograded" / "ada" / LAB / "timestamp.txt").read_text("utf-8")
    assert stamp == "2026-11-30 11:00:00.000000 UTC\n"


def test_the_same_grading_gives_the_same_bytes(course):
    written = []
    for _ in range(2):
        write(course, receipt(), notebook(), {3: [stream("x")]}, "2026-11-30 12:00 UTC")
        folder = course / "autograded" / "ada" / LAB
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]
    assert set(written[0]) == {f"{LAB}.ipynb", "timestamp.txt"}


def test_what_a_killed_grader_left_half_written_goes(course):
    folder = course / "autograded" / "ada" / LAB
    folder.mkdir(parents=True)
    (folder / f".{LAB}.ipynb.x1y2").write_text("{", encoding="utf-8")
    write(course, receipt(), notebook())
    assert [path.name for path in folder.iterdir()] == [f"{LAB}.ipynb"]


def test_each_check_line_ends_with_what_it_earned_and_names_no_hidden_case(course):
    one = receipt(scores={"softmax": 2.5}, verdicts={"generate": Verdict.CRASHED}, state=State.CRASHED)
    known = [replace(check, mistake="a well-known mistake: " + "word " * 40) for check in one.checks[1:2]]
    write(course, replace(one, checks=(one.checks[0], *known, *one.checks[2:])), notebook())
    found = graded(read(course))
    last = {name: cell.outputs[-1].data["text/plain"] for name, cell in found.items() if name.startswith("check_")}
    assert last["check_softmax"] == "Graded: 2.5 of 5 points; 1 of 2 cases, some of which are not shown"
    assert last["check_generate"].startswith("Graded: 0 of 2 points; crashed in check_generate")
    assert max(len(line) for text in last.values() for line in text.splitlines()) <= notebooks.WIDTH
    assert HIDDEN not in (course / "autograded" / "ada" / LAB / f"{LAB}.ipynb").read_text("utf-8")


def test_what_a_student_typed_into_locked_cells_and_metadata_is_not_believed(course):
    made = notebook()
    check = made.cells[at(made, "check_softmax")]
    check.source = "5"
    check.metadata.nbgrader.points = 500
    answer = made.cells[at(made, "softmax")]
    answer.metadata.nbgrader.update(grade=True, points=100)
    answer.metadata.collapsed = True
    made.cells[0].metadata = {"nbgrader": {"grade_id": "bonus", "grade": True, "points": 9, "solution": False}}
    made.metadata.kernelspec = {"name": "ruby", "display_name": "Ruby", "language": "ruby"}
    made.cells.append(made.cells[at(made, "softmax")].copy())
    made.cells[1].metadata = {"nbgrader": "all of them"}
    made.cells[2].metadata = {"nbgrader": {"grade_id": ["softmax"]}}
    write(course, receipt(), made)
    found = graded(read(course))
    assert {name: cell.metadata for name, cell in found.items()} == {
        name: cell.metadata for name, cell in graded(RELEASED).items()
    }
    assert found["check_softmax"].source == "check.softmax(softmax)"
    assert read(course).metadata == RELEASED.metadata
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in read(course).cells]
    assert names.count("softmax") == 1
    ids = [cell.id for cell in read(course).cells]
    assert len(set(ids)) == len(ids)


def test_a_graded_cell_that_is_missing_is_put_back_in_its_place(course):
    made = notebook()
    gone = ("softmax", "check_generate", "which_wall")
    made.cells = [cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade_id") not in gone]
    write(course, receipt(answered=False), made)
    assert list(graded(read(course))) == list(graded(RELEASED))


def test_text_is_made_safe_and_what_was_handed_out_is_left_alone(course):
    made = notebook("<script>alert(1)</script> 5 > 3")
    write(course, receipt(), made)
    cells = read(course).cells
    assert "<script>" not in graded(read(course))["which_wall"].source
    assert cells[0].source == RELEASED.cells[0].source
    assert any("<details>" in cell.source for cell in cells)


def test_an_output_that_names_a_hidden_case_is_left_out_and_reported(course):
    made = notebook()
    notes = write(
        course, receipt(), made, {at(made, "softmax"): [stream(HIDDEN), stream("told")]}, hidden=frozenset({"told"})
    )
    assert notes == ["softmax: an output that names a hidden case was left out"]
    assert [output.text for output in graded(read(course))["softmax"].outputs] == ["[output left out]\n"] * 2


def test_a_file_that_could_not_be_read_is_shown_as_the_lab_and_why(course):
    write(course, unreadable(), None)
    made = read(course, "ira")
    assert made.cells[0].source.startswith("**unreadable: it is empty**")
    assert list(graded(made)) == list(graded(RELEASED))
    assert not (course / "autograded" / "ira" / LAB / "timestamp.txt").exists()


@pytest.mark.parametrize("student", ["Smith, Jr", "a/../../b", "..", "名前", "-rf", "~", "x" * 129, "名" * 100])
def test_an_awkward_name_stays_in_the_course(course, student):
    before = {path for path in course.parent.rglob("*") if path.is_dir()}
    write(course, receipt(student), notebook(), submitted="2026-11-30 12:00 UTC")
    new = {path for path in course.parent.rglob("*") if path.is_dir()} - before
    assert {path.relative_to(course).parts[0] for path in new} == {"autograded"}
    assert len(list((course / "autograded").iterdir())) == 1
    assert kept(load(course), LAB, student).answers == {"which_wall": "The compute wall, since 5 > 3."}


def test_nobody_s_notebook_is_refused(course):
    with pytest.raises(ValueError, match="a student's name needs at least one character"):
        write(course, receipt(""), notebook())


# What is read back


def test_what_was_written_is_read_back_and_a_crash_before_the_gradebook_loses_nothing_of_it(course):
    made = notebook("a < b, <b>both</b> & <script>")
    write(course, receipt(), made, submitted="2026-11-30 12:00 UTC")
    Receipts(course).write(receipt())
    assert reconcile(course, LAB).entered == ["ada"]
    with Gradebook(database(course)) as gradebook:
        assert gradebook.find_submission(LAB, "ada").timestamp == datetime(2026, 11, 30, 12)
    by_hand(course, "which_wall", score=1)
    with Book(course) as book:
        book.enter(receipt(environment="e2"), answers=answers_of(made))
    assert not waiting(course)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"nbformat": 4}'])
def test_a_spoilt_autograded_notebook_gives_no_answers_and_stops_nobody(course, text):
    folder = course / "autograded" / "ada" / LAB
    folder.mkdir(parents=True)
    (folder / f"{LAB}.ipynb").write_text(text, encoding="utf-8")
    (folder / "timestamp.txt").write_text("whenever", encoding="utf-8")
    assert kept(load(course), LAB, "ada") == notebooks.Kept(None, None)
    Receipts(course).write(receipt())
    assert reconcile(course, LAB).entered == ["ada"]


def test_a_lab_that_was_never_released_here_is_refused(course):
    with pytest.raises(ValueError, match="run `autograder release lab99`"):
        write(course, receipt(lab="lab99"), notebook())


# What nbgrader makes of it


@pytest.fixture(scope="module")
def shown(released, tmp_path_factory):
    """A course in which three were graded and one answer was read by a person."""
    import shutil

    course = tmp_path_factory.mktemp("shown") / "course"
    shutil.copytree(released, course)
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8").replace(str(released), str(course)), encoding="utf-8")
    made = notebook("Both <b>walls</b>.")
    outputs = {at(made, "check_softmax"): [report("<table><tr><td>the example</td></tr></table>"), stream("hello")]}
    with Book(course) as book:
        for one in (receipt("ada", scores={"softmax": 2.5}), receipt("Smith, Jr")):
            submitted = course / "submitted" / one.student / LAB
            submitted.mkdir(parents=True)
            (submitted / "timestamp.txt").write_text("2026-11-30 12:00 UTC\n", encoding="utf-8")
            write(course, one, made, outputs, "2026-11-30 12:00 UTC")
            book.enter(one, submitted="2026-11-30 12:00 UTC", answers=answers_of(made))
        write(course, unreadable(), None)
        book.enter(unreadable())
    by_hand(course, "which_wall", score=1.5, comment="Which one?")
    return course


def test_formgrader_lists_every_submission_with_its_points_and_what_waits(shown):
    api = NbGraderAPI(load(shown).directory)
    found = {one["student"]: one for one in api.get_submissions(LAB)}
    assert {name: (one["score"], one["needs_manual_grade"]) for name, one in found.items()} == {
        "ada": (17.0, False),
        "Smith, Jr": (18.0, True),
        "ira": (0.0, False),
    }
    assert found["ada"]["autograded"]
    assert found["Smith, Jr"]["autograded"]
    listed = api.get_notebook_submissions(LAB, LAB)
    assert {one["student"] for one in listed} == set(found)
    with Gradebook(database(shown)) as gradebook:
        grades = gradebook.find_submission_notebook(LAB, LAB, "ada").grades
        by_name = {grade.name: grade.to_dict() for grade in grades}
    assert by_name["check_softmax"]["auto_score"] == 2.5
    assert by_name["check_softmax"]["failed_tests"]
    assert by_name["which_wall"]["manual_score"] == 1.5


def test_formgrader_shows_the_notebook_with_its_outputs(shown):
    import nbgrader.server_extensions.formgrader as formgrader
    from nbconvert.exporters import HTMLExporter
    from traitlets.config import Config

    config = Config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [os.path.join(os.path.dirname(formgrader.__file__), "templates")]
    resources = {"assignment_id": LAB, "notebook_id": LAB, "submission_id": "1", "index": 0, "total": 1, "base_url": ""}
    for student, words in (("ada", "<td>the example</td>"), ("ira", "unreadable: it is empty")):
        path = shown / "autograded" / student / LAB / f"{LAB}.ipynb"
        page, _ = HTMLExporter(config=config).from_filename(str(path), resources=dict(resources))
        assert words in page
        assert 'id="check_softmax"' in page
        assert 'id="which_wall-comment"' in page


def test_feedback_shows_outputs_points_and_comments_and_no_hidden_case(shown):
    course = load(shown)
    quiet = logging.getLogger("feedback")
    quiet.setLevel(logging.ERROR)
    course.directory.assignment_id = LAB
    GenerateFeedback(coursedir=course.directory, config=course.config, log=quiet).start()
    page = (shown / "feedback" / "ada" / LAB / f"{LAB}.html").read_text("utf-8")
    assert "<td>the example</td>" in page
    assert "hello" in page
    assert "Graded: 2.5 of 5 points" in page
    assert "(Score: 17.0 / 20.0)" in page
    assert "Which one?" in page
    assert HIDDEN not in page
    assert (shown / "feedback" / "Smith, Jr" / LAB / f"{LAB}.html").exists()
    assert "unreadable: it is empty" in (shown / "feedback" / "ira" / LAB / f"{LAB}.html").read_text("utf-8")
    assert points(shown)["check_softmax"] == 2.5
