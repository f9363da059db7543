"""A submission's own process: its cells, one by one, in an IPython shell; its check lines, which hand over answers.

It is told what to run and what to try, and says what came of it; it holds no expectation and reaches no verdict. At the check
line of a graded cell it forks a *sealed copy*, which sleeps on a socket of its own. When the notebook has ended and what it
showed is sealed, the judge wakes the copies one by one for the hidden cases: what a copy learns can no longer go anywhere.

    cell     {"op": "cell", "number", "name", "source"}    → any number of checks, then {"op": "done", "outputs", "ok"}
             with "asserts", the name of a check that is a cell of asserts, it leaves a copy too (`trying`)
    check    {"op": "check", "name", "targets"}            ← steps, any number of times, then "over"; the judge keeps its report
    ask      {"op": "ask", "nonce", "steps", …}            → {"op": "outcomes", "nonce", "outcomes"}
"""

import asyncio
import builtins
import contextlib
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from autograder.grading.channel import Channel, Gone
from autograder.grading.claims import held_to
from autograder.grading.displays import Outputs, connect
from autograder.grading.forks import forked, others_run
from autograder.grading.trying import try_out
from course_lib.checks.perform import Outcome, perform
from course_lib.checks.values import Malformed, Unsendable, to_torch


class Notebook:
    """One submission in its process: the shell, the channel to the judge, and the sockets of sealed copies."""

    def __init__(self, shell: Any, outputs: Outputs, channel: Channel, copies: dict[str, socket.socket]) -> None:
        self.shell, self.outputs = shell, outputs
        self._channel, self._copies = channel, copies
        self._running: str | None = None

    def run(self) -> None:
        """Runs what the judge sends until it says that this was all."""
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        while (message := self._channel.receive())["op"] == "cell":
            self._running = message["name"]
            if message["name"].startswith("check_"):
                self.shell.user_ns["check"] = Check(self)  # whatever the notebook has made of that name
            copy = None
            if message.get("asserts"):
                copy = self._copied(message["asserts"], partial(try_out, namespace=self.shell.user_ns))
            ok = loop.run_until_complete(self._run(message["source"]))
            done = {"op": "done", "number": message["number"], "ok": bool(ok), "copy": copy}
            self._channel.send({**done, "outputs": self.outputs.taken()})

    async def _run(self, source: str) -> bool:
        """Runs a cell as a kernel does: while an event loop runs, on which the cell may wait."""
        await asyncio.sleep(0)  # for tasks that an earlier cell has left
        shell = self.shell
        if "await" not in source and "async" not in source:  # which saves reading it twice
            return shell.run_cell(source, store_history=True).success
        try:
            code, wrong = shell.transform_cell(source), None
        except Exception:
            code, wrong = source, sys.exc_info()
        if not shell.should_run_async(source, transformed_cell=code, preprocessing_exc_tuple=wrong):
            return shell.run_cell(source, store_history=True).success
        done = await shell.run_cell_async(
            source, store_history=True, transformed_cell=code, preprocessing_exc_tuple=wrong
        )
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", done)
        return done.success

    def check(self, name: str, targets: tuple) -> Any:
        """A check line: hands the targets over, and keeps a place for the judge's report among what is shown."""
        copy = self._copied(name, partial(serve, targets=targets))
        self._channel.send({"op": "check", "name": name, "targets": len(targets), "copy": copy})
        serve(self._channel, targets)
        self.outputs.add({"output_type": "report"})

    def _copied(self, name: str, life: Callable[[Channel], None]) -> str | None:
        """Leaves a sealed copy at a graded cell that has left none yet; says in a word what that one lacks."""
        copy = "threads" if others_run() else None
        if self._running == f"check_{name}" and (own := self._copies.pop(name, None)) is not None:
            try:
                if forked() == 0:
                    self._sleep(own, life)
            except OSError:  # as many processes and threads run as there may be
                copy = "none"
            own.close()
        return copy

    def _sleep(self, own: socket.socket, life: Callable[[Channel], None]) -> None:
        """A sealed copy's whole life. It leaves by `os._exit`, so nothing of the notebook runs on in it."""
        try:
            for other in self._copies.values():
                other.close()
            self._channel.close()
            channel = self._channel = Channel(own, to_torch)
            life(channel)
        finally:
            os._exit(0)


def serve(channel: Channel, targets: tuple) -> None:
    """Carries out steps for the judge until it says that this was all."""
    while (message := channel.receive())["op"] == "ask":
        if message.get("memory"):
            held_to(message["memory"], partial(_answer, channel, message, targets))
        else:
            _answer(channel, message, targets)


def _answer(channel: Channel, message: dict, targets: tuple) -> None:
    """Carries out the steps of one case, and says what came of them."""
    provides, refuses = tuple(message["provides"]), tuple(message["refuses"])
    try:
        outcomes = perform(message["steps"], targets, provides, refuses, _asker(channel))
    except (Gone, Malformed):
        raise
    except BaseException as error:  # an interrupt, which a notebook's reader may want, is here an answer like any other
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
            raise _error(reply["kind"], reply["error"])
        return reply["value"]

    return ask


def _error(kind: str, text: str) -> Exception:
    """What a function raised there, if it is an exception of Python's own; a ValueError for any other."""
    found = getattr(builtins, kind, None)
    if isinstance(found, type) and issubclass(found, Exception):
        with contextlib.suppress(TypeError):  # some want more than a text
            return found(text)
    return ValueError(f"{kind}: {text}")


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
    connect(outputs)
    sys.path.insert(0, "")  # what a notebook writes beside itself, it can import
    os.environ["HOME"] = os.getcwd()
    notebook = Notebook(shell, outputs, Channel(main, to_torch), copies)
    _notebook.append(notebook)
    with contextlib.suppress(Gone):
        notebook.run()
