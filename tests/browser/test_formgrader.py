"""The written answer graded by a person, in nbgrader's formgrader in a real browser, and read again in the export."""

import csv
import os
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import expect

from tests.autograder.submissions import LAB
from tests.browser.jupyter import Lab

COMMENT = "Both numbers are there; say which one the remedy changes."


@pytest.fixture(scope="module")
def course(graded, tmp_path_factory):
    return graded.copy(tmp_path_factory.mktemp("formgrader") / "course")


@pytest.fixture(scope="module")
def formgrader(browser, course, tmp_path_factory):
    """JupyterLab started in the nbgrader course, as README has it."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with Lab(course.course, browser, tmp_path_factory.mktemp("jupyter"), environment={"PATH": tools}) as lab:
        yield lab


def test_a_person_grades_the_written_answer_and_the_export_has_it(course, formgrader):
    with Gradebook(course.database) as gradebook:
        notebook = gradebook.find_submission_notebook(LAB, LAB, "ada").id

    page = formgrader.page("formgrader")
    page.get_by_role("link", name=LAB).first.wait_for()
    page.goto(formgrader.url(f"formgrader/gradebook/{LAB}/{LAB}"))
    expect(page.get_by_text("Submission #")).to_have_count(9)  # all but the file that is no notebook

    page.goto(formgrader.url(f"formgrader/submissions/{notebook}/"))
    # The boxes are there before formgrader has fetched what belongs in them; what is typed earlier is not saved.
    page.wait_for_function("formgrader.grades?.loaded && formgrader.comments?.loaded")
    score = page.locator("#which_wall")
    assert page.locator("#check_softmax").get_attribute("placeholder") == "5"
    assert page.get_by_text("(passed: 7 of 7 cases, 5 / 5 points)").count() == 1
    with page.expect_response(lambda answer: "/api/grade/" in answer.url and answer.request.method == "PUT"):
        score.fill("1.5")
        score.press("Tab")
    with page.expect_response(lambda answer: "/api/comment/" in answer.url and answer.request.method == "PUT"):
        comment = page.locator("#which_wall-comment")
        comment.fill(COMMENT)
        comment.press("Tab")
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder, "formgrader.png"), full_page=True)

    with Gradebook(course.database) as gradebook:
        submission = gradebook.find_submission(LAB, "ada")
        assert submission.score == 18 + 1.5
        assert not submission.needs_manual_grade
    assert course.nbgrader("export").returncode == 0
    with open(course.course / "grades.csv", encoding="utf-8", newline="") as file:
        scores = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
    assert float(scores["ada"]) == 19.5
    assert course.nbgrader("generate_feedback", LAB, "--student", "ada").returncode == 0
    feedback = (course.course / "feedback" / "ada" / LAB / f"{LAB}.html").read_text(encoding="utf-8")
    assert COMMENT in feedback
