"""A small course with one released lab, made once and copied for each test that writes in it."""

import shutil
from pathlib import Path
from unittest import mock

import pytest

from autograder import release
from autograder.records.gradebook import Book
from course_lib.house import sync
from tests.autograder.submissions import SOURCE


@pytest.fixture(scope="session")
def released(tmp_path_factory) -> Path:
    """The course as `autograder release` leaves it. Other generated files may be out of date: they are not looked at."""
    course = tmp_path_factory.mktemp("records") / "course"
    with mock.patch.object(sync, "run", return_value=0):
        release.release(SOURCE, course)
    return course


@pytest.fixture
def course(released, tmp_path) -> Path:
    folder = tmp_path / "course"
    shutil.copytree(released, folder)
    config = folder / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8").replace(str(released), str(folder)), encoding="utf-8")
    return folder


@pytest.fixture
def book(course):
    with Book(course) as book:
        yield book
