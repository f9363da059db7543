"""Honest notebooks that a careless grader hurts. They get what they have earned, and what they show is kept."""

from autograder.evidence import State
from tests.hostile.entry import NOTHING, Entry, without
from tests.hostile.workshop import (
    Notebook,
    after,
    after_imports,
    answering,
    changed,
    handed_in,
    new_cell,
    released,
    solved,
)

PLAIN = Entry("an honest student", lambda ground: handed_in(solved()))
"""Put between the others: it must get every point, whatever ran before it."""


def corpus() -> list[Entry]:
    return [
        Entry("untouched, as handed out", lambda ground: handed_in(released()), NOTHING),
        answering(
            "np.bool_, np.int64 and tuples where bool, int and list are meant",
            nearly="def nearly(a, b):\n    return np.all(np.abs(a - b) <= 1e-6)",
            pairs="def pairs(n):\n    if n < 0:\n        raise ValueError(n)\n    return np.int64(n) * (n - 1) // 2",
            follow="def follow(step, start, n):\n    out = [start]\n    for _ in range(n):\n"
            "        out.append(step(out[-1]))\n    return tuple(out)",
        ),
        answering(
            "prints and plots in an answer",
            softmax="""
            def softmax(x):
                print("scores of shape", x.shape)
                plt.plot(np.ravel(x))
                weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
                return weights / np.sum(weights, axis=-1, keepdims=True)
            """,
        ),
        answering(
            "warnings and lines on stderr in an answer",
            softmax="""
            def softmax(x):
                import sys, warnings
                warnings.warn("exp is about to be called")
                print("careful", file=sys.stderr)
                np.array([1.0]) / np.array([0.0])
                weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
                return weights / np.sum(weights, axis=-1, keepdims=True)
            """,
        ),
        changed(
            "magics, %%bash, await, display and a plot",
            _everything_that_a_notebook_can,
            shows=("bash 42", "await 42", "<b>display 42</b>", "image/png", "capture 42", "system 42", "time 42"),
        ),
        answering(
            "a widget",
            """
            import ipywidgets
            slider = ipywidgets.IntSlider(value=3, description="from-widget")
            slider.value = 4
            slider
            """,
            shows=("application/vnd.jupyter.widget-view+json",),
        ),
        answering(
            "check lines in cells of one's own, and progress",
            """
            def softmax(x):
                return x
            check.softmax(softmax)
            check.progress()
            check.no_such_check(softmax)
            """,
        ),
        changed("a wrong first try, checked twice before it was right", _tries_first),
        answering(
            "one answer raises",
            pairs="def pairs(n):\n    return undefined_name",
            points=without("pairs"),
        ),
        answering("one cell does not parse", pairs="def pairs(n:\n    return", points=without("pairs")),
        answering(
            "a cell of one's own fails",
            "1 / 0",
            shows=("ZeroDivisionError",),
        ),
        answering(
            "input() in a cell and in an answer",
            "name = input('who are you? ')",
            nearly="def nearly(a, b):\n    return input('the same? ') == 'y'",
            points=without("nearly"),
        ),
        answering("a breakpoint left in an answer", nearly=_with_breakpoint(), points=without("nearly")),
        answering("the number left blank", seconds="seconds = ...", points=without("by_hand")),
        answering(
            "an answer that imports what is not installed",
            Tally="import no_such_package\n\nclass Tally:\n    pass",
            points=without("tally"),
        ),
        answering(
            "a decorated function, a lambda and a partial as answers",
            softmax="import functools\n\n@functools.lru_cache(maxsize=None)\ndef width():\n    return -1\n\n"
            "def _weights(x, axis):\n    e = np.exp(x - x.max(axis=axis, keepdims=True))\n"
            "    return e / e.sum(axis=axis, keepdims=True)\n\nsoftmax = functools.partial(_weights, axis=width())",
            nearly="nearly = lambda a, b: bool(np.all(np.abs(a - b) <= 1e-6))",
        ),
        answering(
            "writes a file of its own and reads it back",
            "open('mine.txt', 'w').write('file')\nprint(open('mine.txt').read(), 6 * 7)",
            shows=("file 42",),
        ),
        answering(
            "two megabytes of honest prints", "for i in range(40_000):\n    print('a line of fifty characters', i)"
        ),
        changed("no cell but the answers has been run, outputs and counts are odd", _odd_counts),
        answering(
            "threads that end, and a process pool of one",
            """
            import threading, subprocess, sys
            done = []
            threads = [threading.Thread(target=done.append, args=(i,)) for i in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            print("threads:", sorted(done))
            print(subprocess.run([sys.executable, "-I", "-c", "print('child', 6 * 7)"], capture_output=True, text=True).stdout)
            """,
            shows=("threads: [0, 1, 2, 3]", "child 42"),
        ),
        answering(
            "asyncio.run in an answer",
            nearly="""
            import asyncio

            async def look(a, b):
                await asyncio.sleep(0)
                return bool(np.all(np.abs(a - b) <= 1e-6))

            def nearly(a, b):
                return asyncio.run(look(a, b))
            """,
        ),
        answering(
            "a pool of threads that was in use before the check",
            "from concurrent.futures import ThreadPoolExecutor\n"
            "pool = ThreadPoolExecutor(2)\nprint(list(pool.map(abs, range(10))))",
            nearly="def nearly(a, b):\n    return pool.submit(lambda: bool(np.all(np.abs(a - b) <= 1e-6))).result()",
        ),
        answering(
            "a pool of two threads, one of which sleeps",
            "import time\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "pool = ThreadPoolExecutor(2)\npool.submit(time.sleep, 1000)\nprint(pool.submit(abs, -1).result())",
            nearly="def nearly(a, b):\n    return pool.submit(lambda: bool(np.all(np.abs(a - b) <= 1e-6))).result()",
        ),
        # A fork takes one thread along, and this one is nobody's to start again. Known, said in the receipt, and its check alone.
        answering(
            "a thread of one's own that waits for work",
            """
            import queue, threading
            asked, answered = queue.Queue(), queue.Queue()
            def work():
                while True:
                    a, b = asked.get()
                    answered.put(bool(np.all(np.abs(a - b) <= 1e-6)))
            threading.Thread(target=work, daemon=True).start()
            """,
            nearly="def nearly(a, b):\n    asked.put((a, b))\n    return answered.get()",
            points=without("nearly"),
            states=(State.TIMED_OUT,),
        ),
        answering("the name check is used for something else", "check = 3"),
        changed("the name check is deleted on the way", _without_check),
        answering(
            "a dataclass, a property and inheritance",
            Tally="""
            from dataclasses import dataclass, field

            class Base:
                def total(self):
                    return self.so_far

            @dataclass
            class Tally(Base):
                numbers: list = field(default_factory=list)

                @property
                def so_far(self):
                    return int(np.sum(self.numbers))

                def add(self, number):
                    self.numbers.append(number)
            """,
        ),
        answering(
            "halves of characters, terminal codes and NULs in all that is shown",
            r"""
            print("\ud800 half, \x1b[31mred\x1b[0m, \x00, \x07, \u202e, 名字 42")
            class Odd(Exception): pass
            Odd.__name__ = "Odd\ud800"
            try: raise Odd("\udfff")
            except Odd as error: get_ipython().showtraceback()
            """,
            nearly="def nearly(a, b):\n    print('\\ud800')\n    raise ValueError('\\udfff half \\x00 \\x1b[2J')",
            points=without("nearly"),
            shows=("名字 42",),
        ),
        answering(
            "a seed set and numbers drawn in an answer",
            softmax="""
            def softmax(x):
                np.random.seed(0)
                np.random.random(3)
                weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
                return weights / np.sum(weights, axis=-1, keepdims=True)
            """,
        ),
    ]


