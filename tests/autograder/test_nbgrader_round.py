"""Plain nbgrader, end to end, on ten notebooks: every honest point arrives, and a broken notebook costs nobody else anything."""

import csv
import re

import pytest
from nbgrader.api import Gradebook

from autograder.release import release
from course_lib.checks import labs
from tests.autograder.nbgrader_round import hand_in
from tests.autograder.submissions import FULL, LAB, ROOT, SOURCE, all_ten, answers, right

STUDENTS = [submission.student for submission in all_ten()]


@pytest.mark.parametrize("student", STUDENTS)
def test_each_student_gets_the_points_of_each_check(graded, student):
    wanted = graded.submissions[student].points
    with Gradebook(graded.database) as gradebook:
        submission = gradebook.find_submission(LAB, student)
        scores = {grade.name: grade.auto_score for grade in submission.notebooks[0].grades}
    if wanted is None:  # the file is no notebook: nothing is recorded as earned, and nothing as failed
        assert set(scores.values()) == {None}
    else:
        assert {name: scores[name] for name in FULL} == wanted


def test_the_ten_tell_the_cases_apart():
    totals = [sum(submission.points.values()) for submission in all_ten() if submission.points is not None]
    assert (max(totals), min(totals)) == (18, 0)
    assert len({total for total in totals if 0 < total < 18}) >= 3


def test_a_file_that_is_no_notebook_is_reported_and_stops_nobody(graded):
    assert graded.autograde.returncode != 0
    failed = re.findall(r"error processing assignment '\w+' for student '(\w+)'", graded.autograde.stderr)
    assert failed == ["ira"]


def test_a_written_answer_waits_for_a_person_and_an_empty_one_scores_nothing(graded):
    with Gradebook(graded.database) as gradebook:
        for student, submission in graded.submissions.items():
            if submission.points is None:
                continue
            found = gradebook.find_submission(LAB, student)
            written = next(grade for grade in found.notebooks[0].grades if grade.name == "which_wall")
            assert bool(written.needs_manual_grade) == submission.answered
            assert (written.auto_score, written.score) == (None if submission.answered else 0, 0)
            assert written.max_score == 2


def test_the_gradebook_knows_the_labs_points(graded):
    with Gradebook(graded.database) as gradebook:
        assert gradebook.find_assignment(LAB).max_score == labs.load(SOURCE).points == 20


def test_a_person_finds_the_rubric_of_each_written_answer_beside_the_course_and_a_student_never(graded):
    page = (graded.course / "rubrics" / f"{LAB}.md").read_text(encoding="utf-8")
    item = labs.load(SOURCE).written_items["which_wall"]
    assert "## which_wall (2 points)" in page
    assert all(f"- {points:g}: {text}" in page for text, points in item.rubric.items())
    handed_out = (graded.course / "release" / LAB / f"{LAB}.ipynb").read_text(encoding="utf-8")
    assert not [text for text in item.rubric if text in handed_out]


def test_validate_tells_a_right_notebook_from_an_untouched_one(graded):
    right = graded.nbgrader("validate", f"submitted/ada/{LAB}/{LAB}.ipynb")
    untouched = graded.nbgrader("validate", f"release/{LAB}/{LAB}.ipynb")
    assert "Success! Your notebook passes all the tests." in right.stdout
    assert "VALIDATION FAILED ON" in untouched.stdout.upper() + untouched.stderr.upper()


def test_feedback_holds_the_report_and_no_hidden_case(graded):
    done = graded.nbgrader("generate_feedback", LAB, "--student", "ben")
    page = (graded.course / "feedback" / "ben" / LAB / f"{LAB}.html").read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    lab = labs.load(SOURCE)
    assert all(case.name in page for case in lab.checks["softmax"].visible_cases())
    assert "2.86" in page
    assert "nan in" in page
    hidden = [case.name for check in lab.checks.values() for case in check.hidden_cases(seed=1)]
    assert hidden
    assert not [name for name in hidden if name in page]


def test_export_has_a_line_for_each_student_with_the_right_score(graded):
    done = graded.nbgrader("export")
    assert done.returncode == 0, done.stderr
    with open(graded.course / "grades.csv", encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file) if row["assignment"] == LAB}
    assert set(rows) == set(graded.submissions)
    for student, submission in graded.submissions.items():
        assert float(rows[student]["raw_score"]) == pytest.approx(sum((submission.points or {}).values()))
        assert float(rows[student]["max_score"]) == 20


def test_no_answer_and_no_hidden_case_is_handed_out(graded):
    released = (graded.course / "release" / LAB / f"{LAB}.ipynb").read_bytes()
    assert released == (ROOT / "labs" / LAB / f"{LAB}.ipynb").read_bytes()
    text = released.decode()
    assert "BEGIN SOLUTION" not in text
    for name, source in answers().items():
        body = re.search(r"### BEGIN SOLUTION\n(.*?)\s*### END SOLUTION", source, re.DOTALL)
        lines = body[1].splitlines() if body else source.splitlines()
        longest = max(lines, key=len).strip()
        assert longest not in text, name


def test_releasing_again_keeps_what_was_graded(graded, tmp_path):
    again = graded.copy(tmp_path / "course")
    release(SOURCE, again.course)
    with Gradebook(again.database) as gradebook:
        assert gradebook.find_submission(LAB, "ada").score == 18


@pytest.mark.slow
def test_an_endless_loop_costs_what_waits_for_it_and_nothing_else(graded, tmp_path):
    again = graded.copy(tmp_path / "course")
    config = again.course / "nbgrader_config.py"
    released = config.read_text(encoding="utf-8")
    assert "timeout = 60" in released
    config.write_text(released.replace("timeout = 60", "timeout = 3"), encoding="utf-8")
    kim = right("kim", generate="def generate(next_token, prompt, n_new):\n    while True:\n        pass")
    hand_in(again.course, kim)
    done = again.nbgrader("autograde", LAB, "--student", "kim")
    assert done.returncode == 0, done.stderr
    with Gradebook(again.database) as gradebook:
        scores = {grade.name: grade.auto_score for grade in gradebook.find_submission(LAB, "kim").notebooks[0].grades}
    assert {name: scores[name] for name in FULL} == FULL | {"check_generate": 0, "check_prediction": 0}
