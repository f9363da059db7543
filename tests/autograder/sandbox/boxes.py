"""What the sandbox's tests share: attacks carried out in boxes, by the user who runs the tests and by one without rights.

A container belongs into a process of its own, which may become another user or lose rights for good. So each test hands over
what such a process should do; what comes back is plain data.
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.sandbox import (
    NOBODY,
    Box,
    Container,
    Policy,
    Report,
    SandboxError,
    cgroups,
    identity,
    interpreter_paths,
    kernel,
    namespaces,
    probe,
)

WITHOUT = {
    "best": (),
    "without root": ("root",),
    "without namespaces": ("namespaces",),
    "bare": ("namespaces", "kernel"),
}
"""What is switched off for the runs at the best level that this machine has, at B or C, at C, and at D."""

ROOT = Path(__file__).parents[3]
USERS = ("as we are", "as nobody")
PATIENCE = 20
NO_CALL = 3460
"""A number that no kernel has a call for."""

_reports: dict[tuple[str, tuple[str, ...]], Report] = {}


REFUSED = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS, errno.EXDEV, errno.ESRCH)


def outcome(attack: Callable[..., object], *arguments: Any) -> int:
    """0 where an attack succeeds, else the error's number."""
    try:
        attack(*arguments)
    except OSError as fault:
        return fault.errno or errno.EIO
    except ValueError:
        return errno.EPERM  # so says `resource` of a limit that may not be raised
    return 0


@dataclass(frozen=True)
class Ground:
    """Folders that everyone may enter: one to read, one that anyone may write in, and one that is not granted."""

    readable: Path
    writable: Path
    outside: Path


@contextlib.contextmanager
def ground() -> Iterator[Ground]:
    above = Path(os.path.realpath(tempfile.mkdtemp()))
    above.chmod(0o755)
    try:
        made = Ground(above / "readable", above / "writable", above / "outside")
        for folder, mode in ((made.readable, 0o755), (made.writable, 0o777), (made.outside, 0o777)):
            folder.mkdir()
            folder.chmod(mode)
            folder.joinpath("file").write_text("what is here\n", encoding="utf-8")
            folder.joinpath("file").chmod(0o666)
        yield made
    finally:
        shutil.rmtree(above)


def open_interpreter() -> None:
    """Where the interpreter is in a closed home, this process sees a home that is open and holds nothing else."""
    needed = {sys.prefix, sys.base_prefix, str(ROOT)}
    if any(not folder.stat().st_mode & 0o001 for path in needed for folder in Path(path).resolve().parents):
        kernel.call("unshare", namespaces.FLAGS["mount"])
        around = [path for name in os.listdir("/") if os.path.isdir(path := f"/{name}")]
        open_to_all = [path for path in around if os.stat(path).st_mode & 0o001]
        namespaces.View.of(tuple(needed), tuple(open_to_all)).enter(proc=False)


def other_process(user: str, body: Callable[[], Any], seconds: int = PATIENCE) -> Any:
    """What `body` returns in a process of its own, after it has become `user`. A failure there fails here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            signal.alarm(seconds)
            try:
                if user == "as nobody" and os.geteuid() == 0:
                    open_interpreter()
                    identity.drop(NOBODY, NOBODY)
                    identity.make_dumpable()
                said = {"value": body()}
            except BaseException:
                said = {"failure": traceback.format_exc()}
            with open(writing, "w", encoding="utf-8") as answers:
                json.dump(said, answers)
            sys.stdout.flush()
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as answers:
        text = answers.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert text, f"the process ended with {status}"
    answer = json.loads(text)
    assert "failure" not in answer, answer["failure"]
    return answer["value"]


def inside(container: Container, attack: Callable[[], Any], seconds: float = 5) -> Any:
    """What an attack returns in a box, or {"raised": …, "text": …}, or {"ended": exit status} when it says nothing."""
    reading, writing = os.pipe()

    def told() -> None:
        try:
            said = attack()
        except Exception as fault:
            said = {"raised": type(fault).__name__, "errno": getattr(fault, "errno", None), "text": str(fault)}
        os.write(writing, json.dumps(said).encode())

    with open(reading, "rb") as answers:
        try:
            box = container.spawn(told, (writing,))
        finally:
            os.close(writing)
        with box:
            status = box.wait(seconds)
        text = answers.read()
    return json.loads(text) if text else {"ended": status}


@dataclass(frozen=True)
class Maker:
    """A user and what is switched off: the two things that decide a level."""

    user: str
    without: tuple[str, ...]

    @property
    def report(self) -> Report:
        key = (self.user, self.without)
        if key not in _reports:
            _reports[key] = Report.from_json(other_process(self.user, lambda: probe(self.without).to_json()))
        return _reports[key]

    def policy(self, ground: Ground, **more: Any) -> Policy:
        """A policy over the ground, as the user that the report says."""
        readable = (*interpreter_paths(), str(ground.readable))
        usual = {"readable": readable, "writable": (str(ground.writable),), "uid": self.report.uid}
        return Policy(**{**usual, **more})

    def container(self, ground: Ground, **more: Any) -> Container:
        return Container(self.policy(ground, **more), self.report)

    def run(self, body: Callable[[], Any]) -> Any:
        """What `body` returns in a process of this user's."""
        assert self.report
        return other_process(self.user, body)

    def attack(self, ground: Ground, attack: Callable[[], Any], **more: Any) -> Any:
        """What an attack returns in a box of this user's."""
        return self.run(lambda: inside(self.container(ground, **more), attack))

    def refusal(self, ground: Ground, lacking: str = "", **more: Any) -> str:
        """Why no box can be made; fails when one can, and when anything runs in it. The kernel may lack a call by then."""

        def body() -> str:
            mark = ground.writable / "ran"
            if lacking:
                kernel.NUMBERS[lacking] = NO_CALL
            try:
                box: Box = self.container(ground, **more).spawn(mark.touch)
            except SandboxError as fault:
                assert not mark.exists()
                return str(fault)
            box.kill()
            raise AssertionError("a box was made")

        return self.run(body)


def left_over(grader: int, report: Report) -> list[str]:
    """The control groups of a grader that was killed, after the next one has put away what it can."""
    if not report.works("cgroup"):
        return []
    cgroups.remove_leftovers(cgroups.find())
    return [str(path) for folder in cgroups.find().paths for path in folder.glob(f"autograder-{grader}-*")]
