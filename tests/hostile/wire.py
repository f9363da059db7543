"""Notebooks that speak to the judge themselves: forged frames on every descriptor, replies queued before they are asked for,
headers that promise gigabytes. The judge believes none, and says that somebody tried.

Each has a wrong answer that would be right if it were believed.
"""

import textwrap

from autograder.evidence import State
from tests.hostile.entry import Entry, without
from tests.hostile.workshop import answering

TAMPERED = (State.TAMPERED,)
NOTICED = (State.TAMPERED, State.CRASHED, State.TIMED_OUT)
SAME = "def softmax(x):\n    return x"

FRAMES = """
import json, os, struct, time

def frame(message, sizes=()):
    header = json.dumps([message, list(sizes)]).encode()
    return struct.pack("<I", len(header)) + header

def plain(value):
    if isinstance(value, dict):
        return {"$": "dict", "v": [[plain(key), plain(part)] for key, part in value.items()]}
    return [plain(part) for part in value] if isinstance(value, list) else value

def outcome(value):
    return {"$": "Outcome", "v": [value, None, None, None, None, ""]}

def everywhere(data):
    for number in range(3, 256):
        try:
            os.set_blocking(number, False)
        except OSError:
            continue
        left, until = data, time.monotonic() + 0.2
        while left and time.monotonic() < until:
            try:
                left = left[os.write(number, left):]
            except BlockingIOError:
                time.sleep(0.001)
            except OSError:
                break
        try:
            os.set_blocking(number, True)
        except OSError:
            pass
"""


def at_once(name: str, code: str, states: tuple[State, ...] = TAMPERED) -> Entry:
    """Forges in a cell before every check. What comes after it may count or not; the wrong answer may not."""
    return answering(name, FRAMES + code, softmax=SAME, points=without("softmax"), states=states, at_most=True)


def _sending(code: str) -> str:
    """A softmax that has `code` change the message before outcomes are sent."""
    return f"""
import gc
def softmax(x):
    for thing in gc.get_objects():
        if type(thing).__name__ == "Channel":
            send = thing.send
            def sending(message, *more, send=send):
                if message.get("op") == "outcomes":
{textwrap.indent(code, 20 * " ")}
                send(message, *more)
            thing.send = sending
    return x
"""


