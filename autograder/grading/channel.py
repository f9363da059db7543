"""Messages between the judge and a student's process: one frame each, capped, with a deadline, over a socket.

Frames are those of `course_lib.checks.values`: a JSON header and raw array buffers. What comes from a student's side may be
anything, sent by anyone who got hold of the socket; so lengths are looked at before anything is read, and whatever is no frame
raises `Malformed`.

    message   a dictionary with "op", of plain data, steps and outcomes
"""

import json
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from course_lib.checks.cases import RECORDS
from course_lib.checks.perform import OUTCOME
from course_lib.checks.values import MAX_BODY, MAX_HEADER, Malformed, Tensor, dumps, loads

TRAVELLERS = RECORDS | OUTCOME
MOST_BUFFERS = 10_000


class Gone(Exception):
    """The other side is no longer there."""


class Late(Exception):
    """Nothing came before the deadline."""


class Channel:
    """One end of a socket. `tensor` makes what stands for a torch tensor: the judge never imports torch."""

    def __init__(self, sock: socket.socket, tensor: Callable = Tensor) -> None:
        self._socket = sock
        self._tensor = tensor

    def send(self, message: dict[str, Any], deadline: float | None = None) -> None:
        """Sends one message. Raises Gone, Late, and Unsendable for what is not plain data."""
        frame = dumps(message, TRAVELLERS)
        try:
            self._patience(deadline)
            self._socket.sendall(frame)
        except TimeoutError:
            raise Late from None
        except OSError:
            raise Gone from None

    def receive(self, deadline: float | None = None) -> dict[str, Any]:
        """The next message. `deadline` is a time of `time.monotonic()`. Raises Gone, Late and Malformed."""
        head = self._read(4, deadline)
        (length,) = struct.unpack("<I", head)
        if length > MAX_HEADER:
            raise Malformed(f"a header of {length} bytes")
        header = self._read(length, deadline)
        sizes = _sizes(header)
        message = loads(head + header + self._read(sum(sizes), deadline), TRAVELLERS, self._tensor)
        if not isinstance(message, dict) or not isinstance(message.get("op"), str):
            raise Malformed("a message without a purpose")
        return message

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def _read(self, count: int, deadline: float | None) -> bytes:
        parts = bytearray(count)
        view, done = memoryview(parts), 0
        while done < count:
            try:
                self._patience(deadline)
                got = self._socket.recv_into(view[done:])
            except TimeoutError:
                raise Late from None
            except OSError:
                raise Gone from None
            if not got:
                raise Gone
            done += got
        return bytes(parts)

    def _patience(self, deadline: float | None) -> None:
        if deadline is None:
            self._socket.settimeout(None)
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise Late
        self._socket.settimeout(left)


def _sizes(header: bytes) -> list[int]:
    """The lengths of the buffers that follow a header, before one of them is read."""
    try:
        _, sizes = json.loads(header)
        fine = len(sizes) <= MOST_BUFFERS and all(type(size) is int and size >= 0 for size in sizes)
    except (ValueError, TypeError, RecursionError):
        raise Malformed("a header that is no JSON of two parts") from None
    if not fine or sum(sizes) > MAX_BODY:
        raise Malformed("buffers that are too many or too large")
    return sizes
