"""Namespaces: a process's own users, network, processes, queues, and a view of the files in which nothing else exists.

The view is an empty file system on which the policy's folders are hung, read-only or writable, at the paths that they have
outside; it then takes the root's place. So what is not granted is not there: it cannot be read, listed, asked about or changed,
and a folder within a closed home is reached all the same. Flags are those of `include/uapi/linux/{sched,mount}.h`.
"""

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from autograder.sandbox import kernel
from autograder.sandbox.policy import SandboxError

FLAGS = {"user": 0x10000000, "net": 0x40000000, "pid": 0x20000000, "ipc": 0x08000000, "mount": 0x00020000}
"""Each namespace by the name of its layer: CLONE_NEWUSER, NEWNET, NEWPID, NEWIPC and NEWNS."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MNT_DETACH = 2
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH = 1, 4
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4

MOST_LINKS = 40


def become_mapped(uid: int, gid: int) -> None:
    """Gives this process, in its new user namespace, the user and group that it has outside, and no others."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)


@dataclass(frozen=True)
class View:
    """What hangs where: symbolic links and what they say, and what is mounted, outer before inner, with the right to write."""

    links: tuple[tuple[str, str], ...]
    mounts: tuple[tuple[str, bool], ...]

    @classmethod
    def of(cls, readable: Iterable[str], writable: Iterable[str]) -> "View":
        """Plans a view of these paths. Raises SandboxError for one that does not exist."""
        links: dict[str, str] = {}
        wanted: dict[str, bool] = {}
        for paths, may_write in ((readable, False), (writable, True)):
            for path in paths:
                wanted[_resolved(path, links)] = may_write
        mounts: dict[str, bool] = {}
        for path in sorted(wanted, key=lambda path: len(PurePosixPath(path).parts)):
            around = _around(path, mounts)
            if around is None or mounts[around] != wanted[path]:
                mounts[path] = wanted[path]
        outside = {path: says for path, says in links.items() if _around(path, mounts) is None}
        return cls(tuple(outside.items()), tuple(mounts.items()))

    def enter(self, proc: bool) -> None:
        """Makes this view the root of the process, which must be alone in a new mount namespace.

        proc   hang a fresh /proc, which shows the processes of its pid namespace; without it there is none
        """
        kernel.call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
        trees = [(path, _taken(path, may_write)) for path, may_write in self.mounts]
        base = next(path for path in ("/tmp", "/mnt", "/run", "/dev") if os.path.isdir(path))
        kernel.call("mount", b"view", os.fsencode(base), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=1m")
        for path, tree in trees:
            _make_place(base, path, os.fstat(tree).st_mode & 0o040000 != 0)
            kernel.call("move_mount", tree, b"", AT_FDCWD, os.fsencode(base + path), MOVE_MOUNT_F_EMPTY_PATH)
            os.close(tree)
        for path, says in self.links:
            os.makedirs(os.path.dirname(base + path), exist_ok=True)
            os.symlink(says, base + path)
        if proc:
            os.makedirs(base + "/proc", exist_ok=True)
            flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
            kernel.call("mount", b"proc", os.fsencode(base + "/proc"), b"proc", flags, None)
        os.chdir(base)
        # The old root is put on the same place and taken off at once (see pivot_root(2)).
        kernel.call("pivot_root", b".", b".")
        kernel.call("umount2", b".", MNT_DETACH)
        os.chdir("/")
        _set_attributes(AT_FDCWD, b"/", 0, ATTR_RDONLY)


def _resolved(path: str, links: dict[str, str]) -> str:
    """The real path; each symbolic link on the way is noted, so that the path as written works in the view."""
    ahead = [part for part in path.split("/") if part]
    here, turns = "", 0
    while ahead:
        part = ahead.pop(0)
        if part in (".", ".."):
            here = os.path.dirname(here).rstrip("/") if part == ".." else here
            continue
        step = f"{here}/{part}"
        if not os.path.islink(step):
            here = step
            continue
        links[step] = says = os.readlink(step)
        turns += 1
        if turns > MOST_LINKS:
            raise SandboxError(f"{path} leads through too many links")
        ahead = [part for part in says.split("/") if part] + ahead
        here = "" if says.startswith("/") else here
    if not os.path.exists(here or "/"):
        raise SandboxError(f"{path} is to be seen inside, but does not exist")
    return here or "/"


def _around(path: str, mounts: Iterable[str]) -> str | None:
    """The innermost of the mounts that holds the path."""
    holders = [mount for mount in mounts if path != mount and path.startswith(mount.rstrip("/") + "/")]
    return max(holders, key=len, default=None)


def _taken(path: str, may_write: bool) -> int:
    """A copy of what is mounted at a path, not yet hung anywhere."""
    flags = OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    tree = kernel.call("open_tree", AT_FDCWD, os.fsencode(path), flags)
    if path == "/dev" or path.startswith("/dev/"):
        attributes = ATTR_NOSUID
    else:
        attributes = ATTR_NOSUID | ATTR_NODEV | (0 if may_write else ATTR_RDONLY)
    _set_attributes(tree, b"", AT_EMPTY_PATH | AT_RECURSIVE, attributes)
    return tree


def _set_attributes(where: int, path: bytes, flags: int, attributes: int) -> None:
    described = struct.pack("=QQQQ", attributes, 0, 0, 0)
    kernel.call("mount_setattr", where, path, flags, described, len(described))


def _make_place(base: str, path: str, folder: bool) -> None:
    """Something to hang a mount on. Within a mount that hangs already, the place is there."""
    place = base + path
    if os.path.lexists(place):
        return
    os.makedirs(place if folder else os.path.dirname(place), exist_ok=True)
    if not folder:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
