"""A grader that is killed, or that meets another writer: nothing is lost, nothing is there twice, nothing hangs."""

import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.evidence import State, Verdict
from autograder.records.gradebook import Book, reconcile
from autograder.records.receipts import Receipts, locked
from tests.autograder.records.made_up import by_hand, database, receipt
from tests.autograder.submissions import LAB

ROOT = Path(__file__).parents[3]
STUDENTS = [f"student {number:03d}" for number in range(100)]
# Imports once, then starts graders and kills each after so many steps and so many seconds more.
KILLER = """
import json, os, signal, sys, time
from tests.autograder.records.test_killed import grade
course, kills = sys.argv[1], json.loads(sys.argv[2])
for steps, seconds in kills:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        grade(course, lambda: os.write(writing, b"."))
        os._exit(0)
    os.close(writing)
    for _ in range(steps):
        os.read(reading, 1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
print("killed", len(kills), flush=True)
grade(course, lambda: None)
print("done", flush=True)
"""


def grade(course: str, step: Callable[[], object]) -> None:
    """What a grader does with what it has graded; `step` is called between any two writings."""
    with locked(course, wait=10):
        reconcile(course, LAB)
        step()
        receipts = Receipts(course)
        with Book(course) as book:
            for student in STUDENTS:
                one = made(student)
                if receipts.read(LAB, student) != one:
                    receipts.write(one)
                    step()
                    book.enter(one)
                    step()


def made(student: str):
    """A receipt that is the student's own."""
    number = int(student[-3:])
    if number % 10 == 3:
        return receipt(student, State.CRASHED, verdicts={"generate": Verdict.CRASHED})
    return receipt(student, scores={"softmax": number % 6}, answered=number % 2 == 0)


def test_twenty_graders_killed_at_any_moment_lose_nothing_and_enter_nothing_twice(course):
    dice = random.Random(20)
    kills = [(dice.randrange(12), dice.uniform(0, 0.03)) for _ in range(20)]
    command = [sys.executable, "-c", KILLER, str(course), json.dumps(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.stdout == "killed 20\ndone\n", done.stderr
    found = Receipts(course).all(LAB)
    assert found.receipts == {student: made(student) for student in STUDENTS}
    assert not found.faults
    with locked(course):
        assert reconcile(course, LAB).entered == []
    assert not [path for path in (course / "receipts" / LAB).iterdir() if path.name.startswith(".")]
    with Gradebook(database(course)) as gradebook:
        submissions = {one.student.id: one for one in gradebook.assignment_submissions(LAB)}
        assert sorted(submissions) == STUDENTS
        assert {name: one.score for name, one in submissions.items()} == {name: made(name).score for name in STUDENTS}
        cells = {name: sorted(grade.name for grade in one.notebooks[0].grades) for name, one in submissions.items()}
        assert all(names == cells[STUDENTS[0]] and len(set(names)) == len(names) == 7 for names in cells.values())
    connection = sqlite3.connect(course / "gradebook.db")
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    connection.close()


def test_what_a_person_grades_while_receipts_are_entered_is_kept(course):
    with Book(course) as book:
        for student in STUDENTS[:10]:
            book.enter(receipt(student))
    formgrader = Gradebook(database(course))  # open all the while, as formgrader's is
    assert len(formgrader.assignment_submissions(LAB)) == 10
    given = {student: float(number % 3) for number, student in enumerate(STUDENTS[:10])}

    def by_a_person() -> None:
        for student, points in given.items():
            by_hand(course, "which_wall", student, score=points, comment=f"read, {student}")

    person = threading.Thread(target=by_a_person)
    with Book(course) as book:
        person.start()
        for round_ in range(3):
            for student in STUDENTS[:15]:
                book.enter(receipt(student, scores={"softmax": round_}))
        person.join()
    formgrader.db.expire_all()
    for student, points in given.items():
        grade_ = formgrader.find_grade("which_wall", LAB, LAB, student)
        assert grade_.manual_score == points
        assert formgrader.find_comment("which_wall", LAB, LAB, student).comment == f"read, {student}"
        assert formgrader.find_submission(LAB, student).score == 13 + 2 + points
    formgrader.close()


def test_an_entry_waits_for_another_writer_and_then_goes_through(course):
    with Book(course) as book:
        other = sqlite3.connect(course / "gradebook.db", check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, other.rollback)
        timer.start()
        assert book.enter(receipt()).score == 18
        timer.join()
        other.close()


def test_a_gradebook_that_stays_locked_is_reported_and_nothing_is_half_entered(course):
    with Book(course, patience=0.3) as book:
        other = sqlite3.connect(course / "gradebook.db")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ValueError, match=r"the gradebook sqlite:.* cannot be used: database is locked"):
            book.enter(receipt())
        other.rollback()
        other.close()
        with Gradebook(database(course)) as gradebook:
            assert not gradebook.students
        assert book.enter(receipt()).score == 18


def test_a_file_that_is_no_database_is_reported(course):
    (course / "gradebook.db").write_text("torn " * 1000, encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be used: file is not a database"):
        Book(course)


def test_an_error_half_way_through_an_entry_leaves_nothing_of_it(course, monkeypatch):
    from autograder.records import marks

    with Book(course) as book:
        monkeypatch.setattr(marks, "write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            book.enter(receipt())
        monkeypatch.undo()
        with Gradebook(database(course)) as gradebook:
            assert not gradebook.students
        assert book.pending([receipt()]) == [receipt()]
        assert book.enter(receipt()).score == 18
