"""A copy of a student's process, left at a cell of asserts: runs the cell, and each of its canaries, in a fork of its own.

It is told which code to run, and not what it is; it says what that raised, and has no opinion of it. What one run changes is
gone with its process, so that every one finds the notebook as it was at that cell.

    try    {"op": "try", "nonce", "source"}    → {"op": "tried", "nonce", "kinds", "text", "line"}, then {"op": "ended", "nonce"}
"""

import contextlib
import os
import sys
import threading
from dataclasses import asdict
from typing import Any

from autograder.grading.channel import Channel
from autograder.grading.forks import forked
from course_lib.checks.legacy.trial import attempt


def try_out(channel: Channel, namespace: dict[str, Any]) -> None:
    """Runs what the judge sends, until it sends no more."""
    while (message := channel.receive())["op"] == "try":
        child = forked()
        if child == 0:
            _try(channel, message, namespace)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        channel.send({"op": "ended", "nonce": message["nonce"]})


def _try(channel: Channel, message: dict[str, Any], namespace: dict[str, Any]) -> None:
    """One run, and the end of its process."""
    try:
        # A notebook's own tracer could lead a run past its asserts.
        for stop in (sys.settrace, sys.setprofile, threading.settrace, threading.setprofile):
            stop(None)  # type: ignore[operator]
        channel.send({"op": "tried", "nonce": message["nonce"], **asdict(attempt(message["source"], namespace))})
    finally:
        os._exit(0)
