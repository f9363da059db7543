"""What people see of grades made by `autograder grade`: formgrader in a real browser, a person's points, exports, feedback.

Five hand in lab 00: one is right, one wrong in a known way, one ends the process, one is hostile in every text that a student
has, and one file is no notebook. Nothing hostile may run in a page, and no hidden case may be read by a student.
"""

import csv
import re
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook
from playwright.sync_api import Page, expect

from autograder.cli import main
from autograder.records.course import known_as
from autograder.records.receipts import Receipts
from tests.autograder.nbgrader_round import nbgrader
from tests.autograder.submissions import LAB, answers, known, right
from tests.browser.formgrader import formgrader, give, keep, submission

HOSTILE = "<img src=x onerror=document.title='taken'>"
ANSWER = f"""</textarea></div><script>document.title='taken'</script>{HOSTILE}
The cache is 64 GB, and **the roof** is at 3 ms: [here](javascript:document.title='taken')
<div style="position:fixed;top:0;left:0;width:100%;height:100%">over the page"""
SHOWS = f"""import sys, warnings
import matplotlib.pyplot as plt
from IPython.display import HTML, display
display(HTML("<b>bold words</b><script>document.title='taken'</script>{HOSTILE}"))
print("</pre><script>document.title='taken'</script>")
print("to stderr", file=sys.stderr)
warnings.warn("careful now")
plt.plot([1, 2, 4])
plt.show()"""
EXITS = "def softmax(x):\n    import os\n    os._exit(0)"
COMMENT = "Both numbers are there; say which one the remedy changes."
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,{lab} (12)\n    Points Possible,,,,,20\n{rows}"


def edited(text: str, written: str | None = None, more: str | None = None) -> str:
    """A notebook with another written answer, or with one more cell."""
    notebook = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "which_wall" and written is not None:
            cell.source = written
    if more is not None:
        notebook.cells.append(nbformat.v4.new_code_cell(more))
    return nbformat.writes(notebook)


def command(*words: str) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


