"""Seccomp: which of the kernel's calls a process may make, decided before they are made, without privileges.

The filter is a list of refusals, not of permissions: NumPy, torch and IPython call far too much to list. A refused call fails
with EPERM, as if it were not allowed, and the notebook goes on. Calls newer than this list do not exist for the student's side,
and a call by another architecture's numbers, for which the list would not hold, kills the process. The filter is a program of
the classic packet filter, `include/uapi/linux/filter.h`, over `struct seccomp_data` of `include/uapi/linux/seccomp.h`.
"""

import ctypes
import errno
import os
import socket
import struct

from autograder.sandbox import kernel

SET_MODE_FILTER = 1
SPEC_ALLOW = 4  # else old kernels slow down every program under a filter
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, KILL_PROCESS, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000
NEWEST_KNOWN = "mseal"

# include/uapi/linux/sched.h: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
F_SETOWN, F_SETSIG, F_SETOWN_EX = 8, 10, 15
SOCKET_TYPE = 0xF

ALWAYS_REFUSED = """
    mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr unshare setns
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd
    bpf perf_event_open keyctl add_key request_key userfaultfd io_uring_setup io_uring_enter io_uring_register
    init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd
    syslog vhangup iopl ioperm modify_ldt sethostname setdomainname settimeofday clock_settime adjtimex clock_adjtime
    nfsservctl lookup_dcookie uselib _sysctl personality fanotify_init open_by_handle_at name_to_handle_at
    memfd_create memfd_secret shmget msgget semget mq_open migrate_pages move_pages
"""
NETWORK = "socket connect bind listen accept accept4"
SIGNALS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal"
OF_OTHERS = "setpriority ioprio_set sched_setparam sched_setscheduler sched_setattr"
ATTRIBUTES = """
    chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat
    setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
"""
OLD_TIMES = "utime utimes futimesat"
# clone3 keeps its flags where a filter cannot read them, and openat2 too. C falls back to clone and openat.
UNREADABLE = "clone3 openat2"

Instructions = list[bytes]


def program(
    *,
    network: bool = False,
    own_processes: bool = True,
    own_files: bool = True,
    signals_scoped: bool = True,
    truncation_ruled: bool = True,
) -> bytes:
    """The filter for this machine.

    network           whether sockets are allowed
    own_processes     whether the process sees none but its own (a pid namespace); else nothing can be done to others
    own_files         whether it sees no file but its own (a mount namespace); else a change of mode, owner or times is answered
                      with success and not carried out, because copying a file asks for it
    signals_scoped    whether Landlock keeps signals inside; without that and without a pid namespace none can be sent
    truncation_ruled  whether Landlock knows of truncation
    """
    if not kernel.SUPPORTED:
        raise OSError(errno.ENOSYS, f"there is no filter for {kernel.MACHINE}")
    code = [
        _step(LOAD, ARCHITECTURE_AT),
        *_if(EQUAL, AUDIT_ARCHITECTURE[kernel.MACHINE], [], [_step(RETURN, KILL_PROCESS)]),
        _step(LOAD, NUMBER_AT),
    ]
    if kernel.MACHINE == "x86_64":
        code += _if(AT_LEAST, X32_BIT, [_step(RETURN, KILL_PROCESS)])
    code += _if(AT_LEAST, kernel.NUMBERS[NEWEST_KNOWN] + 1, [_refuse(errno.ENOSYS)])
    code += _all(UNREADABLE, errno.ENOSYS) + _all(ALWAYS_REFUSED)
    code += _where("clone", 0, ANY_BIT, NEW_NAMESPACES)
    code += _where("ioctl", 1, EQUAL, TIOCSTI) + _where("ioctl", 1, EQUAL, TIOCLINUX)
    if not network:
        code += _all(NETWORK) + _pairs_of_streams_only()
    if not own_processes:
        code += (
            _all(OF_OTHERS)
            + _where("prlimit64", 0, ANY_BIT, 0xFFFFFFFF)
            + _where("sched_setaffinity", 0, ANY_BIT, 0xFFFFFFFF)
        )
        for command in (F_SETOWN, F_SETSIG, F_SETOWN_EX):
            code += _where("fcntl", 1, EQUAL, command)
        if not signals_scoped:
            code += _all(SIGNALS)
    if not own_files:
        code += _all(ATTRIBUTES, 0) + _all(OLD_TIMES) + _times()
        if not truncation_ruled:
            code += _all("truncate") + _truncating_reads("open", 1) + _truncating_reads("openat", 2)
    code.append(_step(RETURN, ALLOW))
    return b"".join(code)


