"""A running box as its maker holds it: waiting for the notebook's process, ending it alone, ending everything.

The maker and the box speak over a socket that the student's side never has: it is closed there before anything of the student's
runs. Messages are lines of JSON.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NamedTuple

from autograder.sandbox import cgroups, processes
from autograder.sandbox.policy import SandboxError

SETTING_UP = 70
"""The exit status of a process that did not get as far as the notebook."""

PATIENCE = 30.0
COUNTING = 5.0
NOT_READY = f"it was not ready within {PATIENCE:g} s"
UNIT_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024


class Usage(NamedTuple):
    """What a box took: processor time, of all its processes together, and the most memory that one of them held."""

    cpu_seconds: float
    peak_bytes: int


class Link:
    """One end of the socket between a box and its maker."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._read = b""
        self.descriptors: list[int] = []
        self.ended = False

    def fileno(self) -> int:
        """The descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Closes this end."""
        self._socket.close()

    def closed(self) -> bool:
        """Whether the other end is gone."""
        waiting = select.poll()
        waiting.register(self._socket, 0)
        return bool(waiting.poll(0))

    def send(self, **message: Any) -> None:
        """Sends a message."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def send_process(self, pid: int) -> None:
        """Sends a process: its number, which may mean another one outside, and a descriptor, which does not."""
        line = json.dumps({"inner": pid}).encode() + b"\n"
        try:
            descriptor = os.pidfd_open(pid)
        except (AttributeError, OSError):
            self._socket.sendall(line)
            return
        socket.send_fds(self._socket, [line], [descriptor])
        os.close(descriptor)

    def receive(self, seconds: float | None) -> dict[str, Any] | None:
        """The next message; None when there is none in time, or (then `ended`) there will never be one."""
        until = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._read:
            left = None if until is None else max(0.0, until - time.monotonic())
            waiting = select.poll()
            waiting.register(self._socket, select.POLLIN)
            if not waiting.poll(None if left is None else left * 1000):
                return None
            data, descriptors, _, _ = socket.recv_fds(self._socket, 4096, 1)
            self.descriptors += descriptors
            if not data:
                self.ended = True
                return None
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)


class Box:
    """A submission's processes. End it with `kill`, or by leaving a `with` block."""

    def __init__(self, outer: int, link: Link, own_processes: bool, group: cgroups.Group | None) -> None:
        self._outer, self._link, self._group = outer, link, group
        self._own_processes = own_processes
        self._status: int | None = None
        self._usage: Usage | None = None
        self.pid = 0
        """The notebook's own process, as its number is out here."""

    def __enter__(self) -> "Box":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def expect_ready(self) -> None:
        """Waits until the box is locked down. Raises SandboxError, with everything in it ended, when it does not get there."""
        until = time.monotonic() + PATIENCE
        ready, fault = False, ""
        while not (ready and self.pid) and not fault:
            message = self._link.receive(until - time.monotonic())
            if message is None:
                fault = (
                    "its first process was ended from outside (too little memory?)" if self._link.ended else NOT_READY
                )
            elif "error" in message:
                fault = message["error"]
            elif "ended" in message:
                self._status = message["ended"]
                fault = "" if ready else "it ended while it was being locked down"
            elif "inner" in message:
                self.pid = self._number(message["inner"])
            ready = ready or bool(message and message.get("ready"))
        if fault:
            self.kill()
            raise SandboxError(f"the sandbox could not be put up: {fault}")

    def _number(self, inside: int) -> int:
        if not self._link.descriptors:
            return inside
        with open(f"/proc/self/fdinfo/{self._link.descriptors[0]}", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))

    def fileno(self) -> int:
        """A descriptor that can be read from when `wait` has something to say; for `select`."""
        return self._link.fileno()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit status of the notebook's process (a signal's number, negative, if one ended it), or None if it still runs.

        Others that it started may go on.
        """
        while self._status is None:
            message = self._link.receive(seconds)
            if message is None and not self._link.ended:
                return None
            self._note(message)
            if self._link.ended:
                self._status = -signal.SIGKILL
        return self._status

    def _note(self, message: dict[str, Any] | None) -> None:
        if message and "ended" in message:
            self._status = message["ended"]

    def kill_main(self) -> None:
        """Ends the notebook's own process and returns when it has ended; the copies that it made of itself go on."""
        if self.wait(0) is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if self._link.descriptors:
                signal.pidfd_send_signal(self._link.descriptors[0], signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)
        self.wait(PATIENCE)

    def kill(self) -> None:
        """Ends everything in the box. When it returns, nothing that the box started is left."""
        if self._usage is not None:
            return
        used = self._end_namespace() if self._own_processes else self._end_tree()
        self._usage = Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * UNIT_OF_MAXRSS)
        while self._status is None and not self._link.ended:
            self._note(self._link.receive(None))
        if self._status is None:
            self._status = -signal.SIGKILL
        self._link.close()
        for descriptor in self._link.descriptors:
            os.close(descriptor)
        if self._group is not None:
            self._group.remove()

    def _end_namespace(self) -> Any:
        """The first process kills all others at once, takes them in, so that what they took is counted, and ends.

        Should it not, the kernel ends a pid namespace with its first process, which is not gone before all the others are.
        """
        os.kill(self._outer, signal.SIGTERM)
        until = time.monotonic() + COUNTING
        while not self._link.ended and time.monotonic() < until:
            self._note(self._link.receive(until - time.monotonic()))
        os.kill(self._outer, signal.SIGKILL)
        return os.wait4(self._outer, 0)[2]

    def _end_tree(self) -> Any:
        """Ends all but the outer process, which takes them in and then ends by itself; what it took counts theirs, too."""
        used: list[Any] = []

        def alone() -> bool:
            pid, _, resources = os.wait4(self._outer, os.WNOHANG)
            used.extend([resources] if pid else [])
            return pid != 0

        if self._group is not None:
            self._group.forbid_forks()
        processes.end_all(self._outer, alone, self._grouped)
        if self._group is not None:
            processes.end_all(self._outer, lambda: not self._grouped(), self._grouped)
        return used[0]

    def _grouped(self) -> set[int]:
        return self._group.members() if self._group is not None else set()

    def usage(self) -> Usage:
        """What the box took. Raises ValueError before `kill`: what still runs has not been counted."""
        if self._usage is None:
            raise ValueError("usage is known when the box has been ended: call kill() first")
        return self._usage
