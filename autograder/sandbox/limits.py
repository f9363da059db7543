"""Resource limits, and the address space that a memory claim is held to.

A limit binds one process, and its children get it too. RLIMIT_AS counts what is mapped, touched or not, so that an n×n matrix
which the claim forbids is refused when it is asked for, whoever asks and however.
"""

import ctypes
import mmap
import os
import sys

from autograder.sandbox.policy import Policy, SandboxError

if sys.platform != "win32":
    import resource

M_MMAP_THRESHOLD = -3  # malloc.h; once set, it no longer grows
LARGE_BLOCK = 1 << 20


def check(policy: Policy) -> None:
    """Raises SandboxError when a copy of this process has more memory already than the policy allows it."""
    if policy.memory_bytes is not None and policy.memory_bytes < (taken := address_space()):
        allowed = f"memory_bytes is {policy.memory_bytes >> 20} MiB"
        raise SandboxError(f"{allowed}, but a process has {taken >> 20} MiB before the notebook starts")


def apply(policy: Policy, processes: int | None) -> None:
    """Puts this process under the policy's limits. `processes` is the count for the user it runs as (None: not bound here)."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: policy.file_bytes,
        resource.RLIMIT_NOFILE: policy.open_files,
        resource.RLIMIT_NPROC: processes,
        resource.RLIMIT_AS: policy.memory_bytes,
    }
    if sys.platform == "linux":
        wanted |= {resource.RLIMIT_MSGQUEUE: 0, resource.RLIMIT_NICE: 0, resource.RLIMIT_RTPRIO: 0}
    for which, most in wanted.items():
        if most is not None:
            lower(which, most)
    if policy.cpu_seconds is not None:
        # The soft limit warns by SIGXCPU, which can be caught; the hard one kills.
        lower(resource.RLIMIT_CPU, policy.cpu_seconds, policy.cpu_seconds + 1)


def lower(which: int, soft: int, hard: int | None = None) -> None:
    """Sets a limit for good, or leaves a stricter one that is in force already."""
    hard = soft if hard is None else hard
    ceiling = resource.getrlimit(which)[1]
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
    resource.setrlimit(which, (min(soft, hard), hard))


def limit_memory(extra_bytes: int) -> None:
    """Allows this process `extra_bytes` of address space beyond what it has now, and no more ever after.

    Raises ValueError where this is more than a limit in force leaves.
    """
    _give_back_what_is_freed()
    most = address_space() + extra_bytes
    ceiling = resource.getrlimit(resource.RLIMIT_AS)[1]
    if ceiling != resource.RLIM_INFINITY and most > ceiling:
        raise ValueError(f"{extra_bytes >> 20} MiB more would be {most >> 20} MiB, and {ceiling >> 20} MiB are allowed")
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _give_back_what_is_freed() -> None:
    """Has the C library unmap each large block as it is freed. By default glibc comes to take such blocks from a heap, where a
    small one that is still in use keeps those below it: an answer that works tile by tile would seem to need all tiles."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        library.malloc_trim(0)


def address_space() -> int:
    """How many bytes of address space this process has mapped."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * mmap.PAGESIZE
    except OSError:
        return _searched_address_space()


def _searched_address_space() -> int:
    """The same where there is no /proc: the smallest limit under which one more page can be mapped."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    low, high = 0, 1 << 47 if before[0] == resource.RLIM_INFINITY else before[0]
    try:
        while high - low > mmap.PAGESIZE:
            middle = (low + high) // 2
            resource.setrlimit(resource.RLIMIT_AS, (middle, before[1]))
            try:
                mmap.mmap(-1, mmap.PAGESIZE).close()
                high = middle
            except (OSError, MemoryError):
                low = middle
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    return high - mmap.PAGESIZE


def tasks_of(uid: int) -> int:
    """How many processes and threads the user has now: RLIMIT_NPROC counts these together."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == uid:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue
    return count
