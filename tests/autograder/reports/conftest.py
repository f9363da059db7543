"""A course whose class shows every state a submission can be in, made once and copied for each test."""

import shutil
from pathlib import Path

import pytest

from tests.autograder.records import conftest as records
from tests.autograder.reports.a_class import enter_class

released = records.released
course = records.course


@pytest.fixture(scope="session")
def graded_once(released, tmp_path_factory) -> Path:
    """The course with the class graded, Ada's written answer by a person."""
    folder = _copy(released, tmp_path_factory.mktemp("reports") / "course")
    enter_class(folder)
    return folder


@pytest.fixture
def graded(graded_once, tmp_path) -> Path:
    return _copy(graded_once, tmp_path / "course")


def _copy(course: Path, folder: Path) -> Path:
    shutil.copytree(course, folder)
    config = folder / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8").replace(str(course), str(folder)), encoding="utf-8")
    return folder
