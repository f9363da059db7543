"""What cells show, collected as nbformat's outputs: streams, displays, updates, what programs write, and no more than is allowed.

What programs started by the notebook write, and processes that it forked, lands in a file, which is read before something else is
shown: so it stands where it was written, but for what is written in the same millisecond.
"""

import base64
import io
import os
import sys
import tempfile
import time
from typing import Any

MOST_OUTPUT = 2_000_000  # bytes that one notebook may show
MOST_TEXT = 200_000  # bytes of one stream or representation
SECONDS_UNREAD = 0.001

_spill: list[int] = []  # the file, in the process whose outputs it belongs to
_elsewhere: list[int] = []  # the same in a process that was forked from that one


class Outputs:
    """What cells show, as nbformat's output dictionaries, and no more of it than is allowed."""

    def __init__(self) -> None:
        self.shown: list[dict] = []
        self._left, self._spent = MOST_OUTPUT, 0
        self._named: dict[str, list[dict]] = {}
        self._to_clear = False
        self._long = 0  # the length of the last stream
        self._looked = 0.0

    def add(self, output: dict, name: str | None = None) -> None:
        """Adds an output; `name` is the display_id by which it can be updated."""
        self._catch_up()
        self._add(output)
        if name is not None:
            self._named.setdefault(name, []).append(output)

    def update(self, output: dict, name: str | None) -> None:
        """Replaces what this cell shows under a display_id; what an earlier cell showed is sealed, and stays as it was."""
        if not (there := self._named.get(name or "", [])):
            self.add(output, name)
            return
        self._pay(len(repr(output)))
        for one in there if self._left > 0 else []:
            one.update(data=output["data"], metadata=output["metadata"])

    def write(self, name: str, text: str) -> None:
        """Appends to a stream, joining what follows each other."""
        if text:
            self._catch_up()
            self._write(name, text)

    def clear(self, wait: bool = False) -> None:
        """Forgets what the cell has shown; with `wait`, as soon as it shows something else."""
        self._to_clear = wait
        if not wait:
            self.shown.clear()
            self._named.clear()
            self._left, self._spent = self._left + self._spent, 0

    def taken(self) -> list[dict]:
        """What was shown since the last time, made of plain data only."""
        if text := spilled():
            self._write("stdout", text)
        shown, self.shown, self._spent, self._to_clear = self.shown, [], 0, False
        self._named.clear()
        return [_plain(_joined(output)) for output in shown]

    def _catch_up(self) -> None:
        """What programs have written comes before what is shown now."""
        if self._to_clear:
            self.clear()
        if (now := time.monotonic()) - self._looked > SECONDS_UNREAD:
            self._looked = now
            if text := spilled():
                self._write("stdout", text)

    def _write(self, name: str, text: str) -> None:
        last = self.shown[-1] if self.shown else {}
        if last.get("name") == name and self._long < MOST_TEXT and self._left > 0:
            last["text"].append(text[:MOST_TEXT])
            self._long += len(text)
            self._pay(len(text))
        else:
            self._long = len(text)
            self._add({"output_type": "stream", "name": name, "text": [text[:MOST_TEXT]]})

    def _add(self, output: dict) -> None:
        if self._left <= 0:
            return
        self._pay(len(repr(output)))
        if self._left <= 0:
            output = {"output_type": "stream", "name": "stderr", "text": ["[output cut off: too much of it]\n"]}
        self.shown.append(output)

    def _pay(self, size: int) -> None:
        self._left -= size
        self._spent += size


class Stream(io.TextIOBase):
    """Stands for stdout or stderr; a process that the notebook forked writes as other programs do."""

    encoding, errors = "UTF-8", "replace"

    def __init__(self, name: str, outputs: Outputs, number: int) -> None:
        self._name, self._outputs, self._number = name, outputs, number

    def write(self, text: str) -> int:
        if _elsewhere:
            os.write(self._number, str(text).encode(errors="replace"))
        else:
            self._outputs.write(self._name, str(text))
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number


def connect(outputs: Outputs) -> None:
    """Lets everything that this process and its children write go into `outputs`; there is nothing to be read."""
    spill = tempfile.TemporaryFile(dir=".", buffering=0)  # noqa: SIM115
    _spill[:] = [os.dup(spill.fileno())]
    spill.close()
    os.register_at_fork(after_in_child=_go_elsewhere)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(_spill[0], 1)
    os.dup2(_spill[0], 2)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.stdout, sys.stderr = Stream("stdout", outputs, 1), Stream("stderr", outputs, 2)


def _go_elsewhere() -> None:
    _elsewhere[:], _spill[:] = [*_spill, *_elsewhere], []


def spilled() -> str:
    """What has been written to the file descriptors themselves since the last time."""
    if not _spill or not (size := os.lseek(_spill[0], 0, os.SEEK_CUR)):
        return ""
    text = os.pread(_spill[0], min(size, MOST_TEXT), 0).decode("utf-8", "replace")
    os.ftruncate(_spill[0], 0)
    os.lseek(_spill[0], 0, os.SEEK_SET)
    return text


def _joined(output: dict) -> dict:
    return output | {"text": "".join(output["text"])} if output["output_type"] == "stream" else output


def _plain(value: Any) -> Any:
    """An output with nothing in it but texts, numbers, lists and dictionaries, whatever a display method returned."""
    if type(value) is dict:
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if value is None or type(value) in (str, int, float, bool):
        return value
    return str(value)
