"""Workers: one that is lost costs nothing, one that cannot grade a submission holds up nobody else's."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading import texts, workers
from autograder.grading.batch import Graded, Task
from autograder.grading.grader import Basis, Grader
from autograder.grading.texts import Setting
from autograder.sandbox import probe
from tests.autograder.grading import a_batch
from tests.autograder.submissions import SOURCE


@pytest.fixture(scope="module")
def basis() -> Basis:
    return Basis(SOURCE, probe())


@pytest.fixture(scope="module")
def tasks(tmp_path_factory) -> list[Task]:
    folder = tmp_path_factory.mktemp("workers") / "handed in"
    students = a_batch.hand_in(folder, 4)
    return [Task(student, f"{student}.ipynb", (folder / f"{student}.ipynb").read_bytes(), 7) for student in students]


@pytest.fixture(scope="module")
def expected(basis, tasks) -> dict[str, Graded]:
    with Grader(basis) as grader:
        return {task.student: grader.grade(task) for task in tasks}


def test_a_worker_that_is_killed_is_replaced_and_gives_the_same(basis, tasks, expected, monkeypatch):
    found = []
    with a_batch.alone() as place:
        monkeypatch.setenv("TMPDIR", str(place.temporary))
        results = workers.graded(basis, tasks, 2)
        found.append(next(results))
        killed = a_batch.left(place.before)
        victims = [pid for pid in killed if b"workers" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert len(victims) == 2
        os.kill(victims[0], signal.SIGKILL)
        found += results
        # What the killed one had lies there until the next grader looks.
        with Grader(replace(basis)) as grader:
            monkeypatch.setattr("tempfile.tempdir", str(place.temporary))
            grader.grade(replace(tasks[0], seed=1))
    assert {one.receipt.student: one.receipt.to_json() for one in found} == {
        student: one.receipt.to_json() for student, one in expected.items()
    }
    assert len(found) == 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_submission_that_cannot_be_graded_is_named_when_all_others_are(basis, tasks, jobs):
    broken = Task("broken", "", tasks[3].content, 7, notes=None)  # type: ignore[arg-type]
    with a_batch.alone():
        results = workers.graded(basis, [broken, tasks[3], tasks[3]], jobs)
        assert [next(results).receipt.student for _ in range(2)] == ["student 03"] * 2
        with pytest.raises(ValueError, match=r"not graded, after 3 tries each: broken: .*Error"):
            next(results)


def test_where_nothing_can_be_graded_it_is_said_before_everything_was_tried(basis, tasks):
    broken = [Task(f"broken {number}", "", b"x", 7, notes=None) for number in range(50)]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not graded") as said:
        list(workers.graded(basis, broken, 1))
    assert str(said.value).count("broken") == workers.MOST_GIVEN_UP


def test_a_worker_that_has_no_lab_says_so(basis):
    elsewhere = replace(basis, folder=SOURCE.parent / "lab99_not_there")
    worker = workers.Worker(texts.of_setting(Setting(elsewhere)))
    try:
        worker.ask(standing=True)
        with pytest.raises(workers.Failed, match=r"there is no folder .*lab99_not_there"):
            worker.answer()
    finally:
        worker.close()
    worker.ask(standing=True)
    with pytest.raises(workers.Failed, match="its process ended"):
        worker.answer()


def test_what_travels_arrives_as_it_was(tasks, expected):
    for task in [*tasks, Task("no file", "", None, 3, "it is a folder", ("a note",))]:
        assert texts.to_task(texts.of_task(task)) == task
    for one in expected.values():
        again = texts.to_graded(texts.of_graded(one))
        assert again == one
        assert again.receipt.to_json() == one.receipt.to_json()
    odd = replace(expected["student 00"], outputs={0: [{"data": {"text/plain": b"bytes", (1, 2): "x"}}]})
    assert texts.to_graded(texts.of_graded(odd)).outputs == {0: [{"data": {"text/plain": None}}]}
    for text in ("no JSON", "[]", "{}", '{"receipt": "{}", "outputs": [], "notebook": null, "answers": {}}'):
        with pytest.raises(ValueError, match="not a result"):
            texts.to_graded(text)


def test_what_a_grader_rests_on_is_found_again_where_the_repository_is(basis, tmp_path):
    there = texts.to_basis(texts.of_setting(Setting(replace(basis, course=tmp_path))))
    assert there == replace(basis, course=tmp_path)
    assert str(SOURCE) not in texts.of_setting(Setting(basis))
    moved = texts.of_setting(Setting(replace(basis, course=tmp_path / "not here"), ("namespaces",), probes=True))
    assert texts.to_basis(moved).course is None
    assert texts.to_basis(moved).report.level in "CD"


def test_differences_are_told_by_name():
    here = {"numpy": "2.4", "lab": "abc", "sandbox level": "A"}
    assert texts.differences(here, dict(here)) == []
    there = here | {"numpy": "2.3", "more": "x"}
    assert texts.differences(here, there) == ["numpy is 2.3 there, 2.4 here", "more is x there, unknown here"]
