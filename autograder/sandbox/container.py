"""One submission's processes, behind every layer that the report says works here.

A box holds two processes at first. The outer one sets everything up, then only waits: it takes in what detaches itself, and its
death is the box's end (in a pid namespace it is process 1; elsewhere it is a subreaper). The inner one is locked down for good
and only then runs what it was given. A layer that cannot be put up raises SandboxError, and nothing has run.
"""

import contextlib
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from typing import NoReturn

from autograder.sandbox import cgroups, identity, kernel, landlock, limits, namespaces, processes, seccomp
from autograder.sandbox.box import SETTING_UP, Box, Link
from autograder.sandbox.levels import Report
from autograder.sandbox.policy import DEVICES, Policy, SandboxError, said

if sys.platform != "win32":
    import resource

OOM_FIRST = b"1000"


class Container:
    """Starts boxes under one policy. For a process with one thread that has imported all that a notebook may need.

    Raises SandboxError where policy and report do not fit: a path that does not exist or could not be written, level A without
    another user to become, another user where this process cannot become one.
    """

    def __init__(self, policy: Policy, report: Report) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError(f"{sys.platform} cannot copy a process: grade on Linux")
        self.policy, self.report = policy, report
        self.works = report.works
        self._privileged = kernel.SUPPORTED and identity.privileged()
        self._ids = (os.geteuid(), os.getegid())
        self._flags = self._namespaces()
        try:
            self._view = self._planned_view()
            self._place = cgroups.find() if self.works("cgroup") else None
            self._uid = self._checked_user()
            self._filter = self._planned_filter()
            if self.works("limits"):
                limits.check(policy)
            self._processes = self._most_processes()
        except OSError as error:
            raise SandboxError(f"the sandbox cannot be put up: {said(error)}") from None

    def _namespaces(self) -> int:
        wanted = [name for name in namespaces.FLAGS if self.works(name)]
        if self.policy.network and "net" in wanted:
            wanted.remove("net")
        if wanted and self._privileged:
            # Root makes the others itself, and a user namespace would only hide from it what it owns.
            wanted = [name for name in wanted if name != "user"]
        elif wanted and "user" not in wanted:
            raise SandboxError("namespaces need a user namespace where the grader is not root")
        return sum(namespaces.FLAGS[name] for name in wanted)

    def _planned_view(self) -> namespaces.View | None:
        writable = self.policy.writable
        if not self._flags & namespaces.FLAGS["mount"]:
            for path in (*self.policy.readable, *writable):
                if not os.path.exists(path):
                    raise SandboxError(f"{path} is to be seen inside, but does not exist")
            return None
        return namespaces.View.of((*self.policy.readable, *_devices()), writable)

    def _checked_user(self) -> int | None:
        uid = self.policy.uid
        if uid is None:
            if self.report.level == "A":
                raise SandboxError("level A runs submissions as another user: give uid and gid (65534 is nobody)")
            return None
        if not self.works("identity"):
            raise SandboxError(f"cannot become user {uid}: {self.report['identity'].effect}")
        for path in self.policy.writable:
            about = os.stat(path)
            rights = about.st_mode if about.st_uid != uid else about.st_mode >> 6
            need = 3 if stat.S_ISDIR(about.st_mode) else 2
            if rights & need != need:
                raise SandboxError(f"{path} is to be written by user {uid}: give it to that user (chown) first")
        return uid

    def _planned_filter(self) -> bytes | None:
        if not self.works("seccomp"):
            return None
        rules = landlock.version() if self.works("landlock") else 0
        return seccomp.program(
            network=self.policy.network,
            own_processes=bool(self._flags & namespaces.FLAGS["pid"]),
            own_files=self._view is not None,
            signals_scoped=rules >= landlock.SCOPES_SINCE,
            truncation_ruled=rules >= landlock.TRUNCATE_SINCE,
        )

    def _most_processes(self) -> int | None:
        """RLIMIT_NPROC counts all processes of a user; a group, or a user namespace, counts those of a box alone."""
        if self._place is not None or not kernel.SUPPORTED:
            return None
        # Kernels without Landlock are too old to count by user namespace.
        alone = self._flags & namespaces.FLAGS["user"] and self.works("landlock")
        here = 1 if alone else limits.tasks_of(os.getuid() if self._uid is None else self._uid)
        return here + self.policy.processes

    def spawn(self, main: Callable[[], None], pass_fds: tuple[int, ...] = ()) -> Box:
        """Starts `main` in a box of its own, in the first writable folder, with `pass_fds` and no other descriptor.

        Standard input, output and error lead nowhere unless they are passed. `main` ends with exit status 0 when it returns, 1
        when it raises, and what it asks for by SystemExit. Raises SandboxError when a layer could not be put up.
        """
        group = None
        ours, theirs = socket.socketpair()
        everything = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            try:
                if self._place is not None:
                    total = self.policy.total_bytes or self.policy.memory_bytes
                    group = cgroups.Group(self._place, total, self.policy.processes + 1)
                outer = kernel.fork(self._flags)
            except OSError as error:
                if group is not None:
                    group.remove()
                ours.close()
                raise SandboxError(f"no box could be made: {said(error)}") from None
            if outer == 0:
                ours.close()
                self._wait_outside(main, pass_fds, Link(theirs), group)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, everything)
            theirs.close()
        box = Box(outer, Link(ours), bool(self._flags & namespaces.FLAGS["pid"]), group)
        box.expect_ready()
        return box

    def _wait_outside(
        self, main: Callable[[], None], pass_fds: tuple[int, ...], link: Link, group: cgroups.Group | None
    ) -> NoReturn:
        """The outer process, from its first step to its last."""
        try:
            self._set_up(link, group)
            inner = os.fork()
            if inner == 0:
                self._run_inside(main, pass_fds, link)
            self._lie_low(link)
            link.send_process(inner)
            while True:
                pid, status, _ = os.wait4(-1, 0)
                if pid == inner:
                    link.send(ended=os.waitstatus_to_exitcode(status))
        except ChildProcessError:
            os._exit(0)
        except BaseException as error:
            with contextlib.suppress(OSError):
                link.send(error=said(error))
        finally:
            os._exit(SETTING_UP)

    def _lie_low(self, link: Link) -> None:
        """The outer process gives away what it does not need to wait: it shares the box with what is hostile."""
        _close_all_but(link.fileno())
        _point_nowhere({0, 1, 2})
        if not kernel.SUPPORTED:
            return
        identity.make_undumpable()
        identity.drop_capabilities(identity.CAP_KILL)  # it ends processes of another user

    def _set_up(self, link: Link, group: cgroups.Group | None) -> None:
        os.setsid()
        if not kernel.SUPPORTED:
            return
        identity.make_dumpable()
        if self._flags & namespaces.FLAGS["pid"]:
            signal.signal(signal.SIGTERM, _end_all_others)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        else:
            signal.signal(signal.SIGTERM, _end_everything)
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        if link.closed():
            os._exit(SETTING_UP)  # the grader was gone before the kernel was told to say so
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(OOM_FIRST)
        if group is not None:
            group.join()
        if self._flags & namespaces.FLAGS["user"]:
            namespaces.become_mapped(*self._ids)
        if self._view is not None:
            self._view.enter(proc=self._has_proc())

    def _has_proc(self) -> bool:
        return self._view is not None and bool(self._flags & namespaces.FLAGS["pid"]) and self.works("proc")

    def _run_inside(self, main: Callable[[], None], pass_fds: tuple[int, ...], link: Link) -> NoReturn:
        """The inner process: locked down, told so, then the student's."""
        code = 1
        try:
            try:
                self._lock_down(pass_fds, link)
                link.send(ready=True)
            except BaseException as error:
                link.send(error=said(error))
                os._exit(SETTING_UP)
            link.close()
            main()
            code = 0
        except SystemExit as wanted:
            code = wanted.code if isinstance(wanted.code, int) else int(wanted.code is not None)
        finally:
            os._exit(code & 0xFF)

    def _lock_down(self, pass_fds: tuple[int, ...], link: Link) -> None:
        """Every layer, in the one order that works: what needs files or rights first, what takes them away last."""
        os.setsid()
        _reset_signals()
        rules = self._rules() if self.works("landlock") else None
        _close_all_but(link.fileno(), *pass_fds, *([rules] if rules is not None else []))
        _point_nowhere({0, 1, 2} - set(pass_fds))
        if self._uid is not None:
            identity.drop(self._uid, self._uid if self.policy.gid is None else self.policy.gid)
            identity.make_dumpable()
        if kernel.SUPPORTED:
            identity.drop_capabilities()
            if not self._flags & namespaces.FLAGS["pid"]:
                kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.chdir(self.policy.writable[0] if self.policy.writable else "/")
        if self.works("no_new_privs"):
            identity.forbid_new_privileges()
        if self.works("limits"):
            limits.apply(self.policy, self._processes)
        if rules is not None:
            landlock.restrict(rules)
        if self._filter is not None:
            seccomp.apply(self._filter)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def _rules(self) -> int:
        proc = ("/proc",) if self._has_proc() else ()
        readable = (*self.policy.readable, *_devices(), *proc)
        return landlock.ruleset(readable, (*self.policy.writable, *_devices()), self.policy.network)


def _devices() -> tuple[str, ...]:
    return tuple(path for path in DEVICES if os.path.exists(path))


def _close_all_but(*kept: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    last = 2
    for descriptor in sorted({number for number in kept if number > 2}):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, most if most != resource.RLIM_INFINITY else 1 << 20)


def _point_nowhere(descriptors: set[int]) -> None:
    nowhere = os.open("/dev/null", os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    if nowhere > 2:
        os.close(nowhere)


def _reset_signals() -> None:
    """Gives signals the meaning that they have in a fresh interpreter."""
    signal.set_wakeup_fd(-1)
    for which in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGINT}:
        if callable(signal.getsignal(which)):
            signal.signal(which, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_all_others(*_: object) -> None:
    """What the first process of a pid namespace sends to everyone reaches everyone else in it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def _end_everything(*_: object) -> NoReturn:
    """The grader is gone: so shall be all that it started."""

    def alone() -> bool:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        return False

    try:
        processes.end_all(os.getpid(), alone)
    finally:
        os._exit(SETTING_UP)
