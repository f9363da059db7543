"""The judge's hold on a zygote: starts it, gives it jobs, and knows that nothing of a job is left when it is over."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from autograder.grading.scratch import Scratch
from autograder.grading.staging import stage
from autograder.sandbox import Policy, Report, interpreter_paths
from course_lib.checks.definition import Lab

ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ")
# One thread: a process that has run several must not fork, and grading is parallel by submission.
ALONE = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
START = "import sys; sys.path[:] = {path!r}; from autograder.grading.zygote import serve; serve({number})"
IMPORTS = ["numpy", "matplotlib.pyplot", "matplotlib_inline.backend_inline", "autograder.grading.student"]


DEFAULT = Policy(memory_bytes=6 << 30, total_bytes=2 << 30, cpu_seconds=600)


class ZygoteError(Exception):
    """The zygote did not start, or would not start a job: the machine's fault, never a student's."""


class Job:
    """A submission's process: the judge's ends of its sockets."""

    def __init__(self, control: socket.socket, main: socket.socket, copies: dict[str, socket.socket]) -> None:
        self.main, self.copies = main, copies
        self._control = control
        self._sealed = False

    def seal(self) -> None:
        """Ends the notebook's own process; its copies sleep on. Once is enough."""
        if not self._sealed:
            self._sealed = True
            self._control.send(b"seal")
            _reply(self._control)

    def end(self) -> tuple[float, int]:
        """Ends everything; returns CPU seconds and the most memory in bytes."""
        self._control.send(b"kill")
        usage = _reply(self._control)
        return usage["cpu"], usage["memory"]


class Zygote:
    """A running zygote for one lab. What it provides, and `imports` where they are to be had, are loaded from the start."""

    def __init__(self, lab: Lab, report: Report, policy: Policy = DEFAULT, imports: tuple[str, ...] = ()) -> None:
        self._scratch = Scratch()
        self.folder = self._scratch.path
        """Where submissions are run, each in a folder of its own."""
        os.chmod(self.folder, 0o755)
        staged = stage(lab, self.folder / "staged")
        ours = Path(__file__).resolve().parents[2]
        libraries = [path for path in sys.path if path and Path(path).resolve() != ours]
        policy = replace(policy, readable=(str(staged), *interpreter_paths(), *policy.readable), uid=report.uid)
        self.uid = report.uid
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        start = START.format(path=[str(staged), *libraries], number=theirs.fileno())
        home = self.folder / "home"
        home.mkdir()
        environment = {name: value for name, value in os.environ.items() if name in ENVIRONMENT} | ALONE
        environment |= {"MPLCONFIGDIR": str(home), "IPYTHONDIR": str(home), "HOME": str(home)}
        environment |= {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"PYTHONHASHSEED": "0"}  # the order of a set of texts is the same when it is graded again
        command = [sys.executable, "-P", "-s", "-c", start]
        passed = [
            theirs.fileno(),
            self._scratch.lock,
        ]  # it holds the folder for as long as something of a student's may live
        self._process = subprocess.Popen(
            command, pass_fds=passed, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
        )  # in a session of its own: Ctrl-C is for the grader, which then ends what it has started
        theirs.close()
        self._control = mine
        settings = {
            "imports": IMPORTS,
            "more": [*lab.provides, *imports],
            "policy": policy.to_json(),
            "report": report.to_json(),
        }
        try:
            mine.send(json.dumps(settings).encode())
            _reply(mine)
        except BaseException:
            self._process.kill()
            self.close()
            raise

    def start(self, folder: str, checks: list[str]) -> Job:
        """Starts a submission's process in `folder`, with a socket for itself and for each check's sealed copy."""
        pairs = [socket.socketpair() for _ in range(1 + len(checks))]
        job = json.dumps({"folder": folder, "checks": checks}).encode()
        socket.send_fds(self._control, [job], [theirs.fileno() for _, theirs in pairs])
        for _, theirs in pairs:
            theirs.close()
        _reply(self._control)
        main, *copies = (mine for mine, _ in pairs)
        return Job(self._control, main, dict(zip(checks, copies, strict=True)))

    def close(self) -> None:
        """Ends the zygote and removes what was staged."""
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._scratch.close()

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _reply(control: socket.socket) -> dict:
    data = control.recv(1 << 20)
    if not data:
        raise ZygoteError("the process that starts submissions has ended")
    reply = json.loads(data)
    if "error" in reply:
        raise ZygoteError(reply["error"])
    return reply