def apply(code: bytes) -> None:
    """Puts this process and all that it starts under the filter, for good. No new privileges must be set before."""
    memory = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("@HP", len(code) // 8, ctypes.addressof(memory))
    kernel.call("seccomp", SET_MODE_FILTER, SPEC_ALLOW, described)


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, value)


def _refuse(code: int) -> bytes:
    return _step(RETURN, ERROR | code)


def _if(test: int, value: int, then: Instructions, otherwise: Instructions | None = None) -> Instructions:
    """`then` where the loaded word passes the test; past it, or through `otherwise`, where it does not."""
    if otherwise is None:
        return [_step(test, value, 0, len(then)), *then]
    return [_step(test, value, len(otherwise), 0), *otherwise, *then]


def _all(names: str, code: int = errno.EPERM) -> Instructions:
    present = [kernel.NUMBERS[name] for name in names.split() if name in kernel.NUMBERS]
    return [part for number in present for part in _if(EQUAL, number, [_refuse(code)])]


def _on(name: str, inside: Instructions) -> Instructions:
    """`inside` for one call; it may load other words, so the number is loaded again at its end."""
    if name not in kernel.NUMBERS:
        return []
    return _if(EQUAL, kernel.NUMBERS[name], [*inside, _step(LOAD, NUMBER_AT)])


def _argument(place: int, high: bool = False) -> bytes:
    """Loads half of an argument. Both architectures are little-endian; of an int the low half is all."""
    return _step(LOAD, ARGUMENTS_AT + 8 * place + 4 * high)


def _where(name: str, place: int, test: int, value: int) -> Instructions:
    return _on(name, [_argument(place), *_if(test, value, [_refuse(errno.EPERM)])])


def _pairs_of_streams_only() -> Instructions:
    """asyncio makes pairs for itself. One of datagrams could be pointed at any socket that has a name."""
    refuse = [_refuse(errno.EPERM)]
    return _on(
        "socketpair",
        [
            _argument(0),
            *_if(EQUAL, int(socket.AF_UNIX), [], refuse),
            _argument(1),
            _step(AND, SOCKET_TYPE),
            *_if(EQUAL, int(socket.SOCK_DGRAM), refuse),
            *_if(EQUAL, int(socket.SOCK_RAW), refuse),
        ],
    )


def _times() -> Instructions:
    """Times that are given, or set on an open file, are said to be set; to set those of a path to now is refused.

    With the first `shutil` ends a copy. The second is how `Path.touch` asks whether there is a file: it makes one when refused.
    """
    done = [_refuse(0)]
    path, times = 1, 2
    return _on(
        "utimensat",
        [
            _argument(times),
            *_if(EQUAL, 0, [], done),
            _argument(times, high=True),
            *_if(EQUAL, 0, [], done),
            _argument(path),
            *_if(EQUAL, 0, done),
            _refuse(errno.EPERM),
        ],
    )


def _truncating_reads(name: str, flags_at: int) -> Instructions:
    """Opening to read and truncate needs no right to write that an old Landlock would ask for."""
    mask = os.O_TRUNC | os.O_ACCMODE
    return _on(name, [_argument(flags_at), _step(AND, mask), *_if(EQUAL, os.O_TRUNC, [_refuse(errno.EPERM)])])
