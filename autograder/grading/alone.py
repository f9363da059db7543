"""What libraries do in other ways while a notebook is graded: on one thread, and without processes that share locks.

A process that has run several threads must not fork, and a sealed copy is a fork: a pool of threads that is gone lets its next
task wait for ever. Locks between processes need memory that several share, which a box does not give. Results are the same.
"""

import _multiprocessing
import functools
import inspect
import sys
from typing import Any

# What a loader without workers must not be given.
WITHOUT_WORKERS = {
    "num_workers": 0,
    "persistent_workers": False,
    "prefetch_factor": None,
    "timeout": 0,
    "multiprocessing_context": None,
}


class NoLock(_multiprocessing.SemLock):
    """Stands for the lock that processes share, and says why there is none."""

    def __new__(cls, *args: Any, **named: Any) -> "NoLock":
        raise OSError(
            "processes that share locks (a Pool, a Queue) are not there while a notebook is graded: use threads"
        )


def settle() -> None:
    """Makes the libraries that are loaded keep to this."""
    _multiprocessing.SemLock = NoLock  # type: ignore[misc]
    torch: Any = sys.modules.get("torch")
    if torch:
        torch.set_num_threads(1)
        torch.set_num_threads = _stay_at_one
    data: Any = sys.modules.get("torch.utils.data")
    if data:
        data.DataLoader.__init__ = _without_workers(data.DataLoader.__init__)


def _stay_at_one(number: int) -> None:
    """Stands for `torch.set_num_threads`."""


def _without_workers(plain: Any) -> Any:
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def init(*args: Any, **named: Any) -> None:
        given = signature.bind(*args, **named).arguments
        if (given.get("num_workers") or 0) > 0:
            given |= {name: value for name, value in WITHOUT_WORKERS.items() if name in given}
        plain(**given)

    return init