def _with_breakpoint() -> str:
    return "def nearly(a, b):\n    breakpoint()\n    return bool(np.all(np.abs(a - b) <= 1e-6))"


def _everything_that_a_notebook_can(notebook: Notebook) -> None:
    own = [
        "%%bash\necho bash $((6 * 7))",
        "import asyncio\nawait asyncio.sleep(0)\nprint('await', 6 * 7)",
        "from IPython.display import HTML, display\ndisplay(HTML(f'<b>display {6 * 7}</b>'))\nplt.plot([1, 3, 2]);",
        "%%capture caught\nprint('capture', 6 * 7)",
        "caught.show()\n!echo system $((6 * 7))\n%time print('time', 6 * 7)",
        "%matplotlib inline\n%precision 3\n%load_ext autoreload\n%autoreload 2\n?softmax",
    ]
    for source in reversed(own):
        after_imports(notebook, source)


def _tries_first(notebook: Notebook) -> None:
    after_imports(notebook, "def pairs(n):\n    return 0\ncheck.pairs(pairs)\ncheck.pairs(pairs)")
    after(notebook, "check_follow", "check.follow(follow)\ncheck.pairs(pairs)")


def _without_check(notebook: Notebook) -> None:
    after(notebook, "check_softmax", "del check")
    after(notebook, "check_nearly", "class check:\n    nearly = tally = print")


def _odd_counts(notebook: Notebook) -> None:
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1000 - number
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["all points earned\n"]}]
    notebook["cells"].append(new_cell("# thank you", "markdown"))
