"""A grader killed at any moment: nothing of it lives on, nothing is lost, and the next run ends as if nothing had happened."""

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from autograder.grading.course import Wish, grade_course
from autograder.grading.judge import Limits
from autograder.grading.scratch import Scratch, clear
from autograder.records.identity import course_key
from tests.autograder.grading import a_batch
from tests.autograder.submissions import SOURCE


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> tuple[Path, Path]:
    """A course with its key, and what was handed in."""
    above = tmp_path_factory.mktemp("killed")
    course = a_batch.released(above / "course")
    course_key(course)
    a_batch.hand_in(above / "handed in", 6)
    return course, above / "handed in"


@pytest.fixture(scope="module")
def undisturbed(given, tmp_path_factory) -> dict[str, object]:
    """What a course keeps when nobody kills anything."""
    course = a_batch.copied(given[0], tmp_path_factory.mktemp("undisturbed") / "course")
    assert len(list(grade_course(SOURCE, course, [given[1]], Wish()))) == 6
    return a_batch.kept(course)


def killed_again_and_again(given, course: Path, jobs: int, kills: int, seed: int) -> None:
    """Starts graders and kills each after so many lines and so much time more; then lets one end."""
    dice = random.Random(seed)
    words = ("--jobs", str(jobs))
    with a_batch.alone() as place:
        for _ in range(kills):
            grader = a_batch.Copy(course, given[1], *words, temporary=place.temporary)
            for _ in range(dice.randrange(7)):
                grader.said.readline()
            time.sleep(dice.uniform(0, 0.6))
            grader.ended(by=signal.SIGKILL)
            place.nothing_left()
        status, said = a_batch.Copy(course, given[1], *words, temporary=place.temporary).ended()
        assert status == 0, said


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_rerun_ends_with_what_an_undisturbed_run_gives(given, undisturbed, tmp_path, jobs):
    course = a_batch.copied(given[0], tmp_path / "course")
    killed_again_and_again(given, course, jobs, kills=2, seed=jobs)
    assert a_batch.kept(course) == undisturbed


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_student_does_at_length_ends_at_once_with_the_grader(given, tmp_path, jobs):
    course = a_batch.copied(given[0], tmp_path / "course")
    a_batch.hand_in(tmp_path / "long", 2, slow="import time, pathlib\npathlib.Path('here').touch()\ntime.sleep(1000)")
    with a_batch.alone() as place:
        grader = a_batch.Copy(course, tmp_path / "long", "--jobs", str(jobs), temporary=place.temporary)
        a_batch.until(lambda: len(list(place.temporary.glob("*/submission-*/here"))) == jobs)
        grader.ended(by=signal.SIGKILL)
        place.nothing_left(patience_s=Limits().cell / 2)
        clear_in(place.temporary)


def clear_in(temporary: Path) -> None:
    """Clears as the next grader does."""
    before, tempfile.tempdir = tempfile.tempdir, str(temporary)
    try:
        clear()
    finally:
        tempfile.tempdir = before


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("jobs", [1, 2])
def test_so_it_does_after_many_kills(given, undisturbed, tmp_path, jobs, seed):
    course = a_batch.copied(given[0], tmp_path / "course")
    killed_again_and_again(given, course, jobs, kills=10, seed=100 + seed)
    assert a_batch.kept(course) == undisturbed


def test_the_folder_of_a_grader_that_lives_is_left_alone_and_that_of_a_dead_one_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            scratch = Scratch()
            (scratch.path / "closed" / "inner").mkdir(parents=True)
            (scratch.path / "closed").chmod(0)
            os.write(writing, b".")
            time.sleep(600)
        finally:
            os._exit(0)
    try:
        os.read(reading, 1)
        mine = Scratch()
        assert len(a_batch.leftovers(tmp_path)) == 2
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    clear()
    assert a_batch.leftovers(tmp_path) == [mine.path.name]
    mine.close()
    assert a_batch.leftovers(tmp_path) == []


def test_what_only_looks_like_a_graders_folder_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    other = tmp_path / "other"
    (other / "kept").mkdir(parents=True)
    (tmp_path / "course-grading-link").symlink_to(other)
    (tmp_path / "course-grading-file").write_text("x")
    clear()
    assert (other / "kept").is_dir()
    assert sorted(a_batch.leftovers(tmp_path)) == ["course-grading-file", "course-grading-link"]
