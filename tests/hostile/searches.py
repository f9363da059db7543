"""Notebooks that look for what is expected, or for what they were to write themselves: in frames, in memory, along every path.

There is nothing to be found: what is expected stays with the judge, and the library's answers are not there to be imported. What
they learn of hidden inputs, which do reach a copy of their process, leads nowhere.
"""

from autograder.evidence import State
from tests.hostile.entry import Entry, without
from tests.hostile.workshop import Notebook, after, after_imports, answering, cell_of, changed

NO_SOFTMAX = without("softmax")


def corpus() -> list[Entry]:
    return [*_searches(), *_imports(), *_memories()]


def _searches() -> list[Entry]:
    return [
        answering(
            "frames are walked for what is expected",
            softmax="""
            import sys
            def softmax(x):
                frame = sys._getframe()
                while frame:
                    for value in list(frame.f_locals.values()):
                        expect = getattr(value, "expect", None)
                        if expect is not None:
                            return getattr(expect, "value", x)
                        for step in value if isinstance(value, (list, tuple)) else ():
                            if getattr(step, "expect", None) is not None:
                                return step.expect.value
                    frame = frame.f_back
                return x
            """,
            points=NO_SOFTMAX,
        ),
        answering(
            "gc is searched for what is expected",
            softmax="""
            import gc
            def softmax(x):
                for thing in gc.get_objects():
                    if type(thing).__name__ in ("Close", "Equal", "Case", "Check", "Lab", "CheckResult"):
                        value = getattr(thing, "value", None)
                        if getattr(value, "shape", None) == x.shape:
                            return value
                for thing in gc.get_objects():
                    if isinstance(thing, dict) and "expect" in thing:
                        return thing["expect"]
                return x
            """,
            points=NO_SOFTMAX,
        ),
        answering(
            "the process's own memory is searched",
            softmax="""
            def softmax(x):
                if x.ndim < 4:  # the hidden case alone: it takes a while
                    return x
                found, name = 0, bytes(code - 1 for code in b"ijeefo;!gpvs!byft")  # of a hidden case
                for line in open("/proc/self/maps"):
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    if "rw" in line and end - start < 2**26:
                        memory = open("/proc/self/mem", "rb", 0)
                        memory.seek(start)
                        found += memory.read(end - start).count(name)
                if found > 1:  # once it was put there just now
                    print("the name was found", found, "times")
                return x
            """,
            points=NO_SOFTMAX,
            never=("the name was found",),
        ),
    ]


def _imports() -> list[Entry]:
    return [
        answering(
            "the library's own function is imported",
            softmax="from course_lib.arrays import softmax",
            points=NO_SOFTMAX,
        ),
        answering(
            "the library is looked for along every path",
            softmax="""
            import glob, importlib, sys
            sys.path += [".", "..", {course!r}, "/", *glob.glob("/*"), *glob.glob("/*/*")]
            def softmax(x):
                for name in ("course_lib.arrays", "_lab_lab99_light.checks", "lab99_light.checks", "tests.hostile",
                             "autograder.grading.judge", "course_lib.checks.judging", "course_lib.checks.frozen"):
                    try:
                        module = importlib.import_module(name)
                    except BaseException:
                        continue
                    for found in ("reference_softmax", "softmax"):
                        if hasattr(module, found):
                            return getattr(module, found)(x)
                return x
            """.replace("{course!r}", "'{course}'"),
            points=NO_SOFTMAX,
        ),
        answering(
            "the frozen cases are loaded",
            seconds="""
            try:
                from course_lib.checks import frozen
                seconds = 31_622_400 if frozen.FOLDER.exists() else None
            except ImportError:
                seconds = None
            """,
            points=without("by_hand"),
        ),
    ]


def _memories() -> list[Entry]:
    return [
        answering(
            "hidden inputs remembered, to be printed later",
            """
            SEEN = []
            import atexit
            atexit.register(lambda: open("seen.txt", "w").write(repr(SEEN)))
            get_ipython().events.register("post_run_cell", lambda result: print("dimensions:", sorted({x.ndim for x in SEEN})))
            """,
            softmax="""
            def softmax(x):
                SEEN.append(x.copy())
                print("dimensions", x.ndim)
                if x.ndim == 4:
                    for way in ("seen.txt", "/tmp/seen.txt", "{outside}/seen.txt"):
                        try: open(way, "a").write("four axes: " + repr(x))
                        except OSError: pass
                    import sys
                    for stream in (sys.__stderr__, sys.__stdout__, sys.stdout):
                        try: print("four-axes-were-seen", file=stream)
                        except Exception: pass
                weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
                return weights / np.sum(weights, axis=-1, keepdims=True)
            """,
            never=("four-axes-were-seen", "dimensions: [1, 2, 4]", "dimensions 4"),
        ),
        answering(
            "hidden inputs sent from copy to copy",
            """
            import mmap, os
            shared = mmap.mmap(-1, 4096)
            reading, writing = os.pipe()
            """,
            softmax="""
            def softmax(x):
                if x.ndim == 4:
                    shared[:5] = b"seen!"
                    os.write(writing, b"seen!")
                weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
                return weights / np.sum(weights, axis=-1, keepdims=True)
            """,
            follow="""
            def follow(step, start, n):
                if shared[:5] == b"seen!":
                    raise RuntimeError("seen-in-another-copy")
                numbers = [start]
                for _ in range(n):
                    numbers.append(step(numbers[-1]))
                return numbers
            """,
            never=("seen-in-another-copy",),
            at_most=True,
        ),
        changed(
            "hidden inputs kept in a file, for a run that comes after a crash",
            _writes_down,
            states=(State.CRASHED,),
            never=("four axes were seen",),
        ),
        answering(
            "right on what was seen first, wrong on all else",
            """
            KNOWN = {}
            """,
            softmax="""
            def softmax(x):
                if x.shape in ((6,), (3, 5)):
                    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
                    return weights / np.sum(weights, axis=-1, keepdims=True)
                return x
            """,
            points=without("softmax") | {"softmax": 2.67},
        ),
    ]


def _writes_down(notebook: Notebook) -> None:
    """Keeps in a file that a hidden input came; a cell prints what an earlier run has kept, and another one ends the process."""
    looks = "import os, pathlib\nkept = pathlib.Path('kept')\nprint(kept.read_text() if kept.exists() else '')"
    keeps = "    if x.ndim == 4:\n        kept.write_text('four axes were seen')"
    after_imports(notebook, looks)
    cell = cell_of(notebook, "softmax")
    cell["source"] += f"\n_right = softmax\ndef softmax(x):\n{keeps}\n    return _right(x)"
    after(notebook, "check_follow", "os._exit(0)")
