"""Where a grader keeps what is temporary: a folder that it holds, and that the next grader removes when nobody holds it.

A grader that is killed clears nothing away. All that it leaves is in such folders, and their locks fall with the last process
that had them; so whoever makes one looks first for those that nobody holds any more.
"""

import contextlib
import os
import tempfile
import time
import weakref
from pathlib import Path

PREFIX = "course-grading-"
PATIENCE_S = 1.0  # for those who are being ended


class Scratch:
    """A temporary folder of this process's own. `lock` is a descriptor: whoever has it holds the folder too."""

    def __init__(self) -> None:
        clear()
        lock = None
        while lock is None:  # another grader may take a folder that is not held yet for a leftover
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._finish = weakref.finalize(self, _remove, self.path, os.getpid())
            lock = _held(self.path)
        self.lock = lock

    def close(self) -> None:
        """Removes the folder, whatever is in it; left to itself, it goes when this process ends."""
        if self._finish.alive:
            self._finish()
            os.close(self.lock)


def clear() -> None:
    """Removes what graders of this user left on this machine when they were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if path.lstat().st_uid == os.geteuid() and (lock := _held(path)) is not None:
                try:
                    remove(path)
                finally:
                    os.close(lock)


def remove(folder: Path) -> None:
    """Removes a folder, whatever was made in it: folders within folders by the thousand, or that nobody may enter.

    Folders are lifted to the top one by one, so that no path grows long and nothing is called within itself.
    """
    number = 0
    os.chmod(folder, 0o700)
    while True:
        inner = []
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.path)
            else:
                os.unlink(entry.path)
        if not inner:
            break
        for path in inner:
            os.chmod(path, 0o700)
            for entry in os.scandir(path):
                if entry.is_dir(follow_symlinks=False):
                    number += 1
                    os.chmod(entry.path, 0o700)
                    os.rename(entry.path, folder / f".lifted-{number}")
                else:
                    os.unlink(entry.path)
            os.rmdir(path)
    os.rmdir(folder)


def _held(path: Path) -> int | None:
    """A descriptor that holds the folder; None when another process holds it, or it is gone."""
    import fcntl  # Unix alone has it, and so do graders

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.is_dir():
            return descriptor
    except BlockingIOError:
        pass
    os.close(descriptor)
    return None


def _remove(path: Path, owner: int) -> None:
    """Removes a process's own folder, unless this is a copy of the process, which is still at work."""
    end = time.monotonic() + PATIENCE_S
    while os.getpid() == owner and path.exists() and time.monotonic() < end:
        try:
            remove(path)
        except (
            OSError
        ):  # somebody who is being ended still writes there; what cannot go now, the next grader tries again
            time.sleep(0.02)
