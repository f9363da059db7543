"""The corpus graded by several graders at once, each with a ground and a zygote of its own, in a process that ends with it."""

import contextlib
import json
import os
import selectors
import signal
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import IO, Any, NoReturn

from autograder.sandbox import Report
from tests.hostile.batch import run
from tests.hostile.entry import Entry
from tests.hostile.honest import PLAIN
from tests.hostile.rows import Row
from tests.hostile.workshop import released


def graded(entries: Sequence[Entry], report: Report, jobs: int = 2) -> Iterator[Row]:
    """The rows of the entries, as they are known."""
    for lab in {entry.lab for entry in entries}:
        released(lab)  # made once, here, for all who are forked from here
    with selectors.DefaultSelector() as waiting, contextlib.ExitStack() as stack:
        for part in dealt(entries, jobs):
            pid, answers = _started(part, report)
            stack.callback(_end, pid)
            waiting.register(stack.enter_context(answers), selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                answers: Any = key.fileobj
                if not (line := answers.readline()):
                    waiting.unregister(answers)
                elif "failure" in (said := json.loads(line)):
                    raise AssertionError(said["failure"])
                else:
                    yield Row(**said)


def dealt(entries: Sequence[Entry], jobs: int) -> list[list[Entry]]:
    """The entries in at most `jobs` parts, dealt by the run up to the next honest student."""
    parts: list[list[Entry]] = [[] for _ in range(jobs)]
    number = 0
    for entry in entries:
        parts[number % jobs].append(entry)
        number += entry.name.startswith(PLAIN.name)
    return [part for part in parts if part]


def _started(entries: Sequence[Entry], report: Report) -> tuple[int, IO[bytes]]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()  # Ctrl-C is for whoever started this
            signal.signal(signal.SIGTERM, _leave)  # so that what was laid out is cleared away
            os.close(reading)
            with (
                open(writing, "w", encoding="utf-8", buffering=1) as answers,
                contextlib.closing(run(entries, report)) as rows,
            ):
                try:
                    for row in rows:
                        answers.write(json.dumps(asdict(row)) + "\n")
                except BaseException:
                    answers.write(json.dumps({"failure": traceback.format_exc()}) + "\n")
        finally:
            os._exit(0)
    os.close(writing)
    # Without a buffer: a line that was read ahead would not wake the selector.
    return pid, open(reading, "rb", buffering=0)


def _leave(*_: object) -> NoReturn:
    raise SystemExit


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
