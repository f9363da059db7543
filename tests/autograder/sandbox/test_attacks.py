"""What a hostile notebook tries with other processes, the network, rights and limits, at every level, as root and not.

Each test says what must hold at the level that the report gives; what a level leaves open is asserted too, so that it is known.
"""

import contextlib
import errno
import fcntl
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from autograder.sandbox import NOBODY, identity, kernel, landlock, make_undumpable, seccomp
from tests.autograder.sandbox.boxes import REFUSED, Ground, Maker, inside, other_process, outcome


def test_other_processes_are_neither_seen_nor_signalled(maker: Maker, ground: Ground):
    def attacks(grader: int, outsider: int) -> dict[str, int]:
        return {
            "signal the grader": outcome(os.kill, grader, 0),
            "signal an outsider": outcome(os.kill, outsider, signal.SIGKILL),
            "signal the box's first": outcome(os.kill, os.getppid(), signal.SIGTERM),
            "read a memory": outcome(lambda: open(f"/proc/{outsider}/mem", "rb").close()),
            "read an environment": outcome(Path(f"/proc/{outsider}/environ").read_bytes),
            "trace": outcome(kernel.call, "ptrace", 16, outsider, 0, 0),
            "limit": outcome(resource.prlimit, outsider, resource.RLIMIT_NOFILE, (0, 0)),
            "slow down": outcome(os.setpriority, os.PRIO_PROCESS, outsider, 19),
            "pin": outcome(os.sched_setaffinity, outsider, {0}),
        }

    def body() -> tuple:
        grader, closed = os.getpid(), maker.report.works("kernel")
        outsider = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)

        def attack() -> tuple:
            return outcome(os.listdir, "/proc"), attacks(grader, outsider.pid) if closed else {}

        try:
            seen = inside(maker.container(ground), attack)
            return (
                *seen,
                outsider.poll(),
                os.getpriority(os.PRIO_PROCESS, outsider.pid) - os.getpriority(os.PRIO_PROCESS, 0),
            )
        finally:
            outsider.kill()
            outsider.wait()

    listed, seen, ended, slower = maker.run(body)
    missing = errno.ENOENT if maker.report.works("mount") else errno.EACCES
    assert listed == (0 if maker.report.works("proc") or not maker.report.works("kernel") else missing)
    assert {what: code for what, code in seen.items() if code not in REFUSED} == {}
    assert (ended, slower) == (None, 0)
    if maker.report.works("pid"):
        assert seen["signal the grader"] == seen["signal an outsider"] == errno.ESRCH


def test_a_fork_of_the_notebook_sees_no_more_than_it(best: Maker, ground: Ground):
    def attack() -> list:
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            os.write(writing, bytes([outcome((ground.outside / "file").read_bytes), outcome(socket.socket)]))
            os._exit(0)
        return list(os.read(reading, 2))

    if best.report.works("kernel"):
        assert set(best.attack(ground, attack)) <= set(REFUSED)


def test_no_socket_but_pairs_of_streams(maker: Maker, ground: Ground):
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.closing(socket.socket(socket.AF_UNIX)) as local:
        path = str(ground.writable / "socket")
        local.bind(path)
        local.listen()
        os.chmod(path, 0o777)
        port = server.getsockname()[1]

        def attack() -> dict[str, int]:
            left, right = socket.socketpair()
            left.sendall(b"x")
            assert right.recv(1) == b"x"
            return {
                "tcp": outcome(lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close()),
                "udp": outcome(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))),
                "local": outcome(lambda: socket.socket(socket.AF_UNIX).connect(path)),
                "packets": outcome(socket.socket, socket.AF_PACKET, socket.SOCK_RAW),
                "routes": outcome(socket.socket, socket.AF_NETLINK),
                "a pair of datagrams": outcome(socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM),
                "connect what is there": outcome(left.connect, path),
            }

        seen = maker.attack(ground, attack)
    if maker.report.works("seccomp"):
        assert set(seen.values()) == {errno.EPERM}
    else:
        assert seen["udp"] == 0, "at level D the network is open to those one trusts"


def test_the_network_is_there_when_the_policy_says_so(maker: Maker, ground: Ground):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        attack = lambda: outcome(lambda: socket.create_connection(("127.0.0.1", port), timeout=5).close())  # noqa: E731
        assert maker.attack(ground, attack, network=True) == 0


def test_every_call_on_the_list_is_refused(maker: Maker, ground: Ground):
    refused = [*seccomp.ALWAYS_REFUSED.split(), *seccomp.NETWORK.split()]
    names = [name for name in refused if name in kernel.NUMBERS]

    def attack() -> dict[str, int]:
        # -1 for a pointer or a descriptor harms nobody where a call is let through.
        seen = {name: outcome(kernel.call, name, -1, -1, -1, -1, -1, -1) for name in names}
        seen |= {name: outcome(kernel.call, name, -1, -1) for name in seccomp.UNREADABLE.split()}
        seen["newer"] = outcome(kernel.number, 463, "newer", -1, -1, -1)
        for flag in (0x00020000, 0x10000000, 0x20000000, 0x40000000):
            seen[f"clone {flag:#x}"] = outcome(kernel.call, "clone", flag | signal.SIGCHLD)
        return seen

    if not maker.report.works("seccomp"):
        assert maker.without
        return
    seen = maker.attack(ground, attack)
    absent = {*seccomp.UNREADABLE.split(), "newer"}
    assert {name: code for name, code in seen.items() if code != errno.EPERM and name not in absent} == {}
    assert {seen[name] for name in absent} == {errno.ENOSYS}