class Class:
    """A course, and the folder of what was handed in."""

    def __init__(self, folder: Path) -> None:
        self.course, self.handed_in = folder / "course", folder / "handed in"
        self.database = f"sqlite:///{self.course / 'gradebook.db'}"
        self.handed_in.mkdir()
        command("release", LAB, "--course", self.course)

    def hand_in(self, student: str, text: str) -> None:
        (self.handed_in / f"{student}.ipynb").write_text(text, encoding="utf-8")

    def grade(self) -> str:
        return command("grade", LAB, self.handed_in, "--course", self.course)

    def found(self, student: str) -> tuple[float, bool]:
        """The sum in the gradebook, and whether a person is asked to look."""
        with Gradebook(self.database) as gradebook:
            one = gradebook.find_submission(LAB, known_as(student))
            return one.score, one.needs_manual_grade

    def exported(self, form: str, *options: str) -> list[dict[str, str]]:
        into = self.course / f"{form}.csv"
        command("export", LAB, "--format", form, "--into", into, "--course", self.course, *options)
        with open(into, encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def a_class(tmp_path_factory) -> Class:
    made = Class(tmp_path_factory.mktemp("grades"))
    made.hand_in("ada", right("ada").text)
    made.hand_in("ben", right("ben", written=False, softmax=known("softmax_without_maximum")).text)
    made.hand_in("cleo", right("cleo", softmax=EXITS).text)
    made.hand_in(HOSTILE, edited(right("eve").text, written=ANSWER, more=SHOWS))
    made.hand_in("ira", "{")
    made.grade()
    return made


@pytest.fixture(scope="module")
def lab(browser, a_class, tmp_path_factory):
    with formgrader(browser, a_class.course, tmp_path_factory.mktemp("jupyter")) as started:
        yield started


@pytest.fixture
def page(lab):
    """A page on which nothing of a student's has run when the test is over."""
    page = lab.page("formgrader")
    page.on("dialog", lambda dialog: dialog.dismiss())
    yield page
    assert "taken" not in page.title()


@pytest.fixture
def opened(lab, page, a_class):
    """Opens a student's notebook, and checks that nothing of it has run."""

    def open_it(student: str) -> Page:
        submission(lab, page, a_class.database, LAB, known_as(student))
        assert "taken" not in page.title()
        return page

    return open_it


def hidden_texts(a_class: Class) -> set[str]:
    """What is told apart in receipts alone: the names of hidden cases, and what was said of them and of no visible one."""
    shown, hidden = set[str](), set[str]()
    for student in ("ada", "ben", "cleo", HOSTILE):
        for check in Receipts(a_class.course).read(LAB, student).checks:
            for case in check.cases:
                (hidden if case.hidden else shown).update({case.name, case.said})
    return hidden - shown


def test_the_list_has_everybody_with_their_points(page, lab, a_class):
    page.goto(lab.url(f"formgrader/manage_submissions/{LAB}"))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(5)
    keep(page, "grades_list")
    lines = [" ".join(text.split()) for text in rows.all_inner_texts()]
    for student, points, status in (
        ("ada", "18 / 20", "needs manual grading"),
        ("ben", "15.5 / 20", "graded"),
        ("cleo", "13 / 20", "needs manual grading"),
        (known_as(HOSTILE), "18 / 20", "needs manual grading"),
        ("ira", "0 / 20", "graded"),
    ):
        assert sum(student in line and points in line and status in line for line in lines) == 1, lines
    for path in ("manage_students", f"gradebook/{LAB}/{LAB}"):
        page.goto(lab.url(f"formgrader/{path}"))
        expect(rows.first).to_be_visible()
        assert "taken" not in page.title()
    page.goto(lab.url("formgrader/manage_students"))
    page.locator("tr", has_text=known_as(HOSTILE)).get_by_role("link", name="None, None").click()
    expect(page.get_by_role("link", name=LAB)).to_be_visible()  # the page of one student finds the student


def test_a_page_has_outputs_points_and_comments_and_nothing_of_it_runs(opened):
    page = opened("ben")
    assert page.locator("#check_softmax").get_attribute("placeholder") == "2.5"
    assert page.get_by_text("(not yet: 4 of 7 cases, 2.86 / 5 points)").count() == 1
    assert page.get_by_text("Graded: 2.5 of 5 points; 5 of 10 cases, some of which are not shown").count() == 1
    assert page.get_by_text("a known mistake: The exponentials are right").count() == 1
    keep(page, "grades_ben")
    page = opened("cleo")
    assert "crashed in check_softmax" in page.locator("#softmax-comment").get_attribute("placeholder")
    assert page.locator("#check_softmax").get_attribute("placeholder") == "0"
    page = opened("ira")
    assert page.locator("strong", has_text="unreadable: ").is_visible()
    page = opened(HOSTILE)
    for words in ("bold words", "</pre><script>", "to stderr", "careful now", "</textarea></div><script>", "the roof"):
        expect(page.get_by_text(words).last).to_be_visible()
    assert page.locator("img[src^='data:image/png']").count() >= 1
    assert page.locator("[style*=fixed]").count() == 0
    page.locator("#which_wall").click(trial=True)  # nothing lies over it
    keep(page, "grades_hostile")


def test_no_page_for_students_names_a_hidden_case(opened, a_class):
    secret = hidden_texts(a_class)
    assert len(secret) >= 10
    done = nbgrader(a_class.course, "generate_feedback", LAB)
    assert done.returncode == 0, done.stderr
    for student in ("ada", "ben", "cleo", HOSTILE, "ira"):
        page = opened(student).locator("body").inner_text()
        where = a_class.course / "feedback" / known_as(student) / LAB / f"{LAB}.html"
        feedback = where.read_text(encoding="utf-8")
        assert not [text for text in secret if text in page or text in feedback]
        assert "<script>document.title" not in feedback
        assert "onerror=document" not in re.sub(r"&lt;.*?&gt;", "", feedback)


def test_a_person_grades_the_written_answer_and_exports_have_the_sum(opened, a_class):
    for student, points in (("ada", "1.5"), (HOSTILE, "0.5")):
        give(opened(student), "which_wall", points, COMMENT)
    keep(opened("ada"), "grades_by_hand")
    assert a_class.found("ada") == (19.5, False)
    scores = {row["student_id"]: row["score"] for row in a_class.exported("csv")}
    assert (scores["ada"], scores[HOSTILE], scores["ben"]) == ("19.5", "18.5", "15.5")
    assert scores["cleo"] == ""  # a person has not looked yet
    sheet = a_class.course / "sheet.csv"
    students = ("ada", "ben", "cleo", HOSTILE, "ira")
    rows = "".join(f"{student},{number},,{student},A,\n" for number, student in enumerate(students))
    sheet.write_text(CANVAS.format(lab=LAB, rows=rows), encoding="utf-8")
    filled = {row["SIS Login ID"]: row[f"{LAB} (12)"] for row in a_class.exported("canvas", "--sheet", str(sheet))}
    assert (filled["ada"], filled[HOSTILE], filled["cleo"]) == ("19.5", "18.5", "")
    done = nbgrader(a_class.course, "generate_feedback", LAB, "--student", "ada", "--force")
    assert done.returncode == 0, done.stderr
    assert COMMENT in (a_class.course / "feedback" / "ada" / LAB / f"{LAB}.html").read_text(encoding="utf-8")


def test_a_rerun_keeps_what_a_person_gave_and_asks_again_for_another_answer(opened, a_class):
    give(opened("ada"), "which_wall", "1", COMMENT + " Look again.")
    assert "as before" in next(line for line in a_class.grade().splitlines() if line.startswith("ada "))
    assert a_class.found("ada") == (19, False)

    a_class.hand_in("ada", edited(right("ada").text, more="print('more')"))
    assert "as before" not in next(line for line in a_class.grade().splitlines() if line.startswith("ada "))
    assert a_class.found("ada") == (19, False)  # the answer is the same

    a_class.hand_in("ada", edited(right("ada").text, written=answers()["which_wall"] + " And more."))
    assert "which_wall has changed since a person graded it" in a_class.grade()
    assert a_class.found("ada") == (19, True)
    page = opened("ada")
    assert page.locator("#which_wall").input_value() == "1"
    assert page.locator("#which_wall-comment").input_value() == COMMENT + " Look again."
