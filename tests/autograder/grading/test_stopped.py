"""A grader that is told to stop: one line, its exit status, nothing left behind, and what was graded is kept."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autograder.grading.course import Wish, grade_course
from autograder.records.receipts import Receipts
from autograder.stopping import Stopped, stoppable
from tests.autograder.grading import a_batch
from tests.autograder.submissions import LAB, SOURCE

NUMBER = 8
SAID = "stopped; what was graded is kept, and the next run goes on from there\n"


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> tuple[Path, Path]:
    above = tmp_path_factory.mktemp("stopped")
    a_batch.hand_in(above / "handed in", NUMBER)
    return a_batch.released(above / "course"), above / "handed in"


@pytest.mark.parametrize(
    ("jobs", "by", "status"),
    [
        (1, "a terminal", 130),
        (2, "a terminal", 130),
        pytest.param(1, "SIGTERM", 143, marks=pytest.mark.slow),
        pytest.param(2, "SIGTERM", 143, marks=pytest.mark.slow),
        pytest.param(1, "everybody at once", 143, marks=pytest.mark.slow),
        pytest.param(2, "everybody at once", 143, marks=pytest.mark.slow),
    ],
)
def test_it_stops_cleanly_and_the_next_run_goes_on(given, tmp_path, jobs, by, status):
    course = a_batch.copied(given[0], tmp_path / "course")
    with a_batch.alone() as place:
        grader = a_batch.started(course, given[1], "--jobs", str(jobs), temporary=place.temporary)
        while "student" not in (line := grader.stdout.readline()):
            assert line, grader.stderr.read()
        if by == "a terminal":
            for _ in range(3):  # people press it more than once
                os.killpg(grader.pid, signal.SIGINT)
        elif by == "SIGTERM":
            grader.terminate()
        else:
            for pid in [grader.pid, *a_batch.left(place.before)]:
                os.kill(pid, signal.SIGTERM)
        said, complained = grader.communicate(timeout=a_batch.PATIENCE_S)
        assert (grader.returncode, complained) == (status, SAID)
        graded = [word for word in (line + said).splitlines() if word.startswith("student")]
    found = Receipts(course).all(LAB).receipts
    assert len(graded) <= len(found) <= len(graded) + 1
    assert len(found) < NUMBER
    again = list(grade_course(SOURCE, course, [given[1]], Wish()))
    assert {line.receipt.student for line in again if not line.again} == set(found)
    assert len(again) == NUMBER


def test_it_stops_while_it_starts(given, tmp_path):
    course = a_batch.copied(given[0], tmp_path / "course")
    with a_batch.alone() as place:
        grader = a_batch.started(course, given[1], temporary=place.temporary)
        assert "level" in grader.stdout.readline()
        a_batch.until(lambda: a_batch.leftovers(place.temporary))  # its zygote is being started
        os.killpg(grader.pid, signal.SIGINT)
        _, complained = grader.communicate(timeout=a_batch.PATIENCE_S)
        assert (grader.returncode, complained) == (130, SAID)
    assert Receipts(course).all(LAB).receipts == {}


def test_a_second_signal_does_not_cut_short_what_the_first_began():
    cleared = []

    @stoppable()
    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            cleared.append("all")

    with pytest.raises(Stopped) as stopped:
        work()
    assert (stopped.value.status, cleared) == (143, ["all"])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_another_thread_is_not_asked_to_hear_signals():
    done = []

    def work() -> None:
        with stoppable():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_other_commands_stop_in_a_line_too(tmp_path):
    program = (
        "import os, signal, autograder.reports.show as module; from autograder.cli import main;"
        "module.show = lambda *_: os.kill(os.getpid(), signal.SIGINT);"
        "main(['show', 'ada', 'lab00_two_walls'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=a_batch.ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, SAID)
