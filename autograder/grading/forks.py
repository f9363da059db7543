"""Copies of a student's process. A fork takes one thread along, and nothing tells a pool that its other ones are gone.

`concurrent.futures` counts the threads that it has started, and waits for those. So a copy's pools are made to forget them: the
next piece of work starts threads of the copy's own. What a lost thread was doing, or was to do for code that keeps no pool
(a thread of one's own that waits at a queue), is lost: it can be said, and not mended.
"""

import gc
import os
import queue
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, thread
from typing import Any


def forked() -> int:
    """`os.fork`, after which thread pools work in the child and `random` goes on as it would have without it.

    Raises OSError where no process can be made.
    """
    state = random.getstate()
    child = os.fork()
    if child == 0:
        random.setstate(state)  # which Python draws anew in every fork
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)  # a notebook that loaded it by itself may have had more, which are gone
        forget_lost_threads()
    return child


def others_run() -> bool:
    """Whether this process has threads that a copy will not have."""
    return threading.active_count() > 1


def forget_lost_threads() -> None:
    """Lets every pool of this process start threads again, with the work that nobody had taken."""
    if not thread._threads_queues:  # no pool has ever started one
        return
    for pool in [found for found in gc.get_objects() if issubclass(type(found), ThreadPoolExecutor)]:
        _renew(pool)


def _renew(pool: Any) -> None:
    waiting, pool._work_queue = pool._work_queue, queue.SimpleQueue()
    pool._threads, pool._idle_semaphore, pool._shutdown_lock = set(), threading.Semaphore(0), threading.Lock()
    left = 0
    while not waiting.empty():
        if (item := waiting.get_nowait()) is not None:
            pool._work_queue.put(item)
            left += 1
    for _ in range(left):
        pool._adjust_thread_count()
