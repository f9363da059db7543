"""Many submissions at once: in this process, or dealt to workers, each a process that holds a grader of its own.

A worker is spoken to over a socket that nobody else has. When its other end closes, because it is told to stop or because
whoever started it has been killed, the worker ends, and with it all that it has started. One that is lost costs nothing: what
it was at is given to another.

    request  {"task": text} or {"standing": true}        reply  {"done": text} or {"failed": why}
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from autograder.grading import texts
from autograder.grading.batch import Graded, Task
from autograder.grading.grader import Basis, Grader
from autograder.grading.texts import Setting

START = "import sys; sys.path[:] = {path!r}; from autograder.grading.workers import serve; serve({number})"
TRIES = 3  # of one submission
MOST_GIVEN_UP = 3  # submissions, one after the other: then it is not they
PATIENCE_S = 15.0  # for a worker to clear away what it has started
IDLE_S = 300.0  # after which a worker that nobody asks for anything ends

GONE = (EOFError, OSError)


class Failed(Exception):
    """A worker has ended, or could not do what it was asked."""


class Troubles:
    """Submissions at which graders fail: each is tried again, and then given up, so that it holds nobody else up."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._given_up: dict[str, str] = {}
        self._in_a_row = 0

    def none(self) -> None:
        """A submission was graded."""
        self._in_a_row = 0

    def again(self, task: Task, why: object) -> bool:
        """Whether to try once more. Raises ValueError when grading does not work at all."""
        self._times[task.student] += 1
        if self._times[task.student] < TRIES:
            return True
        self._given_up[task.student] = str(why)
        self._in_a_row += 1
        if self._in_a_row >= MOST_GIVEN_UP:
            self.settle()
        return False

    def settle(self) -> None:
        """Raises ValueError when submissions were given up."""
        if self._given_up:
            said = "; ".join(f"{student}: {why}" for student, why in self._given_up.items())
            raise ValueError(f"not graded, after {TRIES} tries each: {said}. What was graded is kept")


def graded(basis: Basis, tasks: list[Task], jobs: int) -> Generator[Graded, None, None]:
    """The submissions, graded, as they are done; in this process if there is one job, else in workers of their own.

    Raises ValueError, after all others were graded, for those that could not be.
    """
    if jobs == 1 or len(tasks) < 2:
        return _graded_here(basis, tasks)
    return _dealt(texts.of_setting(Setting(basis)), tasks, min(jobs, len(tasks)))


def _graded_here(basis: Basis, tasks: list[Task]) -> Generator[Graded, None, None]:
    ahead, troubles = deque(tasks), Troubles()
    while ahead:
        with Grader(basis) as grader:
            while ahead:
                task = ahead.popleft()
                try:
                    result = grader.grade(task)
                except Exception as error:
                    _stop_if_told(error)
                    if troubles.again(task, _said(error)):
                        ahead.appendleft(task)
                    break  # and go on with a new grader
                troubles.none()
                yield result
    troubles.settle()


def _dealt(setting: str, tasks: list[Task], jobs: int) -> Generator[Graded, None, None]:
    ahead, troubles = deque(tasks), Troubles()
    idle: list[Worker] = []
    busy: dict[Worker, Task] = {}

    def deal() -> None:
        while ahead and (idle or len(busy) < jobs):
            worker = idle.pop() if idle else Worker(setting)
            busy[worker] = ahead.popleft()
            worker.ask(task=texts.of_task(busy[worker]))

    try:
        deal()
        while busy:
            results = []
            for worker in ready(busy):
                task = busy[worker]
                try:
                    results.append(texts.to_graded(worker.answer()))
                except (Failed, ValueError) as error:
                    worker.close()
                    if troubles.again(task, error):
                        ahead.appendleft(task)
                else:
                    troubles.none()
                    idle.append(worker)
                del busy[worker]
            deal()  # they go on while these are recorded
            yield from results
    finally:
        end([*idle, *busy])
    troubles.settle()


class Worker:
    """A process with a grader, as whoever started it holds it."""

    def __init__(self, setting: str) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            start = START.format(path=sys.path, number=theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-c", start],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the one who started it
            )
        self.connection = Connection(mine.detach())
        self._send(setting)

    def ask(self, **request: Any) -> None:
        """Sends a request. That the worker is gone will be seen when the answer does not come."""
        self._send(json.dumps(request))

    def answer(self) -> str:
        """Waits for what was asked for. Raises Failed when the worker could not do it, or is gone."""
        try:
            reply = json.loads(self.connection.recv_bytes())
        except GONE:
            raise Failed(f"its process ended (status {self._ended()})") from None
        if "failed" in reply:
            raise Failed(reply["failed"])
        return reply["done"]

    def is_there(self) -> bool:
        """Whether its process is there still."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Tells the worker to clear away what it has started, and to end."""
        if self.is_there():
            self._process.terminate()

    def close(self) -> None:
        """Stops the worker, and returns when it has ended."""
        self.stop()
        self._ended()
        with contextlib.suppress(OSError):
            self.connection.close()

    def _send(self, text: str) -> None:
        with contextlib.suppress(*GONE):
            self.connection.send_bytes(text.encode())

    def _ended(self) -> int:
        try:
            return self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def ready(workers: Mapping[Worker, Any]) -> list[Worker]:
    """Waits until one of the workers has an answer, or is gone; returns all for which that is so."""
    by_connection = {worker.connection: worker for worker in workers}
    return [by_connection[connection] for connection in wait(list(by_connection))]  # type: ignore[index]


def end(workers: list[Worker]) -> None:
    """Stops workers, all at the same time."""
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.close()


# What follows is a worker's own life.


def serve(number: int) -> None:
    """Grades what is asked for over the socket with this number, until its other end closes or nothing is asked for."""
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_the_other_end, args=(number,), daemon=True).start()
    connection = Connection(number)
    with contextlib.suppress(*GONE), contextlib.ExitStack() as stack:
        setting = connection.recv_bytes().decode()
        grader: Grader | None = None
        basis: Basis | None = None
        while connection.poll(IDLE_S):
            request = json.loads(connection.recv_bytes())
            try:
                basis = basis or texts.to_basis(setting)
                if "task" in request:
                    grader = grader or stack.enter_context(Grader(basis))
                    reply = {"done": texts.of_graded(grader.grade(texts.to_task(request["task"])))}
                else:
                    reply = {"done": json.dumps(texts.standing(basis))}
            except Exception as error:
                _stop_if_told(error)
                reply = {"failed": _said(error)}
            connection.send_bytes(json.dumps(reply).encode())


def _leave(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the rest is clearing away
    raise SystemExit(128 + signal.SIGTERM)


def _end_with_the_other_end(number: int) -> None:
    waiting = select.poll()
    waiting.register(number, 0)  # for nothing but that the other end closes
    waiting.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)
    os._exit(1)


def _stop_if_told(error: BaseException | None) -> None:
    """Raises what told this process to stop, where clearing away failed in its turn and took its place."""
    while error is not None:
        if not isinstance(error, Exception):
            raise error
        error = error.__context__


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
