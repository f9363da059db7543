"""A submission's own process: its cells, one by one, in an IPython shell; its check lines, which hand over answers.

It is told what to run and what to try, and says what came of it; it holds no expectation and reaches no verdict. At the check
line of a graded cell it forks a *sealed copy*, which sleeps on a socket of its own. When the notebook has ended and what it
showed is sealed, the judge wakes the copies one by one for the hidden cases: what a copy learns can no longer go anywhere.

    cell     {"op": "cell", "number", "name", "source"}    → any number of checks, then {"op": "done", "outputs", "ok"}
    check    {"op": "check", "name", "targets"}            ← steps, any number of times, then a report to show
    ask      {"op": "ask", "nonce", "steps", …}            → {"op": "outcomes", "nonce", "outcomes"}
"""

import base64
import contextlib
import io
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from autograder.grading.channel import Channel, Gone
from course_lib.checks.perform import Outcome, perform
from course_lib.checks.values import Malformed, Unsendable, to_torch

MOST_OUTPUT = 2_000_000  # bytes that one notebook may show
MOST_TEXT = 200_000  # bytes of one stream or representation


class Outputs:
    """What cells show, as nbformat's output dictionaries, and no more of it than is allowed."""

    def __init__(self) -> None:
        self.shown: list[dict] = []
        self._left = MOST_OUTPUT

    def add(self, output: dict) -> None:
        size = len(repr(output))
        if self._left <= 0:
            return
        self._left -= size
        if self._left <= 0:
            output = {"output_type": "stream", "name": "stderr", "text": "[output cut off: too much of it]\n"}
        self.shown.append(output)

    def write(self, name: str, text: str) -> None:
        """Appends to a stream, joining what follows each other."""
        if not text:
            return
        last = self.shown[-1] if self.shown else {}
        if last.get("name") == name and len(last["text"]) < MOST_TEXT and self._left > 0:
            last["text"] += text[:MOST_TEXT]
            self._left -= len(text)
        else:
            self.add({"output_type": "stream", "name": name, "text": text[:MOST_TEXT]})

    def taken(self) -> list[dict]:
        """What was shown since the last time, made of plain data only."""
        shown, self.shown = self.shown, []
        return [_plain(output) for output in shown]


class Stream(io.TextIOBase):
    """Stands for stdout or stderr."""

    def __init__(self, name: str, outputs: Outputs, number: int) -> None:
        self._name, self._outputs, self._number = name, outputs, number

    def write(self, text: str) -> int:
        self._outputs.write(self._name, str(text))
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number


class Notebook:
    """One submission in its process: the shell, the channel to the judge, and the sockets of sealed copies."""

    def __init__(self, shell: Any, outputs: Outputs, channel: Channel, copies: dict[str, socket.socket]) -> None:
        self.shell, self.outputs = shell, outputs
        self._channel, self._copies = channel, copies
        self._running: str | None = None

    def run(self) -> None:
        """Runs what the judge sends until it says that this was all."""
        while (message := self._channel.receive())["op"] == "cell":
            self._running = message["name"]
            self.shell.current_source = message["source"]
            ok = self.shell.run_cell(message["source"], store_history=False, silent=False).success
            self.outputs.write("stdout", spilled())
            self._channel.send(
                {"op": "done", "number": message["number"], "ok": bool(ok), "outputs": self.outputs.taken()}
            )

    def check(self, name: str, targets: tuple) -> Any:
        """A check line: hands the targets over, and shows the report that the judge sends back."""
        from IPython.display import display

        if self._running == f"check_{name}" and (own := self._copies.pop(name, None)) is not None:
            if os.fork() == 0:
                self._sleep(own, targets)
            own.close()
        self._channel.send({"op": "check", "name": name, "targets": len(targets)})
        report = serve(self._channel, targets)
        display(report, raw=True)

    def _sleep(self, own: socket.socket, targets: tuple) -> None:
        """A sealed copy's whole life. It leaves by `os._exit`, so nothing of the notebook runs on in it."""
        try:
            for other in self._copies.values():
                other.close()
            self._channel.close()
            channel = self._channel = Channel(own, to_torch)
            serve(channel, targets)
        finally:
            os._exit(0)


def serve(channel: Channel, targets: tuple) -> dict:
    """Carries out steps for the judge until it sends a report; returns what is to be shown."""
    while True:
        message = channel.receive()
        if message["op"] == "show":
            return message["data"]
        if message.get("memory"):
            from autograder.sandbox import limit_memory

            limit_memory(message["memory"])
        provides, refuses = tuple(message["provides"]), tuple(message["refuses"])
        try:
            outcomes = perform(message["steps"], targets, provides, refuses, _asker(channel))
        except (Gone, Malformed):
            raise
        except (
            BaseException
        ) as error:  # an interrupt, which a notebook's reader may want, is here an answer like any other
            raised = {"kinds": [kind.__name__ for kind in type(error).__mro__[:-1]], "text": "", "line": None}
            outcomes = [Outcome(raised=raised) for _ in message["steps"]]
        try:
            channel.send({"op": "outcomes", "nonce": message["nonce"], "outcomes": outcomes})
        except Unsendable as error:
            channel.send({"op": "outcomes", "nonce": message["nonce"], "outcomes": [], "unsendable": str(error)})


def _asker(channel: Channel) -> Callable:
    """How a function that lives with the judge is called from here."""

    def ask(name: str, args: tuple, kwargs: dict) -> Any:
        channel.send({"op": "call", "name": name, "args": args, "kwargs": kwargs})
        reply = channel.receive()
        if "error" in reply:
            raise ValueError(reply["error"])
        return reply["value"]

    return ask


class Check:
    """What `lab(…)` gives a notebook here."""

    def __init__(self, notebook: Notebook) -> None:
        self.__dict__["_notebook"] = notebook

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        notebook: Notebook = self.__dict__["_notebook"]
        return lambda *targets: notebook.check(name, targets)

    def progress(self) -> None:
        """Nothing to show: the points are not known here."""


_notebook: list[Notebook] = []


def lab(name: str) -> Check:
    """What a notebook's check lines are called on."""
    return Check(_notebook[0])


def live(shell: Any, outputs: Outputs, main: socket.socket, copies: dict[str, socket.socket]) -> None:
    """The submission's process, from the fork to its end."""
    # What programs started by the notebook write lands in a file that is read after each cell.
    spill = tempfile.TemporaryFile(dir=".", buffering=0)  # noqa: SIM115
    _spill.append(os.dup(spill.fileno()))
    spill.close()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(_spill[0], 1)
    os.dup2(_spill[0], 2)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.stdout, sys.stderr = Stream("stdout", outputs, 1), Stream("stderr", outputs, 2)
    notebook = Notebook(shell, outputs, Channel(main, to_torch), copies)
    _notebook.append(notebook)
    with contextlib.suppress(Gone):
        notebook.run()


_spill: list[int] = []


def spilled() -> str:
    """What has been written to the file descriptors themselves since the last cell."""
    size = os.lseek(_spill[0], 0, os.SEEK_CUR)
    if not size:
        return ""
    text = os.pread(_spill[0], min(size, MOST_TEXT), 0).decode("utf-8", "replace")
    os.ftruncate(_spill[0], 0)
    os.lseek(_spill[0], 0, os.SEEK_SET)
    return text


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
