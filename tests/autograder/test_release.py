"""What `autograder release` makes, and what it refuses."""

import pytest
from click.testing import CliRunner

from autograder import release as module
from autograder.cli import main
from course_lib.house import sync
from tests.autograder.submissions import LAB, SOURCE


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(ValueError, match="not an nbgrader course and not empty"):
        module.release(SOURCE, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_release_that_does_not_follow_from_its_source_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sync, "run", lambda root, check: 1)
    with pytest.raises(ValueError, match="run `course sync` first"):
        module.release(SOURCE, tmp_path / "course")
    assert not (tmp_path / "course").exists()


def test_a_lab_that_is_not_there_is_named_beside_those_that_are(tmp_path):
    result = CliRunner().invoke(main, ["release", "lab99_nothing", "--course", str(tmp_path / "course")])
    assert result.exit_code == 1
    assert "there is no lab lab99_nothing" in result.output
    assert LAB in result.output


def test_outside_the_repository_it_says_where_to_run(tmp_path, monkeypatch):
    from course_lib.house import paths

    monkeypatch.setattr(paths, "root", lambda: None)
    result = CliRunner().invoke(main, ["release", "--course", str(tmp_path / "course")])
    assert result.exit_code == 1
    assert "solutions/ is not here" in result.output
