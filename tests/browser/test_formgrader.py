"""The written answer graded by a person, in nbgrader's formgrader in a real browser, and read again in the export."""

import csv

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import expect

from tests.autograder.submissions import LAB
from tests.browser.formgrader import formgrader, give, keep, submission

COMMENT = "Both numbers are there; say which one the remedy changes."


@pytest.fixture(scope="module")
def course(graded, tmp_path_factory):
    return graded.copy(tmp_path_factory.mktemp("formgrader") / "course")


@pytest.fixture(scope="module")
def pages(browser, course, tmp_path_factory):
    with formgrader(browser, course.course, tmp_path_factory.mktemp("jupyter")) as started:
        yield started


def test_a_person_grades_the_written_answer_and_the_export_has_it(course, pages):
    page = pages.page("formgrader")
    page.get_by_role("link", name=LAB).first.wait_for()
    page.goto(pages.url(f"formgrader/gradebook/{LAB}/{LAB}"))
    expect(page.get_by_text("Submission #")).to_have_count(9)  # all but the file that is no notebook

    submission(pages, page, course.database, LAB, "ada")
    assert page.locator("#check_softmax").get_attribute("placeholder") == "5"
    assert page.get_by_text("(passed: 7 of 7 cases, 5 / 5 points)").count() == 1
    give(page, "which_wall", "1.5", COMMENT)
    keep(page, "formgrader")

    with Gradebook(course.database) as gradebook:
        found = gradebook.find_submission(LAB, "ada")
        assert found.score == 18 + 1.5
        assert not found.needs_manual_grade
    assert course.nbgrader("export").returncode == 0
    with open(course.course / "grades.csv", encoding="utf-8", newline="") as file:
        scores = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
    assert float(scores["ada"]) == 19.5
    assert course.nbgrader("generate_feedback", LAB, "--student", "ada").returncode == 0
    feedback = (course.course / "feedback" / "ada" / LAB / f"{LAB}.html").read_text(encoding="utf-8")
    assert COMMENT in feedback
