"""One trial for each layer: put up as a submission would get it, attacked as a hostile notebook would, watched.

A trial is given the names of the layers that work so far, and returns what it saw. It raises Failed, or whatever the layer
raised, where the layer does not do its work.
"""

import contextlib
import ctypes
import errno
import json
import mmap
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from autograder.sandbox import cgroups, identity, kernel, landlock, limits
from autograder.sandbox.levels import LAYERS
from autograder.sandbox.policy import NOBODY, Policy, interpreter_paths
from autograder.sandbox.probing.stage import (
    Failed,
    alive,
    call_as_i386,
    call_as_x32,
    detached,
    ending_of,
    folders,
    refused,
    status,
    tried,
)

MIB = 1 << 20


def limits_hold(_: set[str]) -> str:
    """An allocation beyond the limit is refused, one within it is not."""

    def main() -> str:
        limits.limit_memory(64 * MIB)
        mmap.mmap(-1, 8 * MIB).close()
        with contextlib.suppress(OSError, MemoryError):
            mmap.mmap(-1, 256 * MIB)
            raise Failed("256 MiB were given to a process that was allowed 64")
        return "256 MiB refused to a process that was allowed 64"

    return tried(["limits"], main)


def ending_is_complete(_: set[str]) -> str:
    """Children that detach themselves, stop, or ignore being asked are gone after a kill."""
    numbers: list[int] = []

    def main() -> str:
        return json.dumps([detached(), detached(stopped=True)])

    tried([], main, meanwhile=lambda said: numbers.extend(json.loads(said)))
    left = [pid for pid in numbers if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    if left or len(numbers) != 2:
        raise Failed("a detached child outlived its box")
    return "children that had detached themselves are gone"


def no_new_privileges(_: set[str]) -> str:
    """The kernel says so, and it cannot be taken back."""

    def main() -> str:
        with contextlib.suppress(OSError):
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 0)
        if kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) != 1:
            raise Failed("new privileges are still allowed")
        if identity.privileged():
            raise Failed("capabilities are left")
        return "no program gives new rights, and no capability is left"

    return tried(["no_new_privs"], main)


def calls_are_refused(_: set[str]) -> str:
    """Refused calls fail, another architecture's kill, and what NumPy and torch need goes on."""

    def main() -> str:
        for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
            refused(f"a socket of {family.name}", partial(socket.socket, family))
        for name in ("unshare", "ptrace", "process_vm_readv", "bpf", "keyctl", "io_uring_setup", "mount"):
            refused(name, partial(kernel.call, name))
        refused("a clone into a new namespace", lambda: kernel.call("clone", 0x10000000 | signal.SIGCHLD))
        socket.socketpair()[0].close()
        threading.Thread(target=int).start()
        killed = "no other architecture's calls here"
        if kernel.MACHINE == "x86_64":
            for name, attack in (("x32", call_as_x32), ("i386", call_as_i386)):
                if ending_of(attack) not in (-signal.SIGSYS, -signal.SIGSEGV):
                    raise Failed(f"a call by {name}'s numbers was answered")
            killed = "x32 and i386 calls kill"
        return f"sockets, ptrace, mount and others refused; {killed}"

    return tried(["no_new_privs", "seccomp"], main)


def files_are_kept(_: set[str]) -> str:
    """What is granted can be opened as it is granted, everything else cannot."""
    with folders() as (readable, writable, outside):

        def main() -> str:
            Path(readable, "file").read_bytes()
            Path(writable, "new").write_bytes(b"")
            refused("reading outside", lambda: Path(outside, "file").read_bytes(), errno.EACCES)
            refused("listing outside", lambda: os.listdir(outside), errno.EACCES)
            refused("writing outside", lambda: Path(outside, "new").write_bytes(b""), errno.EACCES)
            refused("writing what is to be read", lambda: Path(readable, "file").write_bytes(b""), errno.EACCES)
            refused("running what is outside", lambda: os.execv(f"{outside}/file", ["file"]), errno.EACCES)
            return "reading and writing outside refused"

        policy = Policy(readable=(readable,), writable=(writable,))
        said = tried(["no_new_privs", "landlock"], main, policy)
    with contextlib.suppress(OSError):
        landlock.ruleset((f"{outside}/gone",), ())
        raise Failed("a rule for a path that does not exist was passed over")
    return f"{said} (interface {landlock.version()})"


def user_namespace(_: set[str]) -> str:
    """One can be made, with this user in it; root makes the others without."""
    if identity.privileged():
        return "not needed: root makes the others itself"

    def main() -> str:
        return f"user {os.getuid()} alone is known inside"

    return tried(["user"], main)


def network_namespace(_: set[str]) -> str:
    """No interface but lo, and that one is down."""

    def main() -> str:
        names = [name for _, name in socket.if_nameindex()]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.connect(("127.0.0.1", 9))
            raise Failed("the loopback answers")
        if names != ["lo"]:
            raise Failed(f"interfaces are there: {', '.join(names)}")
        return "no interface but a lo that is down"

    return tried(["user", "net"], main)


def process_namespace(_: set[str]) -> str:
    """Process 1 is the box's own, and ours cannot be signalled."""
    outside = os.getpid()

    def main() -> str:
        refused("signalling the grader", lambda: os.kill(outside, 0), errno.ESRCH)
        if os.getppid() != 1:
            raise Failed(f"the first process is number {os.getppid()}")
        return "the grader's processes do not exist inside"

    return tried(["user", "pid"], main)


