"""Ending a whole tree of processes where the kernel does not do it: at levels C and D, without a pid namespace.

The first process of a tree is a subreaper, so that what detaches itself becomes its child instead of getting away; the tree has
ended when that one has no children left. A single look is never enough: what forks and ends between two looks is in neither.
So everything that is found is killed, with its group (the kernel sends to a group at once, and what has been sent a signal
cannot fork), again and again until the first process is alone.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

PATIENCE = 20.0
PAUSE = 0.0005


class Process(NamedTuple):
    """A process, its parent, its group, and whether it has ended and only waits to be noticed."""

    pid: int
    parent: int
    group: int
    ended: bool


def below(root: int) -> list[Process]:
    """The living descendants of a process."""
    children: dict[int, list[Process]] = {}
    for process in _table():
        children.setdefault(process.parent, []).append(process)
    found, ahead = [], [root]
    while ahead:
        for child in children.get(ahead.pop(), []):
            ahead.append(child.pid)
            if not child.ended:
                found.append(child)
    return found


def end_all(root: int, alone: Callable[[], bool], more: Callable[[], Iterable[int]] = tuple) -> None:
    """Kills everything below `root`, and `more`, until `root` is `alone`. Raises OSError when it is not after twenty seconds."""
    until = time.monotonic() + PATIENCE
    while not alone():
        for pid in _children(root):
            _kill(os.kill, pid)
        for process in below(root):
            _kill(os.kill, process.pid)
            if process.group not in (root, 0):
                _kill(os.killpg, process.group)
        for pid in set(more()) - {root}:
            _kill(os.kill, pid)
        if time.monotonic() > until:
            raise OSError(f"processes below {root} could not be ended")
        time.sleep(PAUSE)


def _kill(how: Callable[[int, int], None], which: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        how(which, signal.SIGKILL)


def _children(root: int) -> list[int]:
    """The children of a process of one thread, told faster than by the whole table where the kernel can."""
    with contextlib.suppress(OSError), open(f"/proc/{root}/task/{root}/children", "rb") as file:
        return [int(pid) for pid in file.read().split()]
    return []


def _table() -> list[Process]:
    if not os.path.isdir("/proc/self"):
        return _table_by_ps()
    rows = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The program's name stands in brackets and may hold anything, brackets too.
                    state, parent, group = file.read().rpartition(b")")[2].split()[:3]
            except (OSError, ValueError):
                continue
            rows.append(Process(int(name), int(parent), int(group), state in (b"Z", b"X")))
    return rows


def _table_by_ps() -> list[Process]:
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [Process(int(pid), int(parent), int(group), state.startswith("Z")) for pid, parent, group, state in rows]
