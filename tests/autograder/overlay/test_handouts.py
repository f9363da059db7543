"""Each student's notebook: their own text and visible cases, no answer, no hidden case, and for nobody else."""

import json
import re

import nbformat
import pytest

from autograder.overlay.handouts import hand_out, students_in
from autograder.records.identity import course_key, seed_for
from course_lib.checks import frozen
from course_lib.checks.notebook import lab as notebook_lab
from course_lib.house.bundle import Secret
from course_lib.house.release import SOLUTION
from tests.autograder.small import LAB, SQUARES, TIMES

STUDENTS = [f"s{i}" for i in range(6)]


@pytest.fixture(scope="module")
def course(overlaid, tmp_path_factory):
    """A folder with everybody's hand-outs."""
    folder = tmp_path_factory.mktemp("course")
    paths = list(hand_out(overlaid, folder, STUDENTS))
    assert [path.parent.name for path in paths] == STUDENTS
    return folder


def drawn_for(overlaid, course, student):
    return overlaid.drawn(seed_for(course_key(course), LAB, student, ""))


def texts(course, student):
    notebook = nbformat.read(course / "handouts" / LAB / student / f"{LAB}.ipynb", as_version=4)
    return "\n".join(cell.source for cell in notebook.cells), notebook


def test_a_notebook_holds_its_students_numbers_and_variant_and_is_whole(overlaid, course):
    kinds = set()
    for student in STUDENTS:
        drawn = drawn_for(overlaid, course, student)
        text, notebook = texts(course, student)
        nbformat.validate(notebook)
        kinds.add(drawn.variants["total"])
        wanted = (
            "Three squares" if drawn.variants["total"] == "squares" else f"Three numbers, {drawn.numbers['n']} times"
        )
        assert wanted in text
        assert "{{" not in text
        assert notebook.metadata.course == {**overlaid.edition.released.metadata.course, "drawn": drawn.mark}
        public = [cell.source for cell in overlaid.edition.released.cells]
        assert sum(cell.source not in public for cell in notebook.cells) in (
            1,
            2,
        )  # the text, and where a number is, the stub
    assert kinds == {"times", "squares"}


def test_nbgrader_finds_its_checksums_right_where_a_number_was_put_in(course):
    from nbgrader.utils import compute_checksum

    for student in STUDENTS:
        for cell in texts(course, student)[1].cells:
            if "nbgrader" in cell.metadata:
                assert cell.metadata.nbgrader.checksum == compute_checksum(cell)


def test_no_answer_and_no_hidden_case_is_handed_out(overlaid, course):
    for student in STUDENTS:
        lab = overlaid.lab_of(drawn_for(overlaid, course, student))
        answers = [
            line.strip() for text in (TIMES, SQUARES) for found in SOLUTION.findall(text) for line in found.splitlines()
        ]
        hidden = [case.name for check in lab.checks.values() for case in check.hidden_cases(0)]
        assert len(hidden) >= 2
        for path in (course / "handouts" / LAB / student).iterdir():
            content = json.loads(path.read_text("utf-8"))
            lines = [line.strip() for text in strings(content) for line in text.splitlines()]
            assert len(lines) > 20
            for kind, secret in (("answer", answers), ("name of a hidden case", hidden)):
                assert Secret(kind, LAB, tuple(re.sub(r"\{\{n}}", "", line) for line in secret)).line_in(lines) is None
            assert not any("### " in line for line in lines)


def strings(value):
    if isinstance(value, str):
        return [value]
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in parts for text in strings(part)]


def test_the_notebook_is_checked_against_the_cases_beside_it(overlaid, course, monkeypatch):
    student = next(one for one in STUDENTS if drawn_for(overlaid, course, one).variants["total"] == "times")
    n = drawn_for(overlaid, course, student).numbers["n"]
    monkeypatch.chdir(course / "handouts" / LAB / student)
    check = notebook_lab(LAB)
    check.total(lambda numbers: sum(numbers) * n)
    assert check._results["total"].passed
    check.total(sum)
    assert not check._results["total"].passed
    own = frozen.load(LAB, course / "handouts" / LAB / student)
    assert [check.hidden for check in own.checks.values()] == [[], []]


@pytest.mark.parametrize(
    ("name", "text", "students"),
    [
        ("class.txt", "\ufeffada\n\n ben \nada\n", ["ada", "ben"]),
        ("class.csv", 'name,student_id\n"Lovelace, Ada",ada\nBen,ben\n', ["ada", "ben"]),
        ("class.csv", "id\n7\n8\n", ["7", "8"]),
    ],
)
def test_a_list_of_students_is_a_text_or_a_csv(tmp_path, name, text, students):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert students_in(tmp_path / name) == students


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("class.csv", "name,mail\nada,a@b\n", "needs a column student_id or id, has name, mail"),
        ("class.txt", "\n \n", "names no student"),
        ("missing.txt", None, "cannot be read as a list of students"),
    ],
)
def test_a_list_that_names_nobody_is_refused(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        students_in(tmp_path / name)
