"""The kernel's calls that Python has no names for, by number, through one ctypes function.

Nothing here decides anything: the rooms beside it say what they call and why. The numbers are those of Linux's
`arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h` (aarch64), which never change once given;
from 424 on every architecture has the same. On other systems the module imports, and each call says that it is missing.
"""

import ctypes
import errno
import functools
import os
import platform
import signal
import sys

MACHINES = ("x86_64", "aarch64")
MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
SUPPORTED = sys.platform == "linux" and MACHINE in MACHINES and ctypes.sizeof(ctypes.c_void_p) == 8

# Each name with its number on x86-64 and on aarch64; "-" where an architecture never had it.
_TABLE = """
mount 165 40             umount2 166 39            pivot_root 155 41         chroot 161 51
open_tree 428 428        move_mount 429 429        fsopen 430 430            fsconfig 431 431
fsmount 432 432          fspick 433 433            mount_setattr 442 442     unshare 272 97
setns 308 268            clone 56 220              clone3 435 435            ptrace 101 117
process_vm_readv 310 270 process_vm_writev 311 271 process_madvise 440 440   process_mrelease 448 448
kcmp 312 272             pidfd_getfd 438 438       socket 41 198             connect 42 203
bind 49 200              listen 50 201             accept 43 202             accept4 288 242
socketpair 53 199        bpf 321 280               perf_event_open 298 241   keyctl 250 219
add_key 248 217          request_key 249 218       userfaultfd 323 282       io_uring_setup 425 425
io_uring_enter 426 426   io_uring_register 427 427 fanotify_init 300 262     init_module 175 105
finit_module 313 273     delete_module 176 106     kexec_load 246 104        kexec_file_load 320 294
reboot 169 142           swapon 167 224            swapoff 168 225           acct 163 89
quotactl 179 60          quotactl_fd 443 443       syslog 103 116            vhangup 153 58
iopl 172 -               ioperm 173 -              modify_ldt 154 -          sethostname 170 161
setdomainname 171 162    settimeofday 164 170      clock_settime 227 112     adjtimex 159 171
clock_adjtime 305 266    nfsservctl 180 42         lookup_dcookie 212 18     uselib 134 -
_sysctl 156 -            personality 135 92        open_by_handle_at 304 265 name_to_handle_at 303 264
memfd_create 319 279     memfd_secret 447 447      shmget 29 194             msgget 68 186
semget 64 190            mq_open 240 180           migrate_pages 256 238     move_pages 279 239
kill 62 129              tkill 200 130             tgkill 234 131            rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240 pidfd_send_signal 424 424 setpriority 141 140      ioprio_set 251 30
sched_setparam 142 118   sched_setscheduler 144 119 sched_setattr 314 274    sched_setaffinity 203 122
prlimit64 302 261        chmod 90 -                fchmod 91 52              fchmodat 268 53
fchmodat2 452 452        chown 92 -                lchown 94 -               fchown 93 55
fchownat 260 54          setxattr 188 5            lsetxattr 189 6           fsetxattr 190 7
removexattr 197 14       lremovexattr 198 15       fremovexattr 199 16       utime 132 -
utimes 235 -             futimesat 261 -           utimensat 280 88          truncate 76 45
open 2 -                 openat 257 56             openat2 437 437           ioctl 16 29
fcntl 72 25              prctl 157 167             seccomp 317 277           capset 126 91
capget 125 90             mseal 462 462            landlock_create_ruleset 444 444
landlock_add_rule 445 445                          landlock_restrict_self 446 446
"""


def _numbers() -> dict[str, int]:
    words = _TABLE.split()
    column = 2 if MACHINE == "aarch64" else 1
    rows = zip(words[::3], words[1::3], words[2::3], strict=True)
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


NUMBERS = _numbers()

# include/uapi/linux/prctl.h
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4


@functools.cache
def _library() -> ctypes.PyDLL:
    # PyDLL keeps Python's lock during a call: a clone must not come back to an interpreter whose lock is let go.
    library = ctypes.PyDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def call(name: str, *arguments: "int | bytes | ctypes.Array[ctypes.c_char] | None") -> int:
    """The kernel's answer to the call `name`. Raises OSError with the call's name where it is refused or not there."""
    if not SUPPORTED or name not in NUMBERS:
        raise OSError(errno.ENOSYS, f"{name}: there is no such call on {sys.platform} {platform.machine()}")
    return number(NUMBERS[name], name, *arguments)


def number(which: int, name: str, *arguments: "int | bytes | ctypes.Array[ctypes.c_char] | None") -> int:
    """`call` by number, for those that have no name here."""
    passed = [ctypes.c_long(part) if isinstance(part, int) else part for part in arguments]
    answer = _library().syscall(ctypes.c_long(which), *passed, *[ctypes.c_long(0)] * (6 - len(passed)))
    if answer == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return answer


def prctl(option: int, value: int = 0) -> int:
    """One of a process's own settings."""
    return call("prctl", option, value, 0, 0, 0)


def fork(namespaces: int = 0) -> int:
    """`os.fork`, with the child in new namespaces when flags are given.

    The kernel's clone is called directly for these, because unshare would cost one process more, and copying a process that has
    imported torch takes milliseconds. What C and Python do after a fork is left out, so such a child must be a fork of a process
    with one thread and do nothing but set up, fork properly and wait.
    """
    if not namespaces:
        return os.fork()
    return call("clone", namespaces | signal.SIGCHLD)
