"""What a submission's processes may do, as data, and the error of a sandbox that cannot keep its word."""

import json
import os
import sys
import sysconfig
from dataclasses import asdict, dataclass

NOBODY = 65534
"""The user and group that a batch is graded as: no file belongs to it. Linux shows it as `nobody`."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class SandboxError(ValueError):
    """A layer that was promised could not be put up. Nothing of the student's has run."""


def said(error: BaseException) -> str:
    """An error's own words, without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


@dataclass(frozen=True)
class Policy:
    """What the processes of one submission may do.

    readable      folders and files they may read and execute; nothing else can be opened
    writable      folders they may write in as well; the first one is where they start
    memory_bytes  the address space of each process (None: no limit); NumPy runs in 256 MiB, torch needs 700
    total_bytes   what they may hold in memory together, where there is a control group (None: memory_bytes)
    cpu_seconds   processor time of each process
    file_bytes    the longest file
    processes     how many there may be at once, threads included
    open_files    descriptors of each process
    uid, gid      the user and group to become (None: stay); level A needs one
    network       whether the network is there at all
    """

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    memory_bytes: int | None = None
    total_bytes: int | None = None
    cpu_seconds: int | None = 60
    file_bytes: int = 64 << 20
    processes: int = 64
    open_files: int = 256
    uid: int | None = None
    gid: int | None = None
    network: bool = False

    def __post_init__(self) -> None:
        for name in ("readable", "writable"):
            paths = getattr(self, name)
            if isinstance(paths, str) or not all(isinstance(path, str) and os.path.isabs(path) for path in paths):
                raise ValueError(f"{name} must be absolute paths, got {paths!r}")
            object.__setattr__(self, name, tuple(os.path.normpath(path) for path in paths))
        for name in ("memory_bytes", "total_bytes", "cpu_seconds", "file_bytes", "processes", "open_files"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")

    def to_json(self) -> str:
        """The policy as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Policy":
        """The policy of `to_json`'s text. Raises ValueError when it is none."""
        try:
            data = json.loads(text)
            return cls(**{**data, "readable": tuple(data["readable"]), "writable": tuple(data["writable"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a policy: {error!r}") from None


def interpreter_paths() -> tuple[str, ...]:
    """What this interpreter, its packages and the programs of a cell's `%%bash` need to read. Only what exists."""
    schemes = sysconfig.get_paths()
    wanted = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    wanted |= {schemes[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    wanted |= {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/bin", "/bin", "/usr/share"}
    wanted |= {"/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/etc/alternatives"}
    return tuple(sorted(path for path in wanted if os.path.isabs(path) and os.path.exists(path)))