def queue_namespace(_: set[str]) -> str:
    """Shared memory that is made inside is not there outside."""
    key = int.from_bytes(os.urandom(3)) + 1
    found: list[int] = []

    def main() -> str:
        kernel.call("shmget", key, mmap.PAGESIZE, 0o1600)
        return "shared memory made inside is not there outside"

    def look(_: str) -> None:
        with contextlib.suppress(OSError):
            found.append(kernel.call("shmget", key, 0, 0))

    said = tried(["user", "ipc"], main, meanwhile=look)
    if found:
        ctypes.CDLL(None).shmctl(found[0], 0, None)
        raise Failed("shared memory made inside is there outside")
    return said


def file_namespace(_: set[str]) -> str:
    """What is not granted does not exist, and what is granted to be read cannot be changed."""
    with folders() as (readable, writable, outside):

        def main() -> str:
            Path(readable, "file").read_bytes()
            Path(writable, "new").write_bytes(b"")
            refused("asking about a file outside", lambda: os.stat(f"{outside}/file"), errno.ENOENT)
            refused("changing what is to be read", lambda: os.chmod(f"{readable}/file", 0), errno.EROFS)
            refused("writing to the root", lambda: os.mkdir("/new"), errno.EROFS)
            return "other files do not exist inside"

        return tried(["user", "pid", "mount"], main, Policy(readable=(readable,), writable=(writable,)))


def fresh_proc(works: set[str]) -> str:
    """/proc shows the box's processes and no others."""
    if not {"pid", "mount"} <= works:
        raise Failed("needs namespaces of processes and files")

    def main() -> str:
        strangers = {name for name in os.listdir("/proc") if name.isdigit()} - {"1", str(os.getpid())}
        if strangers:
            raise Failed(f"/proc shows {len(strangers)} processes of others")
        return "/proc shows the box's processes alone"

    return tried(["user", "pid", "mount", "proc"], main)


def another_user(works: set[str]) -> str:
    """The grader's private files cannot be read, the interpreter can, and there is no way back."""
    if not kernel.SUPPORTED or os.geteuid() != 0:
        raise Failed("only root may become another user")
    view = [name for name in ("user", "pid", "mount") if name in works]
    with folders() as (readable, writable, _):
        secret = Path(readable, "secret")
        secret.touch(mode=0o600)
        os.chown(writable, NOBODY, NOBODY)

        def main() -> str:
            if os.getresuid() != (NOBODY,) * 3 or os.getgroups():
                raise Failed(f"still user {os.getuid()} with groups {os.getgroups()}")
            refused("a private file of the grader's", secret.read_bytes, errno.EACCES)
            refused("becoming root again", lambda: os.setuid(0))
            try:
                Path(os.__file__).read_bytes()
            except OSError:
                seen = f"user {NOBODY} cannot reach the interpreter: a folder above {os.__file__} is closed"
                raise Failed(seen, "an interpreter in a folder that others can reach, or namespaces") from None
            return f"user {NOBODY} cannot read the grader's private files"

        paths = (*interpreter_paths(), readable)
        return tried([*view, "identity"], main, Policy(paths, (writable,), uid=NOBODY, gid=NOBODY))


def control_group(_: set[str]) -> str:
    """Memory and processes beyond the group's are refused. What graders that were killed left is removed first."""
    if not kernel.SUPPORTED:
        raise Failed("there are none on this system")
    cgroups.remove_leftovers(cgroups.find())

    def main() -> str:
        started = 0
        with contextlib.suppress(OSError):
            for _ in range(24):
                detached()
                started += 1
        if started > 8:
            raise Failed(f"{started} processes were started where 8 are allowed")
        return "more processes than allowed refused"

    def hog() -> None:
        taken = mmap.mmap(-1, 96 * MIB)
        for place in range(0, len(taken), mmap.PAGESIZE):
            taken[place] = 1
        raise Failed("96 MiB were given to a group that was allowed 32")

    said = tried(["cgroup"], main, Policy(processes=8))
    ended = status(["cgroup"], hog, Policy(total_bytes=32 * MIB))
    if ended != -signal.SIGKILL:
        raise Failed("96 MiB were given to a group that was allowed 32")
    return f"{said}, more memory than allowed ends its process"


def all_together(works: set[str]) -> str:
    """Everything at once, as a submission gets it."""
    uid = NOBODY if "identity" in works else None
    with folders() as (readable, writable, outside):
        if uid is not None:
            os.chown(writable, uid, uid)

        def main() -> str:
            Path("new").write_bytes(Path(readable, "file").read_bytes())
            Path(os.__file__).read_bytes()
            subprocess.run(["/bin/sh", "-c", "exit 0"], check=True)
            threading.Thread(target=int).start()
            held = {
                "reading outside": lambda: Path(outside, "file").read_bytes(),
                "writing outside": lambda: Path(outside, "new").write_bytes(b""),
            }
            if "seccomp" in works:
                held["a socket"] = lambda: socket.socket().close()  # type: ignore[assignment, return-value]
            if {"landlock", "mount"} & works:
                for what, attack in held.items():
                    refused(what, attack, None)
            return "all at once"

        policy = Policy((*interpreter_paths(), readable), (writable,), uid=uid, gid=uid)
        return tried([name for name in LAYERS if name in works], main, policy)


TRIALS: dict[str, Callable[[set[str]], str]] = {
    "limits": limits_hold,
    "ending": ending_is_complete,
    "no_new_privs": no_new_privileges,
    "seccomp": calls_are_refused,
    "landlock": files_are_kept,
    "user": user_namespace,
    "net": network_namespace,
    "pid": process_namespace,
    "ipc": queue_namespace,
    "mount": file_namespace,
    "identity": another_user,
    "cgroup": control_group,
    "proc": fresh_proc,
    "together": all_together,
}
