"""Copies of a student's process, whose pools of threads must work, and what is said where they cannot."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from autograder.evidence import Verdict
from autograder.grading.forks import forked, others_run
from tests.autograder.grading.conftest import scores
from tests.autograder.sandbox.boxes import PATIENCE, other_process


def in_a_copy(prepare: Callable[[], Any], body: Callable[[Any], Any]) -> Any:
    """What `body` makes of what was prepared before a fork, in the fork; the end of a deadline is a failure."""

    def whole() -> list:
        made = prepare()
        reading, writing = os.pipe()
        if forked() == 0:
            signal.alarm(PATIENCE)  # a fork inherits none
            os.write(writing, str(body(made)).encode())
            os._exit(0)
        os.close(writing)
        return [os.read(reading, 1000).decode(), str(body(made))]

    return other_process("as we are", whole)


def test_a_pool_works_in_a_copy_and_goes_on_in_the_process_that_was_copied():
    def used() -> ThreadPoolExecutor:
        pool = ThreadPoolExecutor(3)
        assert list(pool.map(abs, range(-5, 5))) == [*range(5, 0, -1), *range(5)]
        return pool

    assert in_a_copy(used, lambda pool: list(pool.map(abs, [-1, -2, -3, -4]))) == ["[1, 2, 3, 4]"] * 2


def test_work_that_no_thread_had_taken_is_done_in_both():
    def waiting() -> tuple:
        opened, started = threading.Event(), threading.Event()
        pool = ThreadPoolExecutor(1)
        pool.submit(lambda: (started.set(), opened.wait()))
        work = [pool.submit(abs, -number) for number in range(3)]
        started.wait()
        return opened, work, pool

    def results(made: tuple) -> list:
        opened, work, _ = made
        opened.set()
        return [one.result() for one in work]

    assert in_a_copy(waiting, results) == ["[0, 1, 2]"] * 2


def test_a_pool_with_a_thread_that_does_not_come_back_has_others():
    def used() -> ThreadPoolExecutor:
        pool = ThreadPoolExecutor(2)
        pool.submit(time.sleep, 1000)
        return pool

    assert in_a_copy(used, lambda pool: pool.submit(abs, -3).result()) == ["3", "3"]


def test_a_loop_hands_work_to_threads_in_a_copy():
    def used() -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(loop.run_in_executor(None, abs, -1))
        return loop

    assert in_a_copy(used, lambda loop: loop.run_until_complete(loop.run_in_executor(None, abs, -2))) == ["2", "2"]


def test_threads_that_a_copy_will_not_have_are_known():
    def body() -> list:
        alone = others_run()
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        return [alone, others_run()]

    assert other_process("as we are", body) == [False, True]


def test_a_check_that_waits_for_a_lost_thread_says_so(run):
    thread = """
import queue, threading
asked, answered = queue.Queue(), queue.Queue()
def work():
    while True:
        answered.put(asked.get())
threading.Thread(target=work, daemon=True).start()
"""
    waits = "def softmax(x):\n    asked.put(x)\n    return answered.get()"
    judged = run(before=(thread,), softmax=waits)
    assert judged.checks["softmax"].verdict is Verdict.TIMED_OUT
    note = "check_softmax timed out: threads were running when its copy was made, and a copy has none of them"
    assert judged.notes == [note]


def test_a_check_for_which_no_copy_can_be_made_has_crashed_and_says_why(run):
    many = """
import threading, time
try:
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError:
    pass
"""
    judged = run(before=(many,))
    sealed = {name: check for name, check in judged.checks.items() if check.verdict is not Verdict.JUDGED}
    assert {check.verdict for check in sealed.values()} == {Verdict.CRASHED}
    assert scores(judged)["softmax"] == 0
    assert all("as many processes and threads ran as there may be" in note for note in judged.notes)
    assert len(judged.notes) == len(sealed) > 2
