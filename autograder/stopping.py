"""Being told to stop, by Ctrl-C or SIGTERM: the first one counts, and what follows it is left in peace to clear away.

A terminal sends Ctrl-C to all who run in it, and people press it again. A second one would cut short what the first has begun.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

DEAF_S = 20.0  # after the first signal


class Stopped(KeyboardInterrupt):
    """This process was told to stop. `status` is the exit status that says so."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Raises Stopped in this block at Ctrl-C and at SIGTERM. Only a process's first thread hears signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last = 0.0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if last and time.monotonic() - last < DEAF_S:
            return
        last = time.monotonic()
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