def corpus() -> list[Entry]:
    return [
        at_once(
            "a forged `done` on every descriptor",
            'everywhere(frame(plain({"op": "done", "number": 5, "outputs": []})))',
        ),
        at_once(
            "a verdict sent to the judge",
            'everywhere(frame(plain({"op": "verdict", "score": 12, "checks": {"softmax": 4}, "state": "graded"})))',
        ),
        at_once(
            "outcomes queued before they are asked for",
            'for _ in range(20):\n    everywhere(frame(plain({"op": "outcomes", "nonce": "0" * 16, "outcomes": []})))',
        ),
        at_once("a header of two gigabytes", 'everywhere(struct.pack("<I", 2**31))', NOTICED),
        at_once(
            "buffers of four gigabytes, and of less than nothing",
            "everywhere(frame(None, [2**32]))\neverywhere(frame(None, [-5, 2**70]))",
            NOTICED,
        ),
        at_once("noise on every descriptor", "everywhere(bytes(range(256)) * 64)", NOTICED),
        at_once("JSON nested a hundred thousand deep", 'h = b"[" * 100_000\neverywhere(struct.pack("<I", len(h)) + h)'),
        at_once(
            "a number of a million digits",
            'h = b"[" + b"9" * 10**6 + b",[]]"\neverywhere(struct.pack("<I", len(h)) + h)',
        ),
        at_once("half a frame, and silence", 'everywhere(struct.pack("<I", 100) + b"[")', NOTICED),
        answering(
            "a pickle where a frame is due",
            FRAMES,
            softmax="""
            def softmax(x):
                import pickle
                class Open:
                    def __reduce__(self):
                        return (os.mkdir, ("{outside}/pickled",))
                everywhere(pickle.dumps(Open()))
                return x
            """,
            points=without("softmax"),
            states=NOTICED,
            at_most=True,
        ),
        answering(
            "an answer that replies for itself",
            FRAMES,
            softmax="""
            def softmax(x):
                import gc, sys
                frame_, nonce = sys._getframe(), None
                while frame_:
                    message = frame_.f_locals.get("message")
                    if isinstance(message, dict) and "nonce" in message:
                        nonce = message["nonce"]
                    frame_ = frame_.f_back
                values = {"$": "array", "d": "f8", "s": list(x.shape)}
                body = plain({"op": "outcomes", "nonce": nonce})
                body["v"].append(["outcomes", [outcome(values)]])
                everywhere(frame(body, [x.nbytes]) + x.tobytes())
                return x
            """,
            points=without("softmax"),
            states=NOTICED,
            at_most=True,
        ),
        answering(
            "the nonce is known, and each reply is doubled",
            FRAMES,
            softmax="""
            import gc
            def softmax(x):
                for thing in gc.get_objects():
                    if type(thing).__name__ == "Channel" and not getattr(thing, "doubled", False):
                        thing.doubled = True
                        send = thing.send
                        thing.send = lambda message, send=send: (send(message), send(message))
                return x
            """,
            points=without("softmax"),
            states=NOTICED,
            at_most=True,
        ),
        answering(
            "the channel is taken over: the judge's steps are read, other outcomes are sent",
            FRAMES,
            softmax="""
            import gc
            def softmax(x):
                for thing in gc.get_objects():
                    if type(thing).__name__ == "Channel":
                        receive = thing.receive
                        def receiving(*a, receive=receive):
                            message = receive(*a)
                            for step in message.get("steps", []):
                                print("expected:", getattr(step, "expect", None))
                            return message
                        try: thing.receive = receiving
                        except AttributeError: pass
                return x
            """,
            points=without("softmax"),
            states=(*NOTICED, State.GRADED),
            never=("expected: Close", "expected: Equal"),
            at_most=True,
        ),
        answering(
            "passed, says a forged outcome without a value",
            FRAMES,
            softmax="""
            import gc
            def softmax(x):
                for thing in gc.get_objects():
                    if type(thing).__name__ == "Channel":
                        send = thing.send
                        def sending(message, *a, send=send):
                            if message.get("op") == "outcomes":
                                message["outcomes"] = ["passed"] * len(message["outcomes"])
                            send(message, *a)
                        thing.send = sending
                return x
            """,
            points=without("softmax"),
            states=TAMPERED,
            at_most=True,
        ),
        answering(
            "an outcome whose parts are of other kinds, and one that is a program",
            FRAMES,
            softmax=_sending(
                "import dataclasses\nkind = type(message['outcomes'][0])\n"
                "message['outcomes'] = [kind(raised={'kinds': [], 'text': x, 'line': 'first'}, args_after=(1,), printed=x)]"
            ),
            points=without("softmax"),
            states=TAMPERED,
            at_most=True,
        ),
        answering(
            "a program in place of a number",
            FRAMES,
            softmax=_sending(
                "from course_lib.checks.cases import Given, Kept\nkind = type(message['outcomes'][0])\n"
                'code = \'open("{outside}/compiled", "w")\\ndef mixes(n): return n\'\n'
                "message['outcomes'] = [kind(value=[Kept('mixes', code), Given('mixes', code)])]"
            ),
            points=without("softmax"),
            states=(State.GRADED, State.TAMPERED),
            at_most=True,
        ),
        answering(
            "the judge's function is given what it was not made for",
            follow="""
            def follow(step, start, n):
                for odd in ("x", float("nan"), 10**5000, [1], {"a": 1}, None, np.zeros((1000, 1000)), "x" * 1_000_000):
                    try: step(odd)
                    except Exception as error: print(str(error)[:100])
                return None
            """,
            points=without("follow"),
            states=(State.GRADED, State.TAMPERED),
            at_most=True,
        ),
        at_once(
            "a frame that drips, byte by byte",
            """
if os.fork() == 0:
    everywhere(struct.pack("<I", 4_000_000) + b"[")
    while True:
        everywhere(b" ")
        time.sleep(0.05)
time.sleep(0.2)
""",
            NOTICED,
        ),
        answering(
            "the copies' sockets are kept, and one copy answers for the others",
            "import os\nkept = []\nfor number in range(3, 64):\n    try: kept.append(os.dup(number))\n    except OSError: pass",
            softmax="""
            def softmax(x):
                if x.ndim == 4:
                    for number in kept:
                        try:
                            os.set_blocking(number, False)
                            data = os.read(number, 65536)
                            os.write(number, data)
                        except OSError: pass
                return x
            """,
            points=without("softmax"),
            states=(*NOTICED, State.GRADED),
            at_most=True,
        ),
        answering(
            "calls a function that does not live with the judge",
            follow="""
            def follow(step, start, n):
                call_back = step.args[1]
                for name in ("reference_softmax", "judge", "__import__", "eval", "mixes.__globals__"):
                    try: call_back(name, ("1",), {})
                    except ValueError: pass
                return []
            """,
            points=without("follow"),
            states=NOTICED,
            at_most=True,
        ),
        answering(
            "every sealed copy is answered for by the notebook's own process",
            FRAMES
            + """
import threading, time
def flood():
    while True:
        everywhere(frame(plain({"op": "outcomes", "nonce": "", "outcomes": []})))
        time.sleep(0.01)
threading.Thread(target=flood, daemon=True).start()
time.sleep(0.1)
""",
            softmax=SAME,
            points=without("softmax"),
            states=NOTICED,
            at_most=True,
        ),
    ]
