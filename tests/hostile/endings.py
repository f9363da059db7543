"""Notebooks that do not end, end too early, or take all there is: each loses the check that did it, and no more."""

from autograder.evidence import State
from tests.hostile.entry import Entry, without
from tests.hostile.workshop import answering

TIMED_OUT, CRASHED = (State.TIMED_OUT,), (State.CRASHED,)
ENDED = (State.CRASHED, State.TIMED_OUT)
NEARLY = "    return bool(np.all(np.abs(a - b) <= 1e-6))"
HIDDEN = "    if a.ndim > 1:\n"  # no visible case of `nearly` has two axes


def nearly(body: str) -> str:
    """An answer to `nearly` that is right, if `body` lets it be."""
    return f"def nearly(a, b):\n{body}\n{NEARLY}"


def corpus() -> list[Entry]:
    return [*_loops(), *_exits(), *_crashes(), *_hogs(), *_signals()]


def _loops() -> list[Entry]:
    swallow = """
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""
    return [
        answering(
            "an endless loop in an answer",
            nearly=nearly("    while True:\n        pass"),
            points=without("nearly"),
            states=TIMED_OUT,
        ),
        answering(
            "an endless loop that swallows every interrupt",
            nearly=nearly(
                "    import signal\n    for n in range(1, 65):\n        try: signal.signal(n, signal.SIG_IGN)\n"
                "        except (OSError, ValueError): pass\n" + swallow.strip("\n")
            ),
            points=without("nearly"),
            states=TIMED_OUT,
        ),
        answering("an endless loop in a cell of one's own", "while True:\n    pass", states=TIMED_OUT),
        answering(
            "a loop in C that holds the interpreter",
            nearly=nearly("    import re\n    re.match('(a+)+$', 'a' * 60 + 'b')"),
            points=without("nearly"),
            states=TIMED_OUT,
        ),
        answering(
            "asleep, on hidden cases alone",
            nearly=nearly(HIDDEN + "        import time\n        time.sleep(1000)"),
            points=without("nearly"),
            states=TIMED_OUT,
        ),
        answering(
            "calls the judge's function for ever",
            follow="def follow(step, start, n):\n    while True:\n        start = step(start)",
            points=without("follow"),
            states=(State.TIMED_OUT, State.TAMPERED),
        ),
        answering(
            "an iterator without an end, and one without a bottom",
            follow="def follow(step, start, n):\n    import itertools\n    return list(itertools.count())",
            Tally="class Tally:\n    def __init__(self): self.sum = 0\n    def add(self, n): self.sum += n\n"
            "    def total(self): return self.total()",
            points=without("follow", "tally"),
            states=(State.TIMED_OUT, State.CRASHED, State.GRADED),
        ),
        answering(
            "a check line a million times",
            "for _ in range(1_000_000):\n    check.nearly(nearly) if 'nearly' in globals() else check.nearly(print)",
            states=TIMED_OUT,
        ),
        answering(
            "a lock that nobody opens",
            nearly=nearly("    import threading\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()"),
            points=without("nearly"),
            states=TIMED_OUT,
        ),
    ]


def _exits() -> list[Entry]:
    return [
        answering(
            "os._exit in an answer",
            nearly=nearly("    import os\n    os._exit(0)"),
            points=without("nearly"),
            states=CRASHED,
        ),
        answering(
            "os._exit on hidden cases alone",
            nearly=nearly(HIDDEN + "        import os\n        os._exit(0)"),
            points=without("nearly"),
            states=CRASHED,
        ),
        answering(
            "sys.exit in an answer",
            nearly=nearly("    import sys\n    sys.exit(0)"),
            points=without("nearly"),
        ),
        answering("sys.exit, raise SystemExit and quit() in cells", "import sys\nsys.exit('all points')"),
        answering(
            "KeyboardInterrupt, GeneratorExit and BaseException from answers",
            nearly=nearly("    raise KeyboardInterrupt"),
            pairs="def pairs(n):\n    raise GeneratorExit",
            follow="def follow(step, start, n):\n    raise BaseException",
            points=without("nearly", "pairs", "follow"),
            states=(State.GRADED, State.CRASHED),
        ),
        answering("raise SystemExit in a cell", "raise SystemExit"),
        answering("quit() in a cell", "quit()"),
        answering("os._exit in a cell", "import os\nos._exit(0)", states=CRASHED),
        answering("an exit handler that says well done", "import atexit, os\natexit.register(os._exit, 0)"),
        answering("the shell is told to end", "get_ipython().ask_exit()"),
    ]


def _crashes() -> list[Entry]:
    fault = "    import ctypes\n    ctypes.string_at(0)"
    return [
        answering("a segfault in an answer", nearly=nearly(fault), points=without("nearly"), states=CRASHED),
        answering("a segfault in a cell", "import ctypes\nctypes.string_at(0)", states=CRASHED),
        answering(
            "a segfault on hidden cases alone",
            nearly=nearly(HIDDEN + "        import ctypes\n        ctypes.string_at(0)"),
            points=without("nearly"),
            states=CRASHED,
        ),
        answering("abort()", nearly=nearly("    import os\n    os.abort()"), points=without("nearly"), states=CRASHED),
        answering(
            "a stack that overflows in C",
            nearly=nearly(
                "    import sys\n    sys.setrecursionlimit(10**9)\n    class Deep:\n"
                "        def __repr__(self): return repr(self)\n    repr(Deep())"
            ),
            points=without("nearly"),
            states=(State.CRASHED, State.GRADED, State.TIMED_OUT),
        ),
        answering(
            "two answers crash, one hangs",
            softmax="def softmax(x):\n    import os\n    os._exit(1)",
            pairs="def pairs(n):\n    import ctypes\n    ctypes.string_at(0)",
            nearly=nearly("    while True:\n        pass"),
            points=without("softmax", "pairs", "nearly"),
            states=ENDED,
        ),
    ]


def _hogs() -> list[Entry]:
    return [
        answering(
            "a table of eight gigabytes in an answer",
            nearly=nearly("    np.ones(2**30)"),
            points=without("nearly"),
            states=(State.GRADED, State.CRASHED),
        ),
        answering(
            "eats memory bit by bit",
            nearly=nearly("    eaten = []\n    while True:\n        eaten.append(bytearray(2**24))"),
            points=without("nearly"),
            states=(State.GRADED, State.CRASHED, State.TIMED_OUT),
        ),
        answering(
            "a fork bomb",
            nearly=nearly(
                "    import os, time\n    until = time.time() + 1\n    while time.time() < until:\n"
                "        try: os.fork()\n        except OSError: pass"
            ),
            points=without("nearly"),
            states=(State.TIMED_OUT, State.CRASHED, State.TAMPERED),
        ),
        answering(
            "threads without number",
            """
            import threading, time
            try:
                for _ in range(3000):
                    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
            except RuntimeError:
                pass
            """,
            # No copy can be made beside them; the number typed by hand needs none.
            points=without("softmax", "pairs", "nearly", "tally", "follow"),
            states=(State.CRASHED,),
        ),
        answering(
            "children that detach themselves and stay",
            """
            import os, time
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        time.sleep(1000)
                    os._exit(0)
            import subprocess
            subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
            get_ipython().system("nohup setsid sleep 1000 >/dev/null 2>&1 &")
            """,
        ),
        answering(
            "half a gigabyte of output", "print('x' * 2**29)", states=(State.GRADED, State.CRASHED, State.TIMED_OUT)
        ),
        answering(
            "output without an end",
            "while True:\n    print('y' * 1000)",
            states=TIMED_OUT,
        ),
        answering(
            "output without an end, by a child",
            "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done'])",
            states=(State.TIMED_OUT, State.GRADED),
        ),
        answering(
            "ten thousand displays of a large page",
            "from IPython.display import HTML, display\nfor _ in range(2000):\n    display(HTML('<p>' * 20_000))",
            states=(State.GRADED, State.TIMED_OUT),
        ),
        answering(
            "a file that fills the disk",
            """
            try:
                with open('large', 'wb') as file:
                    for _ in range(4096):
                        file.write(bytes(2**20))
            except OSError as error:
                print(error)
            """,
            states=(State.GRADED, State.CRASHED),
        ),
        answering(
            "folders that nobody may enter, a thousand deep",
            """
            import os
            os.makedirs("closed/inside")
            open("closed/inside/file", "w").close()
            os.chmod("closed/inside", 0)
            os.chmod("closed", 0)
            here = os.getcwd()
            try:
                for _ in range(1000):
                    os.mkdir("deep")
                    os.chdir("deep")
            except OSError: pass
            os.chdir(here)
            os.chmod(".", 0)
            """,
        ),
        answering(
            "every descriptor there is",
            "files = []\ntry:\n    while True: files.append(open('/dev/null'))\nexcept OSError: pass",
            states=(State.GRADED, State.CRASHED),
        ),
    ]


def _signals() -> list[Entry]:
    return [
        answering(
            "signals to the parent, the group and everyone",
            """
            import os, signal
            for pid in (os.getppid(), 0, -1, {judge}):
                for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
                    if pid == 0 and number != signal.SIGTERM:
                        continue
                    try:
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)
                        os.kill(pid, number)
                    except OSError:
                        pass
            """,
            states=(State.GRADED, State.CRASHED),
        ),
        answering(
            "stops itself",
            nearly=nearly("    import os, signal\n    os.kill(os.getpid(), signal.SIGSTOP)"),
            points=without("nearly"),
            states=TIMED_OUT,
        ),
        answering(
            "stops itself in a cell",
            "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
            states=TIMED_OUT,
        ),
        answering(
            "an alarm that goes off in another's check",
            "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)\n"
            "signal.signal(signal.SIGALRM, lambda *_: None)",
        ),
        answering(
            "closes every descriptor",
            nearly=nearly("    import os\n    os.closerange(0, 1000)"),
            points=without("nearly"),
            states=(State.CRASHED, State.TAMPERED, State.TIMED_OUT),
        ),
    ]
