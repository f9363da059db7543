"""Memory claims: a check that says how much memory an answer may take gives it that, and the kernel refuses more.

Each case is carried out by a fork of its own, whose address space is limited to what is there and the claim; what the notebook
or earlier cases hold does not count, and the notebook itself goes on without a limit. No record that a student could write is
asked: a matrix that the claim forbids cannot be made. The inputs are there before the limit; what comes back counts.

What was set aside *before* is not seen: a buffer that an earlier cell mapped, or a process that it started and now asks. That
takes intent, and shows in the notebook; a claim is held against answers, not against a conspiracy.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from autograder.grading.forks import forked
from autograder.sandbox import limit_memory


def take_buffers() -> None:
    """Has the libraries take what they multiply with, for good, before anything is counted.

    OpenBLAS maps 32 MiB when it first multiplies, and where a claim leaves it less it tries for ten seconds and ends the process.
    """
    square = np.ones((512, 512))
    square @ square
    if torch := sys.modules.get("torch"):
        torch.from_numpy(square) @ torch.from_numpy(square)


def held_to(extra_bytes: int, body: Callable[[], None]) -> None:
    """Runs `body` in a fork that may take so many bytes beyond what is there. If the fork dies, so does this process."""
    child = forked()
    if child == 0:
        code = 1
        try:
            with suppress(ValueError):  # a limit in force is stricter already
                limit_memory(extra_bytes)
            body()
            code = 0
        finally:
            os._exit(code)
    with suppress(ChildProcessError):  # a notebook may have said that it does not want to know of its children
        if os.waitpid(child, 0)[1]:
            os._exit(1)
