"""The small course and its overlay: shared as they are, or copied for a test that spoils them."""

import shutil
from pathlib import Path

import pytest

from autograder.overlay.folder import Overlay
from autograder.overlay.personal import Overlaid
from autograder.versions import current
from tests.autograder.small import LAB, OVERLAID, repository, write


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory) -> Path:
    """The author's folder of the small lab. No test may change it."""
    return repository(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def instructor(tmp_path_factory) -> Path:
    """An instructor's private folder. No test may change it."""
    folder = tmp_path_factory.mktemp("private")
    write(folder / LAB, OVERLAID)
    return folder


@pytest.fixture
def own(instructor, tmp_path) -> Path:
    """A copy of the overlay, which the test may spoil."""
    return Path(shutil.copytree(instructor / LAB, tmp_path / "own" / LAB))


@pytest.fixture(scope="session")
def overlaid(lab_folder, instructor) -> Overlaid:
    return Overlaid(current(lab_folder), Overlay(instructor / LAB))
