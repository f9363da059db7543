"""The process that has imported everything and forks one child for each submission. It knows no secret.

Starting Python and importing NumPy, IPython and torch takes seconds; forking a process that has done so takes milliseconds. It
is started with the staged copy of the course as its only import path of ours, reads jobs from a socket, and for each puts a
child into a box of the sandbox. When a job is over, everything in its box is dead.

    job      {"folder", "checks": [names]}, with the sockets: the notebook's own, then one for each check
    replies  {"started"}, after "seal" {"sealed"}, and when all is over {"cpu", "memory"}
"""

import contextlib
import gc
import io
import json
import os
import socket
import sys
from dataclasses import replace
from typing import Any

MOST = 1 << 20  # bytes of a message
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def shell_class(outputs: Any) -> type:
    """An IPython shell that keeps what it shows in `outputs`."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    class Publisher(DisplayPublisher):
        def publish(
            self, data: Any, metadata: Any = None, *args: Any, transient: Any = None, update: bool = False, **more: Any
        ) -> None:
            shown = {"output_type": "display_data", "data": dict(data), "metadata": dict(metadata or {})}
            name = (transient or {}).get("display_id")
            outputs.update(shown, name) if update else outputs.add(shown, name)

        def clear_output(self, wait: bool = False) -> None:
            outputs.clear(wait)

    class Hook(DisplayHook):
        def __call__(self, result: Any = None) -> None:
            if result is None or self.quiet():
                return
            data, metadata = self.compute_format_data(result)
            self.update_user_ns(result)
            self.fill_exec_result(result)
            if data:
                shown = {"output_type": "execute_result", "data": dict(data), "metadata": dict(metadata or {})}
                outputs.add({**shown, "execution_count": None})

    class Shell(InteractiveShell):
        system = InteractiveShell.system_raw  # the piped form wants a terminal, and there is none

        def enable_gui(self, gui: str | None = None) -> None:
            pass

        def _showtraceback(self, kind: type, error: BaseException, lines: list[str]) -> None:
            try:
                said = str(error)
            except Exception:
                said = "(its text cannot be read)"
            outputs.add(
                {
                    "output_type": "error",
                    "ename": getattr(kind, "__name__", str(kind)),
                    "evalue": said[:2000],
                    "traceback": [str(line)[:20_000] for line in lines],
                }
            )

    Shell.display_pub_class.default_value = Publisher
    Shell.displayhook_class.default_value = Hook
    return Shell


def prepared(imports: list[str], more: list[str], outputs: Any) -> Any:
    """Imports what notebooks of this lab will want, and returns a shell that has run a cell before."""
    from importlib import import_module

    from autograder.grading import alone, claims

    for name in imports:
        import_module(name)
    for name in more:
        with contextlib.suppress(Exception):  # not here, or a function: the notebook will say
            import_module(name)
    alone.settle()
    claims.take_buffers()
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell: Any = shell_class(outputs)
    shell = shell.instance(config=config)
    if "matplotlib" in sys.modules:
        import matplotlib.pyplot as plt

        shell.enable_matplotlib("inline")
        plt.figure()
        plt.plot([1])
        plt.savefig(io.BytesIO())  # finds its fonts
        plt.close("all")
        plt.draw_if_interactive.called = False  # type: ignore[attr-defined]  # or the next %run shows an empty figure
    os.environ |= OFFLINE
    shell.db = {}  # what %cd and the like remember
    shell.run_cell("1 + 1", store_history=True)
    shell.reset(new_session=True)
    outputs.taken()
    return shell


def serve(number: int) -> None:
    """Serves jobs from the socket with this number until it closes, in the middle of a job too."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        main(number)


def main(number: int) -> None:
    """The work of `serve`."""
    control = socket.socket(fileno=number)
    settings = json.loads(control.recv(MOST))
    from autograder.grading.student import Outputs, live
    from autograder.sandbox import Container, Policy, Report

    outputs = Outputs()
    shell = prepared(settings["imports"], settings["more"], outputs)
    policy, report = Policy.from_json(settings["policy"]), Report.from_json(settings["report"])
    gc.collect()
    gc.freeze()
    _say(control, ready=True)
    while True:
        data, numbers, _, _ = socket.recv_fds(control, MOST, 250)
        if not data:
            return
        job = json.loads(data)

        def run(checks: list[str] = job["checks"], numbers: list[int] = numbers) -> None:
            main_socket, *others = (socket.socket(fileno=fd) for fd in numbers)
            live(shell, outputs, main_socket, dict(zip(checks, others, strict=True)))

        try:
            # Sealed copies are the grader's own doing, and do not count against the notebook.
            most = policy.processes + len(job["checks"])
            own = replace(policy, writable=(job["folder"],), processes=most)
            box = Container(own, report).spawn(run, tuple(numbers))
        except Exception as error:
            _say(control, error=f"{type(error).__name__}: {error}")
            continue
        finally:
            for fd in numbers:
                os.close(fd)
        _say(control, started=True)
        with box:
            if control.recv(MOST) == b"seal":  # the notebook has ended; its copies sleep on
                box.kill_main()
                _say(control, sealed=True)
                control.recv(MOST)
        used = box.usage()
        _say(control, cpu=used.cpu_seconds, memory=used.peak_bytes)


def _say(control: socket.socket, **message: Any) -> None:
    control.send(json.dumps(message).encode())


if __name__ == "__main__":
    serve(int(sys.argv[1]))
