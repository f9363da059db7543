"""Landlock: which files a process may open, kept by the kernel, without privileges (Linux 5.13 and later).

A ruleset says which kinds of access it handles; a handled access is refused unless a rule allows it below some path. What it
does not know of (stat, chmod, chown, times) other layers must see to: seccomp, or a view of the file system that has nothing
else in it. Constants are those of `include/uapi/linux/landlock.h`, the lengths of the structures too.
"""

import os
import struct
from collections.abc import Iterable

from autograder.sandbox import kernel

CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in range(13, 16))
BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_ABSTRACT_UNIX_SOCKET, SCOPE_SIGNAL = 1, 2

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_FIFO | MAKE_SYM | REFER
FOR_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

# The version of the interface that brought each of these.
REFER_SINCE, TRUNCATE_SINCE, NETWORK_SINCE, IOCTL_SINCE, SCOPES_SINCE = 2, 3, 4, 5, 6


def version() -> int:
    """The version of the interface that this kernel has. Raises OSError where it has none, or has it switched off."""
    return kernel.call("landlock_create_ruleset", None, 0, CREATE_RULESET_VERSION)


def ruleset(readable: Iterable[str], writable: Iterable[str], network: bool = False) -> int:
    """A descriptor of the rules. Raises OSError for any path or rule that cannot be had: a rule left out is another policy."""
    have = version()
    handled = (1 << 13) - 1
    for right, since in ((REFER, REFER_SINCE), (TRUNCATE, TRUNCATE_SINCE), (IOCTL_DEV, IOCTL_SINCE)):
        handled |= right if have >= since else 0
    attributes = struct.pack("Q", handled)
    if have >= NETWORK_SINCE:
        attributes += struct.pack("Q", 0 if network else BIND_TCP | CONNECT_TCP)
    if have >= SCOPES_SINCE:
        attributes += struct.pack("Q", SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL)
    rules = kernel.call("landlock_create_ruleset", attributes, len(attributes), 0)
    try:
        for paths, rights in ((readable, READ), (writable, READ | WRITE)):
            for path in paths:
                _allow(rules, path, rights & handled)
    except OSError:
        os.close(rules)
        raise
    return rules


def _allow(rules: int, path: str, rights: int) -> None:
    below = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            rights &= FOR_A_FILE
        kernel.call("landlock_add_rule", rules, RULE_PATH_BENEATH, struct.pack("=Qi", rights, below), 0)
    finally:
        os.close(below)


def restrict(rules: int) -> None:
    """Puts this process and all that it starts under the rules, for good. No new privileges must be set before."""
    kernel.call("landlock_restrict_self", rules, 0)
    os.close(rules)