@pytest.mark.parametrize("version", [1, 3, 5])
def test_an_older_landlock_is_made_up_for(ground: Ground, version):
    """Without truncation (1), without signals (5): a filter that knows of it takes their place where namespaces are off."""
    maker = Maker("as nobody", ("namespaces",))
    readable = ground.readable / "file"

    def body() -> dict:
        newest = landlock.version()
        landlock.version = lambda: min(version, newest)
        grader = os.getpid()

        def attack() -> dict[str, int]:
            return {
                "truncate": outcome(os.truncate, readable, 0),
                "open and truncate": outcome(lambda: os.close(os.open(readable, os.O_RDONLY | os.O_TRUNC))),
                "signal": outcome(os.kill, grader, 0),
                "ask for a signal": outcome(fcntl.fcntl, 0, fcntl.F_SETOWN, grader),
                "a connection": outcome(socket.socket),
            }

        return inside(maker.container(ground), attack)

    if not maker.report.works("kernel"):
        assert maker.report.why
        return
    assert set(maker.run(body).values()) <= {errno.EPERM, errno.EACCES}
    assert readable.read_text(encoding="utf-8") == "what is here\n"


def test_a_program_with_a_setuid_flag_gives_nothing(ground: Ground):
    """A copy of `id` that belongs to root and says to run as root, where there is a root to make one."""
    maker = Maker("as nobody", ("namespaces",))
    if os.geteuid() != 0:
        assert not Maker("as we are", ()).report.works("identity")
        return
    flagged = ground.readable / "id"
    shutil.copy(shutil.which("id") or "/usr/bin/id", flagged)
    flagged.chmod(0o4755)

    def who() -> str:
        return subprocess.run([str(flagged), "-u"], capture_output=True, text=True).stdout.strip()

    assert other_process("as nobody", who) in ("0", str(NOBODY))
    assert maker.attack(ground, who) == str(NOBODY)


def test_no_capability_is_left_to_root(maker: Maker, ground: Ground):
    def attack() -> dict[str, Any]:
        return {
            "effective": identity._effective(),
            "become another": outcome(os.setuid, 12345),
            "change the root": outcome(kernel.call, "chroot", b"/"),
            "user": os.getuid(),
        }

    seen = maker.attack(ground, attack)
    assert seen["effective"] == 0
    assert seen["become another"] in (errno.EPERM, errno.EINVAL)
    assert seen["change the root"] == errno.EPERM
    assert maker.report.uid in (None, seen["user"])


def test_limits_bind(maker: Maker, ground: Ground):
    def attack() -> dict[str, Any]:
        def fork_many() -> None:
            for _ in range(40):
                if os.fork() == 0:
                    time.sleep(2)
                    os._exit(0)

        return {
            "a long file": outcome(Path("long").write_bytes, b"x" * (2 << 20)),
            "descriptors": outcome(lambda: [os.pipe() for _ in range(40)]),
            "processes": outcome(fork_many),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "raise them": outcome(resource.setrlimit, resource.RLIMIT_NOFILE, (4096, 4096)),
        }

    if not maker.report.works("limits"):
        assert maker.report["limits"].raise_by
        return
    seen = maker.attack(ground, attack, file_bytes=1 << 20, open_files=64, processes=16)
    assert seen["a long file"] == errno.EFBIG
    assert seen["descriptors"] == errno.EMFILE
    assert seen["core"] == [0, 0]
    counted = maker.report.works("cgroup") or maker.user == "as nobody" or os.geteuid() != 0
    assert seen["processes"] == (errno.EAGAIN if counted else 0), "a limit on processes does not bind root"


def test_a_loop_ends_with_its_processor_time(best: Maker, ground: Ground):
    def loop() -> None:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        while True:
            pass

    def body() -> int | None:
        with best.container(ground, cpu_seconds=1).spawn(loop) as box:
            return box.wait(15)

    assert best.run(body) == -signal.SIGKILL


def test_only_the_descriptors_that_are_passed_are_there(maker: Maker, ground: Ground):
    def body() -> list:
        secret = os.open(ground.outside / "file", os.O_RDONLY)
        os.set_inheritable(secret, True)
        os.dup2(secret, 77)

        def attack() -> list:
            there = [number for number in range(256) if outcome(os.fstat, number) == 0]
            names = {os.fstat(number).st_rdev for number in (0, 1, 2)}
            return [
                len(there),
                77 in there,
                secret in there and os.fstat(secret).st_ino == os.fstat(0).st_ino,
                len(names),
            ]

        return inside(maker.container(ground), attack)

    assert maker.run(body) == [4, False, False, 1]


def test_the_judge_cannot_be_read_by_its_own_user():
    """Two processes of one user, no sandbox: what keeps a student's side out at the levels without other users."""

    def body() -> list:
        reading, writing = os.pipe()
        judge = os.fork()
        if judge == 0:
            os.read(reading, 1)
            make_undumpable()
            os.read(reading, 1)
            os._exit(0)
        os.close(reading)
        memory = f"/proc/{judge}/mem"
        before = outcome(lambda: open(memory, "rb").close())
        os.write(writing, b"x")
        until = time.monotonic() + 5
        while outcome(lambda: open(memory, "rb").close()) == 0 and time.monotonic() < until:
            time.sleep(0.01)
        after = [outcome(lambda: open(memory, "rb").close()), outcome(Path(f"/proc/{judge}/environ").read_bytes)]
        os.write(writing, b"x")
        os.waitpid(judge, 0)
        return [before, *after]

    assert other_process("as nobody", body) == [0, errno.EACCES, errno.EACCES]
