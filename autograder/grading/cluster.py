"""A batch graded by the workers of a Dask scheduler, on as many machines as there are.

Each worker process starts graders of its own (`workers`), one for each task that it runs at once, and keeps them until the batch
is over. Before anything is graded, each worker says what its grades rest on: code, lab, environment and sandbox. Only where
all of it is as it is here does it get anything to grade. A task goes out as JSON text and comes back as JSON text, and what is
not a text is refused; this process alone records. A worker that is killed is Dask's to replace: its tasks go to another.

Who reaches a scheduler can run anything on its workers: keep it where no student is.
"""

import asyncio
import contextlib
import json
import logging
import threading
import warnings
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError
from typing import Any
from uuid import uuid4

from autograder.grading import texts
from autograder.grading.batch import Graded, Task
from autograder.grading.grader import Basis
from autograder.grading.texts import Setting
from autograder.grading.workers import Failed, Troubles, Worker

CONNECT_S = 10.0
LOOK_S = 10.0  # how often it is seen to that there are workers
AHEAD = 2  # tasks sent for each that can be run at once


def graded(
    basis: Basis, tasks: list[Task], address: str, without: tuple[str, ...] = ()
) -> Generator[Graded, None, None]:
    """The submissions, graded by the workers of the scheduler at `address`, as they are done.

    Raises ValueError when the scheduler is not there or is lost, when it has no workers, when a worker differs from this machine
    in what decides a grade; and, after all others were graded, for submissions that could not be.
    """
    if not tasks:
        return
    distributed = _library()
    run, setting = uuid4().hex, texts.of_setting(Setting(basis, without, probes=True))
    here = json.dumps(texts.standing(basis))
    with _quiet(), contextlib.ExitStack() as stack:
        client = stack.enter_context(_client(distributed, address))
        try:
            _introduce(client, address, run, setting, here)
            yield from _collected(distributed, client, address, tasks, (run, setting, here))
        except OSError:
            raise _lost(address) from None
        finally:
            # Where it cannot be said, they end when nobody has asked them for anything for a while.
            with contextlib.suppress(Exception):
                client.run(release, run, wait=False, on_error="ignore")


def _library() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ValueError(f"--dask needs {error.name}: install the course's extra `dask`") from None
    return distributed


@contextlib.contextmanager
def _client(distributed: Any, address: str) -> Iterator[Any]:
    try:
        # What a worker answers is read as plain data; nothing is unpickled.
        plain = ["msgpack"]
        client = distributed.Client(
            address, timeout=CONNECT_S, set_as_default=False, serializers=plain, deserializers=plain
        )
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"no Dask scheduler answers at {address}: {error}") from None
    try:
        yield client
    finally:
        client.close(timeout=CONNECT_S)


def _introduce(client: Any, address: str, run: str, setting: str, here: str) -> None:
    """Raises ValueError where a worker would not grade as this machine would."""
    answers = client.run(introduce, run, setting, on_error="return")
    if not answers:
        raise ValueError(
            f"the scheduler at {address} has no workers: start some (`dask worker {address}`), and run again"
        )
    for worker, answer in answers.items():
        _compare(worker, {"failed": str(answer)} if isinstance(answer, Exception) else json.loads(answer), here)


def _compare(worker: str, answer: dict[str, Any], here: str) -> None:
    if "failed" in answer:
        raise ValueError(f"the worker {worker} cannot grade: {answer['failed']}")
    if wrong := texts.differences(json.loads(here), answer["standing"]):
        raise ValueError(f"the worker {worker} would not grade as this machine does: {'; '.join(wrong)}")


def _collected(
    distributed: Any, client: Any, address: str, tasks: list[Task], told: tuple[str, str, str]
) -> Generator[Graded, None, None]:
    ahead, troubles = deque(tasks), Troubles()
    running: dict[Any, Task] = {}

    def send() -> None:
        most = AHEAD * max(1, sum(client.nthreads().values()))
        while ahead and len(running) < most:
            task = ahead.popleft()
            running[client.submit(grade, *told, texts.of_task(task), pure=False)] = task

    send()
    while running:
        results = []
        for future in _done(distributed, client, address, list(running)):
            if future.status in ("lost", "pending"):  # its worker was killed after all, and it is done again elsewhere
                continue
            task = running.pop(future)
            try:
                results.append(_result(future, client, address, told[2]))
                troubles.none()
            except Failed as error:
                if troubles.again(task, error):
                    ahead.appendleft(task)
        if client.status == "running":
            send()
        yield from results
    troubles.settle()


