"""Control groups: what all processes of a submission may hold and how many they may be, counted together (v1 or v2).

A process limit does not bind root, and a memory limit binds each process alone; a group binds them all. Needs root, or a group
that has been delegated to the user (systemd: `systemd-run --user --scope -p Delegate=yes`). Names of files are those of
`Documentation/admin-guide/cgroup-v1` and `cgroup-v2.rst`.
"""

import contextlib
import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = ("memory", "pids")
PREFIX = "autograder"
OWN_LEAF = f"{PREFIX}-self"
PATIENCE = 5.0

_count = itertools.count()


@dataclass(frozen=True)
class Place:
    """Where groups are made: one folder for each hierarchy, with the controllers that it is for."""

    folders: tuple[tuple[str, tuple[str, ...]], ...]
    unified: bool

    @property
    def paths(self) -> list[Path]:
        """The folders alone."""
        return [Path(folder) for folder, _ in self.folders]


def find(membership: str = "/proc/self/cgroup", mounts: str = "/proc/self/mountinfo") -> Place:
    """Where this process may make groups. Raises OSError, with what is missing, where it may not."""
    own: dict[str, str] = {}
    for line in Path(membership).read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        own |= {controller: path for controller in controllers.split(",")}
    hierarchies = _hierarchies(Path(mounts))
    if all(controller in own and controller in hierarchies for controller in CONTROLLERS):
        found: dict[str, tuple[str, ...]] = {}
        for controller in CONTROLLERS:
            where = _inside(*hierarchies[controller], own[controller])
            found[where] = (*found.get(where, ()), controller)
        place = Place(tuple(found.items()), unified=False)
    elif "" in own and "" in hierarchies:
        place = Place(((str(_delegated(Path(_inside(*hierarchies[""], own[""])))), CONTROLLERS),), unified=True)
    else:
        raise OSError("no control groups are mounted for memory and pids")
    for folder in place.paths:
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(f"{folder} is not writable")
    return place


def _hierarchies(mounts: Path) -> dict[str, tuple[str, str]]:
    """Each v1 controller, and "" for v2, with the mount's root in the hierarchy and where it is mounted."""
    found = {}
    for line in mounts.read_text(encoding="utf-8").splitlines():
        left, _, right = line.partition(" - ")
        root, point = left.split()[3:5]
        kind, _, options = right.split()[:3]
        if kind == "cgroup2":
            found[""] = (root, point)
        elif kind == "cgroup":
            found |= {option: (root, point) for option in options.split(",") if option in CONTROLLERS}
    return found


def _inside(root: str, point: str, path: str) -> str:
    relative = os.path.relpath(path, root)
    # In a container the membership may be told from outside, while the mount's root is the container's own group.
    return point if relative.startswith("..") else os.path.normpath(os.path.join(point, relative))


def _delegated(own: Path) -> Path:
    """The v2 group below which groups with our controllers can be made.

    Such a group holds no process itself. Where ours holds nothing but this process, the process moves one group down.
    """
    for folder in (own, own.parent) if own.name == OWN_LEAF else (own,):
        if _enabled(folder):
            return folder
    missing = set(CONTROLLERS) - set((own / "cgroup.controllers").read_text(encoding="utf-8").split())
    if missing:
        raise OSError(f"{own} has no controller for {' and '.join(sorted(missing))}")
    inside = {int(pid) for pid in (own / "cgroup.procs").read_text(encoding="utf-8").split()}
    if inside - {os.getpid()}:
        raise OSError(f"{own} holds other processes too")
    leaf = own / OWN_LEAF
    leaf.mkdir(exist_ok=True)
    _write(leaf / "cgroup.procs", str(os.getpid()))
    _write(own / "cgroup.subtree_control", " ".join(f"+{name}" for name in CONTROLLERS))
    return own


def _enabled(folder: Path) -> bool:
    return set(CONTROLLERS) <= set((folder / "cgroup.subtree_control").read_text(encoding="utf-8").split())


class Group:
    """One submission's group, made with its limits. `join` is for the process that is to be in it, `remove` for its maker."""

    def __init__(self, place: Place, memory_bytes: int | None, processes: int) -> None:
        name = f"{PREFIX}-{os.getpid()}-{next(_count)}"
        self.place = place
        self.folders = [folder / name for folder in place.paths]
        try:
            for folder, (_, controllers) in zip(self.folders, place.folders, strict=True):
                folder.mkdir()
                if "pids" in controllers:
                    _write(folder / "pids.max", str(processes))
                if "memory" in controllers and memory_bytes is not None:
                    self._limit_memory(folder, memory_bytes)
        except OSError:
            self.remove()
            raise

    def _limit_memory(self, folder: Path, most: int) -> None:
        if self.place.unified:
            _write(folder / "memory.max", str(most))
            with contextlib.suppress(OSError):  # there is none where the kernel does not count swap
                _write(folder / "memory.swap.max", "0")
            return
        _write(folder / "memory.limit_in_bytes", str(most))
        with contextlib.suppress(OSError):
            _write(folder / "memory.memsw.limit_in_bytes", str(most))

    def join(self) -> None:
        """Puts this process into the group."""
        for folder in self.folders:
            _write(folder / "cgroup.procs", "0")

    def members(self) -> set[int]:
        """The processes in it."""
        with contextlib.suppress(OSError):
            return {int(pid) for pid in (self.folders[-1] / "cgroup.procs").read_text(encoding="utf-8").split()}
        return set()

    def forbid_forks(self) -> None:
        """From here on nothing in the group can start a process."""
        for folder, (_, controllers) in zip(self.folders, self.place.folders, strict=True):
            if "pids" in controllers:
                _write(folder / "pids.max", "0")

    def remove(self) -> None:
        """Removes the group, once it is empty. Raises OSError when it does not get empty."""
        until = time.monotonic() + PATIENCE
        for folder in self.folders:
            while folder.is_dir():
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    # What has been killed may be counted for a moment longer.
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.001)


def remove_leftovers(place: Place) -> None:
    """Removes the empty groups of graders that were killed."""
    for folder in place.paths:
        for left in folder.glob(f"{PREFIX}-[0-9]*-*"):
            if not os.path.isdir(f"/proc/{left.name.split('-')[1]}"):
                with contextlib.suppress(OSError):
                    left.rmdir()


def _write(path: Path, text: str) -> None:
    # Unbuffered, so that the kernel's refusal comes from this line.
    with open(path, "wb", buffering=0) as file:
        file.write(text.encode())
