"""Many submissions at once: in this process, or dealt to workers of its own."""

import multiprocessing
import queue
from collections.abc import Iterator
from typing import Any

from autograder.grading.batch import Graded, Task
from autograder.grading.grader import Basis, Grader


def graded(basis: Basis, tasks: list[Task], jobs: int) -> Iterator[Graded]:
    """The submissions, graded, as they are done; in this process if there is one job, else in workers of their own.

    Raises ValueError when no worker is left to grade them.
    """
    if jobs == 1 or len(tasks) < 2:
        with Grader(basis) as grader:
            for task in tasks:
                yield grader.grade(task)
        return
    context = multiprocessing.get_context("spawn")
    todo, done = context.Queue(), context.Queue()
    for task in tasks:
        todo.put(task)
    workers = [
        context.Process(target=_work, args=(basis, todo, done), daemon=True) for _ in range(min(jobs, len(tasks)))
    ]
    for worker in workers:
        todo.put(None)
        worker.start()
    try:
        for _ in tasks:
            yield _next(done, workers)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _next(done: Any, workers: list) -> Graded:
    """The next result. Raises ValueError when no worker is left to make one."""
    while True:
        try:
            result = done.get(timeout=1)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers):
                raise ValueError("every grading process has ended before its work was done: run again") from None
            continue
        if isinstance(result, str):
            raise ValueError(result)
        return result


def _work(basis: Basis, todo: Any, done: Any) -> None:
    """A worker's life: submissions until there are no more."""
    try:
        with Grader(basis) as grader:
            while (task := todo.get()) is not None:
                done.put(grader.grade(task))
    except Exception as error:
        done.put(f"a grading process failed: {type(error).__name__}: {error}")
