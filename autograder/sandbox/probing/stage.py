"""What the trials share: a box with chosen layers in which one attack is carried out, and the attacks that several need."""

import contextlib
import ctypes
import errno
import json
import mmap
import os
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from autograder.sandbox import kernel
from autograder.sandbox.container import Container
from autograder.sandbox.levels import LAYERS, Layer, Report
from autograder.sandbox.policy import Policy, said

PATIENCE = 10.0
MOST_SAID = 1 << 16
X32_GETPID = 0x40000000 + 39
# mov eax, 20 (getpid as i386 numbers it); int 0x80; ret
GETPID_OF_I386 = bytes.fromhex("b814000000cd80c3")


class Failed(Exception):
    """A layer was up and did not stop what it is there to stop. `raise_by` says what would help, where that is known here."""

    def __init__(self, seen: str, raise_by: str = "") -> None:
        super().__init__(seen)
        self.raise_by = raise_by


def tried(
    layers: Iterable[str],
    main: Callable[[], str],
    policy: Policy | None = None,
    meanwhile: Callable[[str], object] | None = None,
) -> str:
    """What `main` returns in a box with these layers and no others. Raises Failed with what it raised, or with how it ended.

    meanwhile   is given what `main` returned, out here, while the box still stands
    """
    reading, writing = os.pipe()

    def told() -> None:
        try:
            answer = {"said": main()}
        except Exception as fault:
            answer = {"fault": said(fault), "raise_by": getattr(fault, "raise_by", "")}
        os.write(writing, json.dumps(answer).encode())
        if meanwhile:
            signal.pause()

    with open(reading, "rb", buffering=0) as answers:
        try:
            box = _container(layers, policy).spawn(told, (writing,))
        finally:
            os.close(writing)
        with box:
            answer: dict[str, Any] = json.loads(_first_line(answers.fileno()) or "{}")
            if meanwhile and "said" in answer:
                meanwhile(answer["said"])
            elif not answer:
                raise Failed(f"the trial ended with status {box.wait(PATIENCE)}")
    if "fault" in answer:
        raise Failed(answer["fault"], answer["raise_by"])
    return answer["said"]


def status(layers: Iterable[str], main: Callable[[], None], policy: Policy | None = None) -> int | None:
    """How `main` ends in a box with these layers and no others; None when it does not."""
    with _container(layers, policy).spawn(main) as box:
        return box.wait(PATIENCE)


def _container(layers: Iterable[str], policy: Policy | None) -> Container:
    up = set(layers)
    report = Report(tuple(Layer(name, name in up, "on trial" if name in up else "left out") for name in LAYERS))
    return Container(policy or Policy(), report)


def _first_line(descriptor: int) -> bytes:
    """What is written at once, however long it takes to come; nothing when it does not come."""
    return os.read(descriptor, MOST_SAID) if select.select([descriptor], [], [], PATIENCE)[0] else b""


def refused(what: str, attack: Callable[[], object], expected: int | None = errno.EPERM) -> None:
    """Carries out an attack. Raises Failed where it succeeds, or fails for another reason than `expected` (None: any)."""
    try:
        attack()
    except OSError as fault:
        if expected is not None and fault.errno != expected:
            raise Failed(f"{what} was not refused, but failed: {said(fault)}") from None
        return
    raise Failed(f"{what} was allowed")


@contextlib.contextmanager
def folders() -> Iterator[tuple[str, str, str]]:
    """Three folders, one to read, one to write and one to keep away from, with a file in each."""
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o711)
        paths = [Path(os.path.realpath(above), name) for name in ("readable", "writable", "outside")]
        for path in paths:
            path.mkdir()
            path.joinpath("file").write_text("what is here\n", encoding="utf-8")
            path.joinpath("file").chmod(0o755)
        yield str(paths[0]), str(paths[1]), str(paths[2])


def detached(stopped: bool = False) -> int:
    """Starts a grandchild in a session of its own that ignores being asked to end, and returns its number."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            grandchild = os.fork()
            if grandchild:
                os.write(writing, str(grandchild).encode())
                os._exit(0)
            for which in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(which, signal.SIG_IGN)
            os.close(writing)
            if stopped:
                os.kill(os.getpid(), signal.SIGSTOP)
            while True:
                time.sleep(PATIENCE)
        finally:
            os._exit(1)
    os.close(writing)
    said = os.read(reading, 32)
    os.close(reading)
    os.waitpid(child, 0)
    if not said:
        raise OSError(errno.EAGAIN, "no process could be started")
    return int(said)


def alive(pid: int) -> bool:
    """Whether there is such a process, ended but unnoticed ones included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def ending_of(attack: Callable[[], object]) -> int:
    """The exit status of a child that carries out an attack."""
    child = os.fork()
    if child == 0:
        try:
            attack()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def call_as_x32() -> None:
    """Calls the kernel by the numbers of x32, an architecture of its own on x86-64."""
    with contextlib.suppress(OSError):
        kernel.number(X32_GETPID, "getpid")


def call_as_i386() -> None:
    """Calls the kernel by the numbers of i386: call 41 there is dup, and 359 socket."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(GETPID_OF_I386)
    ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