def _done(distributed: Any, client: Any, address: str, futures: list[Any]) -> list[Any]:
    """Waits for a task to be done; returns all that are."""
    while True:
        try:
            with client.as_current():
                return list(distributed.wait(futures, timeout=LOOK_S, return_when="FIRST_COMPLETED").done)
        except CancelledError:
            raise _lost(address) from None
        except TimeoutError:
            pass
        if client.status != "running":
            raise _lost(address)
        if not client.nthreads():
            raise ValueError(
                f"the scheduler at {address} has no worker left: start some, and run again; what was graded is kept"
            )


def _result(future: Any, client: Any, address: str, here: str) -> Graded:
    """What a task gave. Raises Failed where it gave nothing, ValueError where nothing more can be hoped for."""
    if client.status != "running":
        raise _lost(address)
    if future.status != "finished":
        raise Failed(f"its worker ended ({future.status})")
    try:
        answer = dict(json.loads(future.result()))
    except (TypeError, ValueError) as error:
        raise Failed(f"no text came back: {error}") from None
    if "standing" in answer:
        _compare(answer["worker"], answer, here)
    if "failed" in answer:
        raise Failed(answer["failed"])
    return texts.to_graded(answer.get("done", ""))


def _lost(address: str) -> ValueError:
    return ValueError(
        f"the scheduler at {address} is gone; what was graded is kept, and the next run goes on from there"
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells at length what is said here in a line."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


# What follows runs on the cluster's workers.


class Hands:
    """The graders of one batch in this worker process: as many as it runs tasks at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[Worker, dict[str, str]]] = []
        self._busy: list[Worker] = []
        self._over = False

    @contextlib.contextmanager
    def one(self, setting: str) -> Iterator[tuple[Worker, dict[str, str]]]:
        """A grader for this thread alone, and what its grades rest on. Raises Failed when the batch is over."""
        with self._lock:
            if self._over:
                raise Failed("the batch is over")
            worker, standing = self._idle.pop() if self._idle else (Worker(setting), {})
            self._busy.append(worker)
        try:
            if not standing:
                worker.ask(standing=True)
                standing = json.loads(worker.answer())
            yield worker, standing
        except BaseException:
            worker.close()
            raise
        else:
            with self._lock:
                self._idle.append((worker, standing))
        finally:
            with self._lock:
                self._busy.remove(worker)

    def end(self) -> None:
        """Ends them all, also in the middle of a task."""
        with self._lock:
            self._over = True
            workers = [*self._busy, *(worker for worker, _ in self._idle)]
        for worker in workers:
            worker.stop()


_hands: dict[str, Hands] = {}


async def introduce(run: str, setting: str) -> str:
    """What grades that are made in this worker process rest on, as text."""
    return await asyncio.to_thread(_introduced, run, setting)


def _introduced(run: str, setting: str) -> str:
    try:
        with _hands.setdefault(run, Hands()).one(setting) as (_, standing):
            return json.dumps({"standing": standing})
    except Failed as error:
        return json.dumps({"failed": str(error)})


def grade(run: str, setting: str, here: str, task: str) -> str:
    """Grades a task in this worker process, if grades that are made here rest on the same."""
    from distributed import get_worker

    try:
        with _hands.setdefault(run, Hands()).one(setting) as (worker, standing):
            if standing != json.loads(here):
                return json.dumps({"standing": standing, "worker": get_worker().address})
            worker.ask(task=task)
            return json.dumps({"done": worker.answer()})
    except Failed as error:
        return json.dumps({"failed": str(error)})


async def release(run: str) -> None:
    """Ends the graders of a batch in this worker process."""
    _hands.setdefault(run, Hands()).end()
