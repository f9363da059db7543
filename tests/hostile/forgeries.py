"""Notebooks that a test in their own process would believe: they patch what compares, or lie about what they return.

None gains a point, since nothing is compared where they can reach it. Each has at least one wrong answer that would be right if
its trick worked.
"""

from autograder.evidence import State
from tests.hostile.entry import Entry, without
from tests.hostile.workshop import answering

SAME = "def softmax(x):\n    return x"
NO_SOFTMAX = without("softmax")


def corpus() -> list[Entry]:
    return [*_patches(), *_liars()]


def _patches() -> list[Entry]:
    return [
        answering(
            "numpy's comparisons patched",
            """
            import numpy.testing
            yes = lambda *a, **k: True
            for name in ("allclose", "isclose", "array_equal", "all", "abs", "max", "sum", "less_equal"):
                setattr(np, name + "_of_old", getattr(np, name))
            for name in ("allclose", "array_equal", "array_equiv"):
                setattr(np, name, yes)
            for name in dir(numpy.testing):
                if name.startswith("assert"):
                    setattr(numpy.testing, name, yes)
            """,
            softmax=SAME,
            points=NO_SOFTMAX,
        ),
        answering(
            "builtins patched",
            """
            import builtins
            yes = lambda *a, **k: True
            for name in ("all", "any", "isinstance", "callable", "abs"):
                setattr(builtins, name + "_of_old", getattr(builtins, name))
            builtins.all = builtins.any = yes
            """,
            softmax=SAME,
            points=NO_SOFTMAX,
            states=(State.GRADED, State.CRASHED, State.TAMPERED, State.TIMED_OUT),
            at_most=True,
        ),
        answering(
            "the student's side of the checks patched",
            """
            import sys
            for name, module in list(sys.modules.items()):
                if name.split(".")[0] in ("course_lib", "autograder") and module is not None:
                    for one in ("perform", "serve", "judge", "difference", "value_difference", "_wrong", "judge_case"):
                        if hasattr(module, one):
                            setattr(module, one, lambda *a, **k: [])
            """,
            softmax=SAME,
            points=NO_SOFTMAX,
            states=(State.GRADED, State.CRASHED, State.TAMPERED),
            at_most=True,
        ),
        answering(
            "`check` made anew",
            """
            class check:
                def __getattr__(self, name):
                    return lambda *targets: print(name, "✓ all points")
            check = check()
            """,
            softmax=SAME,
            points=NO_SOFTMAX,
        ),
        answering(
            "`lab` and `print` of the check's report patched",
            """
            import course_lib.checks
            course_lib.checks.lab = lambda name: None
            import IPython.display
            IPython.display.display = lambda *a, **k: None
            """,
            softmax=SAME,
            points=NO_SOFTMAX,
            states=(State.GRADED, State.CRASHED),
        ),
        answering(
            "IPython's input transformers and hooks turn every check line into another",
            """
            shell = get_ipython()
            swap = lambda lines: ["print('passed')" if "check.softmax" in line else line for line in lines]
            shell.input_transformers_cleanup.append(swap)
            shell.input_transformers_post.append(swap)
            shell.events.register("pre_run_cell", lambda info: None)
            shell.set_custom_exc((BaseException,), lambda *a, **k: None)
            """,
            softmax=SAME,
            points=NO_SOFTMAX,
        ),
        answering(
            "an AST transformer hands the answer of another check over",
            """
            import ast
            class Swap(ast.NodeTransformer):
                def visit_Name(self, node):
                    return ast.copy_location(ast.Name("nearly", node.ctx), node) if node.id == "softmax" else node
            get_ipython().ast_transformers.append(Swap())
            """,
            softmax=SAME,
            points=NO_SOFTMAX,
            at_most=True,
            states=(State.GRADED, State.CRASHED),
        ),
        answering(
            "run_cell made to succeed",
            """
            class Fine:
                success, result, error_in_exec, error_before_exec = True, 4.0, None, None
            type(get_ipython()).run_cell = lambda self, *a, **k: Fine()
            """,
            softmax=SAME,
            points={name: 0.0 for name in without()},
            states=(State.GRADED, State.CRASHED, State.TAMPERED),
        ),
        answering(
            "a profiler and a tracer of one's own",
            """
            import sys, threading
            seen = []
            def look(frame, event, argument):
                names = frame.f_locals
                for name in ("expect", "want", "expected", "case", "cases", "verdict"):
                    if names.get(name) is not None:
                        seen.append((frame.f_code.co_name, name, repr(names[name])[:200]))
                return look
            sys.setprofile(look); sys.settrace(look); threading.setprofile(look)
            """,
            softmax="def softmax(x):\n    return eval(seen[0][2]) if seen else x",
            points=NO_SOFTMAX,
        ),
    ]


