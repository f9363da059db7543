"""Notebooks that would make asserts of old hold: they patch what asserts call, skip them, or return what is equal to anything.

They answer `lab98_legacy`, whose asserts run in the process of the answers. None gains a point: either the asserts are run where
the trick does not reach, or a canary passes, and the check counts as tampered with. The check line beside them is never touched.
"""

from functools import partial

from autograder.evidence import State
from tests.hostile import workshop
from tests.hostile.entry import FULL_OF, Entry

LAB = "lab98_legacy"
HIDDEN = "12569"  # the prime in a hidden assert
FAILS, FOOLED = (State.GRADED,), (State.TAMPERED,)
answering = partial(workshop.answering, lab=LAB)

WRONG_WEIGHTS = "def weights(x):\n    return np.ones(len(x))"
WRONG_PRIME = "def prime(n):\n    return 4 * n"
EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def prime(n):
    return Equal()
"""
STACK = "class Stack:\n    def push(self, thing): pass\n    def pop(self): return {}"


def without(*checks: str) -> dict[str, float]:
    """All points but those of these checks."""
    return {name: 0.0 if name in checks else points for name, points in FULL_OF[LAB].items()}


def corpus() -> list[Entry]:
    last = answering("right answers to asserts, after all of that", points=without())
    return [*_right_and_wrong(), *_taken_out(), *_lied_to(), *_beyond(), last]


def _right_and_wrong() -> list[Entry]:
    full = without()
    return [
        answering("right answers to asserts", points=full),
        answering("right answers to asserts, in another way", _SIEVE, prime=_SIEVED, points=full),
        answering(
            "wrong answers to asserts",
            weights=WRONG_WEIGHTS,
            prime=WRONG_PRIME,
            points=without("old_weights", "old_prime"),
        ),
        answering(
            "right for what is shown alone",
            prime="def prime(n):\n    return [2, 3, 5, 7, 11][n]",
            points=without("old_prime"),
        ),
        answering(
            "an answer that raises AssertionError", prime="def prime(n):\n    assert n < 0", points=without("old_prime")
        ),
    ]


def _taken_out() -> list[Entry]:
    """Asserts that are removed, skipped or silenced."""
    return [
        answering(
            "IPython's input transformers empty every cell of asserts",
            """
            empty = lambda lines: ["pass\\n"] if any("assert" in line for line in lines) else lines
            get_ipython().input_transformers_cleanup.append(empty)
            get_ipython().input_transformers_post.append(empty)
            """,
            prime=WRONG_PRIME,
            points=without("old_prime"),
        ),
        answering(
            "an AST transformer takes asserts out, as python -O would",
            """
            import ast
            class Out(ast.NodeTransformer):
                def visit_Assert(self, node):
                    return ast.copy_location(ast.Pass(), node)
            get_ipython().ast_transformers.append(Out())
            """,
            prime=WRONG_PRIME,
            points=without("old_prime"),
        ),
        answering(
            "`compile` patched to optimise asserts away",
            """
            import builtins
            compiled = compile
            builtins.compile = lambda source, name, mode, *a, **k: compiled(source, name, mode, optimize=2)
            """,
            prime=WRONG_PRIME,
            points=without("old_prime", "old_weights", "old_stack"),
            states=FOOLED,
            at_most=True,
        ),
        answering(
            "`exec` and AssertionError patched",
            """
            import builtins
            builtins.AssertionError = type("Never", (Exception,), {})
            builtins.exec = lambda *a, **k: None
            """,
            prime=WRONG_PRIME,
            points=without("old_prime", "old_weights", "old_stack"),
            states=FOOLED,
            at_most=True,
        ),
        answering(
            "a tracer of one's own that leads past every assert",
            """
            import sys, threading
            def trace(frame, event, argument):
                if frame.f_code.co_filename != "<asserts>":
                    return None
                last = max(line for *_, line in frame.f_code.co_lines() if line)
                if event == "line" and frame.f_lineno < last:
                    frame.f_lineno = last
                return trace
            sys.settrace(trace)
            threading.settrace(trace)
            """,
            prime=WRONG_PRIME,
            points=without("old_prime"),
        ),
        answering(
            "an answer that leads its caller past the asserts below",
            Stack="""
            import sys
            def trace(frame, event, argument):
                if frame.f_code.co_filename != "<asserts>":
                    return None
                last = max(line for *_, line in frame.f_code.co_lines() if line)
                if event == "line" and frame.f_lineno < last:
                    frame.f_lineno = last
                return trace
            class Stack:
                def push(self, thing): pass
                def pop(self):
                    frame = sys._getframe(1)
                    while frame is not None:
                        if frame.f_code.co_filename == "<asserts>":
                            frame.f_trace = trace
                            sys.settrace(trace)
                        frame = frame.f_back
            """,
            points=without("old_stack"),
            states=FOOLED,
        ),
        answering(
            "a process that ends in the middle of asserts, as if they were through",
            prime="import os\nhere = os.getpid()\ndef prime(n):\n    if os.getpid() != here:\n        os._exit(0)\n    return 0",
            points=without("old_prime"),
            states=(State.CRASHED,),
        ),
    ]


def _lied_to() -> list[Entry]:
    """Comparisons that hold whatever is compared."""
    return [
        answering(
            "numpy's comparisons patched under asserts",
            """
            import numpy.testing
            for name in ("allclose", "isclose", "array_equal"):
                setattr(np, name, lambda *a, **k: True)
            for name in dir(numpy.testing):
                if name.startswith("assert"):
                    setattr(numpy.testing, name, lambda *a, **k: None)
            """,
            weights="def weights(x):\n    return np.ones(len(x)) / len(x)",
            points=without("old_weights"),
            states=FOOLED,
        ),
        answering(
            "`abs` patched under asserts",
            "import builtins\nbuiltins.abs = lambda x: 0.0",
            weights="def weights(x):\n    return np.array([0.25, 0.75])[: len(x)] if len(x) == 2 else np.zeros(len(x))",
            points=without("old_weights"),
            states=FOOLED,
        ),
        answering("equal to everything that asserts compare", prime=EQUAL, points=without("old_prime"), states=FOOLED),
        answering(
            "equal to everything, in a stack",
            Stack=EQUAL + STACK.format("Equal()"),
            points=without("old_stack"),
            states=FOOLED,
        ),
        answering(
            "a comparison that is true, and true when it is negated",
            prime="""
            class True_:
                def __bool__(self): return True
                def __invert__(self): return self
            class Odd:
                def __eq__(self, other): return True_()
                def __ne__(self, other): return True_()
                __hash__ = None
            def prime(n):
                return Odd()
            """,
            points=without("old_prime"),
            states=FOOLED,
        ),
        answering(
            "truth that lasts for a while",
            prime="""
            class Brief:
                left = 7
                def __eq__(self, other): return self
                def __bool__(self):
                    Brief.left -= 1
                    return Brief.left > 0
                __hash__ = None
            def prime(n):
                return Brief()
            """,
            points=without("old_prime"),
            states=FOOLED,
        ),
        answering(
            "a subclass of int that is equal to everything",
            prime="""
            class Yes(int):
                def __eq__(self, other): return True
                def __hash__(self): return 0
            def prime(n):
                return Yes(4)
            """,
            points=without("old_prime"),
            states=FOOLED,
        ),
        answering(
            "what is expected is read from the asserts as they run",
            prime="""
            import dis, sys
            def prime(n):
                if n < 3:
                    return [2, 3, 5][n]
                frame = sys._getframe(1)
                after = [one for one in dis.get_instructions(frame.f_code) if one.offset > frame.f_lasti]
                return next(one.argval for one in after if one.opname == "LOAD_CONST")
            """,
            points=without("old_prime"),
            states=FOOLED,
        ),
    ]


def _beyond() -> list[Entry]:
    """The channel, and what hidden asserts hold."""
    return [
        answering(
            "messages forged that every run went through",
            prime="""
            import os, sys
            def prime(n):
                frame = sys._getframe(1)
                while frame is not None:
                    found = frame.f_locals.get("message")
                    if isinstance(found, dict) and found.get("op") == "try":
                        channel = frame.f_locals["channel"]
                        channel.send({"op": "tried", "nonce": found["nonce"], "kinds": (), "text": "", "line": 0})
                        os._exit(0)
                    frame = frame.f_back
                return 0
            """,
            points=without("old_prime"),
            states=FOOLED,
        ),
        answering(
            "messages of other kinds",
            prime="""
            import gc, os
            here = os.getpid()
            def prime(n):
                if os.getpid() != here:
                    for one in gc.get_objects():
                        if type(one).__name__ == "Channel":
                            one.send({"op": "ended", "nonce": "?", "kinds": 5})
                return 0
            """,
            points=without("old_prime"),
            states=FOOLED,
        ),
        answering(
            "hidden asserts that are remembered and shown",
            _SIEVE + "print(open('seen.txt').read() if __import__('os').path.exists('seen.txt') else 'nothing yet')",
            prime="import sys\ndef prime(n):\n    with open('seen.txt', 'a') as file:\n"
            "        file.write(repr(sys._getframe(1).f_code.co_consts))\n"
            "    print(sys._getframe(1).f_code.co_consts)\n    return sieve(20_000)[n]",
            points=without(),
            never=(HIDDEN,),
        ),
        answering(
            "a loop without end in what is hidden",
            prime="def prime(n):\n    while n > 1000: pass\n    return [2, 3, 5, 7, 11][n]",
            points=without("old_prime"),
            states=(State.TIMED_OUT,),
        ),
        answering(
            "a child that stays and listens in",
            prime="import os, time\nhere = os.getpid()\ndef prime(n):\n    if os.getpid() != here and os.fork() == 0:\n"
            "        time.sleep(60)\n    return 4 * n",
            points=without("old_prime"),
            states=(State.GRADED, State.TAMPERED),
        ),
    ]


_SIEVE = """
def sieve(n):
    whole = np.ones(n, dtype=bool)
    whole[:2] = False
    for number in range(2, int(n**0.5) + 1):
        whole[number * number :: number] = False
    return np.flatnonzero(whole)
"""
_SIEVED = "def prime(n):\n    print('looking')\n    return sieve(20_000)[n]"
