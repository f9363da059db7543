"""Who a process is: another user, no capabilities, no way to get more, and a memory that nobody else reads."""

import ctypes
import os
import struct

from autograder.sandbox import kernel

# include/uapi/linux/capability.h
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63
CAP_KILL = 5
CAP_SYS_ADMIN = 21


def drop(uid: int, gid: int) -> None:
    """Becomes another user for good. Needs root; raises OSError where it cannot, or where a way back is left."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    try:
        os.setuid(0)
    except OSError:
        return
    raise OSError(f"user {uid} could become root again")


def privileged() -> bool:
    """Whether this process may do what root does (root of a container that lacks CAP_SYS_ADMIN may not)."""
    return bool(_effective() >> CAP_SYS_ADMIN & 1)


def drop_capabilities(but: int | None = None) -> None:
    """Gives up every capability but one, also those that running a program would give back."""
    kept = 1 << but & _effective() if but is not None else 0
    if _effective():
        for capability in range(LAST_CAPABILITY + 1):
            try:
                kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
            except OSError:
                # The last one that this kernel knows, or no right to drop any: then no_new_privs alone must hold.
                break
    kernel.call("prctl", kernel.PR_CAP_AMBIENT, kernel.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    sets = struct.pack("=6I", kept, kept, 0, 0, 0, 0)
    kernel.call("capset", struct.pack("=Ii", CAPABILITY_VERSION_3, 0), sets)


def forbid_new_privileges() -> None:
    """From here on no program that is run gives more rights than there are, whatever its file says."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def make_undumpable() -> bool:
    """Hides this process's memory, descriptors and environment from others of the same user, where there is such a thing.

    For the judge. Returns whether it is hidden.
    """
    if kernel.SUPPORTED:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    return kernel.SUPPORTED


def make_dumpable() -> None:
    """Undoes `make_undumpable` for a child, whose own files in /proc would else belong to root."""
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def _effective() -> int:
    sets = ctypes.create_string_buffer(24)
    kernel.call("capget", struct.pack("=Ii", CAPABILITY_VERSION_3, 0), sets)
    low, _, _, high, _, _ = struct.unpack("=6I", sets.raw)
    return low | high << 32