def _liars() -> list[Entry]:
    return [
        answering(
            "equal to everything",
            softmax="""
            class Yes:
                shape, dtype, ndim, nbytes = (6,), np.dtype("float64"), 1, 48
                def __eq__(self, other): return True
                def __ne__(self, other): return False
                def __sub__(self, other): return np.zeros(6)
                __rsub__ = __sub__
                def __abs__(self): return 0.0
                def __le__(self, other): return True
                __lt__ = __ge__ = __gt__ = __le__
                def __bool__(self): return True
                def __float__(self): return 0.0
                def __len__(self): return 6
                def __iter__(self): return iter([0.0] * 6)
                def __hash__(self): return 0
            def softmax(x):
                return Yes()
            """,
            points=NO_SOFTMAX,
        ),
        answering(
            "__array__, __array_function__ and __array_ufunc__ that say yes",
            softmax="""
            class Yes:
                def __init__(self, x): self.x = x
                def __array__(self, *a, **k): return np.asarray(self.x)
                def __array_function__(self, *a, **k): return True
                def __array_ufunc__(self, *a, **k): return np.True_
                __array_priority__ = 10**9
            def softmax(x):
                return Yes(x)
            """,
            points=NO_SOFTMAX,
        ),
        answering(
            "a subclass of ndarray that lies",
            softmax="""
            class Liar(np.ndarray):
                def __eq__(self, other): return True
                def __sub__(self, other): return np.zeros(self.shape)
                def __array_finalize__(self, other): pass
                def __array_ufunc__(self, *a, **k): return np.zeros(self.shape, bool)
                def __array_function__(self, *a, **k): return True
                def tobytes(self, *a): raise MemoryError
                shape = property(lambda self: (6,))
            def softmax(x):
                return x.view(Liar)
            """,
            points=NO_SOFTMAX,
            states=(State.GRADED, State.TAMPERED),
        ),
        answering(
            "subclasses of int, str, tuple and dict that lie",
            pairs="""
            class Yes(int):
                def __eq__(self, other): return True
                def __hash__(self): return 0
            def pairs(n):
                if n < 0: raise ValueError
                return Yes(0)
            """,
            follow="""
            class Long(list):
                def __eq__(self, other): return True
                def __len__(self): return 6
            def follow(step, start, n):
                return Long()
            """,
            points=without("pairs", "follow"),
        ),
        answering(
            "an object that changes whenever it is read",
            softmax="""
            class Shifting(np.ndarray):
                reads = 0
                def __getattribute__(self, name):
                    Shifting.reads += 1
                    return object.__getattribute__(self, name)
                @property
                def shape(self):
                    return (Shifting.reads % 7,)
            def softmax(x):
                return x.view(Shifting)
            """,
            Tally="""
            class Tally:
                turn = 0
                def __getattribute__(self, name):
                    Tally.turn += 1
                    return (lambda *a: Tally.turn) if Tally.turn % 2 else (lambda *a: None)
            """,
            points=without("softmax", "tally"),
            states=(State.GRADED, State.TAMPERED, State.CRASHED),
        ),
        answering(
            "exceptions that claim to be others, and whose text cannot be read",
            pairs="""
            class ValueError(BaseException):
                def __str__(self): raise SystemExit
                __repr__ = __str__
            class Odd(type):
                def __mro__(cls): raise RuntimeError
            def pairs(n):
                if n < 0: raise ValueError
                return 0
            """,
            points=without("pairs"),
        ),
        answering(
            "object arrays, ragged lists, deep lists and generators",
            softmax="def softmax(x):\n    return np.array([object(), None])",
            pairs="def pairs(n):\n    return (n for n in [n])",
            follow="def follow(step, start, n):\n    deep = []\n    for _ in range(100_000):\n        deep = [deep]\n"
            "    return deep",
            Tally="class Tally:\n    def add(self, n): pass\n    def total(self):\n        a = []\n        a.append(a)\n"
            "        return a",
            points=without("softmax", "pairs", "follow", "tally"),
            states=(State.GRADED, State.CRASHED),
        ),
        answering(
            "nan, infinities and numbers without end",
            softmax="def softmax(x):\n    return x * np.nan",
            pairs="def pairs(n):\n    return 1 << 10**7",
            nearly="def nearly(a, b):\n    return float('nan')",
            seconds="seconds = 1 << 10**6",
            points=without("softmax", "pairs", "nearly", "by_hand"),
        ),
        answering(
            "an array of two hundred megabytes, a text of fifty, two million parts",
            softmax="def softmax(x):\n    return np.zeros(25_000_000)",
            pairs="def pairs(n):\n    return 'x' * 50_000_000",
            follow="def follow(step, start, n):\n    return [0] * 2_000_000",
            points=without("softmax", "pairs", "follow"),
            states=(State.GRADED, State.TIMED_OUT),
        ),
        answering(
            "an answer that forks and returns twice",
            nearly="def nearly(a, b):\n    import os\n    os.fork()\n    return True",
            points=without("nearly"),
            states=(State.TAMPERED, State.CRASHED, State.TIMED_OUT, State.GRADED),
            at_most=True,
        ),
        answering(
            "outputs that run in an instructor's browser, or are no outputs",
            """
            from IPython.display import HTML, Javascript, display
            tag, event = "scr" + "ipt", "on" + "error"
            display(HTML(f"<{tag}>alert(1)</{tag}><img src=x {event}=alert(2)><a href='java{tag}:alert(3)'>x</a>"))
            display(Javascript("alert(4)"))
            display({"image/svg+xml": f"<svg {event}='alert(5)'><{tag}>alert(6)</{tag}></svg>", "text/plain": "svg"}, raw=True)
            display({"text/markdown": f"[x](java{tag}:alert(7))", 5: object(), "image/png": b"no png"}, raw=True)
            class Loud:
                def _repr_html_(self): raise SystemExit
                def __repr__(self): return "\\x1b[2J" * 3
                def _repr_mimebundle_(self, **more): return [1, 2, {3}]
            display(Loud())
            """,
            # The drawing keeps its script: it is shown as a picture, in which none runs.
            never=(
                "<script>alert(1)",
                "onerror=alert(2)",
                "javascript:alert(3)",
                "(javascript:alert(7)",
                '/javascript"',
            ),
        ),
        answering(
            "arguments changed while they are looked at",
            softmax="""
            import threading
            def softmax(x):
                def spoil():
                    for _ in range(1000): x[...] = 1 / x.shape[-1]
                threading.Thread(target=spoil, daemon=True).start()
                x[...] = 1 / x.shape[-1]
                return x
            """,
            points=NO_SOFTMAX,
        ),
    ]
