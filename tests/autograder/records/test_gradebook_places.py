"""Where the gradebook stands, which courses and addresses are refused, and nbgrader's own commands beside our marks."""

import csv
import os
import sys
from pathlib import Path

import pytest
from nbgrader import dbutil
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.records.gradebook import Book, Person
from tests.autograder.records.made_up import (
    database,
    receipt,
    rows,
)
from tests.autograder.submissions import LAB


def test_a_lab_that_was_not_released_is_refused_and_nothing_is_entered(course, book):
    before = rows(course)
    with pytest.raises(ValueError, match="does not know lab99: run `autograder release lab99` first"):
        book.enter(receipt(lab="lab99"))
    assert rows(course) == before


def test_a_folder_without_a_course_or_without_its_gradebook_is_refused(course, tmp_path):
    with pytest.raises(ValueError, match=r"nbgrader_config.py is missing"):
        Book(tmp_path)
    (course / "gradebook.db").unlink()
    with pytest.raises(ValueError, match=r"there is no gradebook at .*: run `autograder release` first"):
        Book(course)
    assert not (course / "gradebook.db").exists()


def test_a_course_that_was_copied_does_not_write_into_the_one_that_it_was_copied_from(released, tmp_path):
    (tmp_path / "nbgrader_config.py").write_bytes((released / "nbgrader_config.py").read_bytes())
    with pytest.raises(ValueError, match="it was moved or copied"):
        Book(tmp_path)


@pytest.mark.parametrize("address", ["sqlite:///{course}/elsewhere/grades.db", "sqlite:///elsewhere/grades.db"])
def test_the_gradebook_stands_where_the_course_says(course, address):
    (course / "elsewhere").mkdir()
    moved = course / "elsewhere" / "grades.db"
    (course / "gradebook.db").rename(moved)
    with open(course / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write(f'c.CourseDirectory.db_url = "{address.format(course=course)}"\n')
    with Book(course) as book:
        book.enter(receipt())
    with Gradebook(f"sqlite:///{moved}") as gradebook:
        assert gradebook.find_submission(LAB, "ada").score == 18
    assert not (course / "gradebook.db").exists()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("grades", "db_url cannot be read"),
        ("sqlite:////nowhere/grades.db", "there is no gradebook at /nowhere/grades.db"),
        ("nosuchdatabase://host/grades", "cannot be used: Can't load plugin"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused(course, address, said):
    with open(course / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write(f'c.CourseDirectory.db_url = "{address}"\n')
    with pytest.raises(ValueError, match=said):
        Book(course)


def test_nbgrader_s_own_upgrade_and_export_live_with_the_marks(course, book, monkeypatch):
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    book.enter(receipt(), Person("Ada", "Lovelace"))
    dbutil.upgrade(database(course))
    table = course / "grades.csv"
    with Gradebook(database(course)) as gradebook:
        CsvExportPlugin(to=str(table)).export(gradebook)
    (row,) = csv.DictReader(table.read_text("utf-8").splitlines())
    assert (row["student_id"], row["score"], row["max_score"]) == ("ada", "18.0", "20.0")
    assert not book.pending([receipt()])
