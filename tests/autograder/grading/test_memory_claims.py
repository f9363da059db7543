"""A check that claims little memory: attention over 8,192 tokens, which makes an n×n matrix or does not.

The matrix takes 256 MiB, the claim is 64. Every level holds it, in NumPy and in torch, and it binds nothing but the check.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import pytest

from autograder.evidence import Verdict
from autograder.grading.judge import Cell, Judged, Limits, judge_notebook
from autograder.grading.pool import Zygote
from autograder.sandbox import NOBODY, probe
from course_lib.checks import Draw, Lab, call, case, rounding, script
from course_lib.checks.cases import Case
from course_lib.house.release import checked
from tests.autograder.sandbox.boxes import WITHOUT, other_process

N, WIDTH, CLAIM = 8192, 16, 64 << 20
LIMITS = Limits(cell=60, notebook=300, check=60)
LEVELS = [
    ("as we are", "best"),
    ("as nobody", "best"),
    pytest.param("as nobody", "without namespaces", marks=pytest.mark.slow),
    pytest.param("as nobody", "bare", marks=pytest.mark.slow),
    pytest.param("as we are", "without namespaces", marks=pytest.mark.slow),
]

lab = Lab("lab98_little_memory", "Attention in little memory", minutes=5)


def attention_case(name: str, n: int, values: np.ndarray) -> Case:
    """Queries that prefer no key: each row of the result is the mean of the values."""
    flat = np.zeros((n, WIDTH), np.float32)
    expect = np.tile(values.mean(0), (n, 1))
    return case(name, (flat, flat, values), expect=expect, bound=rounding(4 * n, dtype="float32"), unchanged=False)


@lab.check(points=2, target="attention(q, k, v) -> o", memory=CLAIM)
def attention(draw: Draw) -> Iterator[Case]:
    """Attention, in at most 64 MiB."""
    yield attention_case("a few tokens", 64, draw.normal(64, WIDTH, dtype="float32"))


@lab.hidden("attention")
def more_attention(draw: Draw) -> Iterator[Case]:
    yield attention_case("many tokens", N, draw.normal(N, WIDTH, dtype="float32"))


@lab.check(points=1, target="hold(n) -> int", memory=CLAIM)
def hold(draw: Draw) -> Iterator[Case]:
    """Bytes that are held on to, in several cases, seen and hidden."""
    yield script("a little, twice", call(0, 1 << 20, expect=1 << 20), call(0, 1 << 20, expect=1 << 20))


@lab.hidden("hold")
def more_hold(draw: Draw) -> Iterator[Case]:
    yield case("much", (40 << 20,), expect=40 << 20)
    yield case("as much again", (40 << 20,), expect=40 << 20)


@lab.check(points=1, target="size")
def size(draw: Draw) -> Iterator[Case]:
    """What the rest of the notebook could allocate."""
    yield case("half a gibibyte", expect=1 << 29)


NUMPY = """
def attention(q, k, v, tile={tile}):
    out = np.empty_like(v)
    for i in range(0, len(q), tile):
        scores = q[i : i + tile] @ k.T
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out[i : i + tile] = weights / weights.sum(-1, keepdims=True) @ v
    return out
"""
TORCH = """
import torch
def attention(q, k, v, tile={tile}):
    q, k, v = map(torch.from_numpy, (q, k, v))
    return torch.cat([torch.softmax(q[i : i + tile] @ k.T, -1) @ v for i in range(0, len(q), tile)]).numpy()
"""
HOLD = """
kept = []
def hold(n):
    kept.append(np.ones(n, np.uint8))
    return int(kept[-1].sum())
"""
SIZE = """
rest = np.empty(2**26)
def size():
    return rest.nbytes
"""
FIRST = "import numpy as np\nfrom course_lib.checks import lab\ncheck = lab('lab98_little_memory')"
CHECKS = {"attention": "check.attention(attention)", "hold": "check.hold(hold)", "size": "check.size(size)"}

NOTEBOOKS = {
    "naive, numpy": [NUMPY.format(tile=N)],
    "tiled, numpy": [NUMPY.format(tile=128)],
    "naive, torch": [TORCH.format(tile=N)],
    "tiled, torch": [TORCH.format(tile=128)],
}
NAIVE = NUMPY.format(tile=N)
MORE = {
    "holds a gibibyte": [f"held = np.empty({1 << 27})", NUMPY.format(tile=128)],
    "raises it by itself": ["def attention(q, k, v):\n    raise MemoryError('so I say')"],
    "is a class that raises it": [
        "class attention:\n    def __init__(self, *given):\n        raise type('MemoryError', (Exception,), {})()"
    ],
    "lifts the limit": [
        NAIVE.replace(
            "    out =",
            "    import resource\n    try: resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\n"
            "    except ValueError: print('refused')\n    out =",
        )
    ],
    "asks a child": [
        NAIVE.replace("def attention", "def naive")
        + "\ndef attention(q, k, v):\n    import os\n    if os.fork() == 0:\n        try: naive(q, k, v)\n"
        "        except MemoryError: os._exit(3)\n        os._exit(0)\n"
        "    raise ValueError(f'the child ended with {os.waitstatus_to_exitcode(os.wait()[1])}')"
    ],
    "is aborted": [
        "def attention(q, k, v):\n    import os\n    if len(q) > 64: os.abort()\n    return np.tile(v.mean(0), (64, 1))"
    ],
    "crashes when it is seen": ["def attention(q, k, v):\n    import os\n    os.abort()"],
    "has a buffer ready": [
        f"room = np.empty(({N}, {N}), np.float32)",
        "def attention(q, k, v):\n    scores = room[: len(q), : len(q)]\n    np.matmul(q, k.T, out=scores)\n"
        "    np.exp(scores, out=scores)\n    return scores @ v / scores.sum(-1, keepdims=True)",
    ],
}


def judged(notebooks: Mapping[str, list[str]], without: tuple[str, ...] = ()) -> dict[str, dict]:
    """What each notebook's checks give: points, verdict, what was said of the first case that failed, and what was shown."""
    found = {}
    with Zygote(lab, probe(without), imports=("torch",)) as zygote:
        for name, cells in notebooks.items():
            whole = [FIRST, *cells, CHECKS["attention"], HOLD, CHECKS["hold"], SIZE, CHECKS["size"]]
            found[name] = told(judge(zygote, whole))
    return found


def judge(zygote: Zygote, sources: list[str]) -> Judged:
    cells = [Cell(i, f"check_{name}" if (name := checked(text)) else "", text) for i, text in enumerate(sources)]
    folder = tempfile.mkdtemp()
    if zygote.uid is not None:
        os.chown(folder, NOBODY, NOBODY)
    try:
        return judge_notebook(zygote, lab, cells, folder, 3, LIMITS)
    finally:
        shutil.rmtree(folder)


def told(one: Judged) -> dict:
    said = [case.said for case in one.checks["attention"].cases if not case.passed]
    scores = {name: check.score for name, check in one.checks.items()}
    return {"scores": scores, "verdict": one.checks["attention"].verdict, "said": said, "shown": repr(one.outputs)}


@cache
def at(user: str, level: str) -> dict[str, dict]:
    """What comes of the four notebooks at a level; at the best one that this machine gives, of the others too."""
    best = (user, level) == LEVELS[0]
    return other_process(user, lambda: judged(NOTEBOOKS | (MORE if best else {}), WITHOUT[level]), seconds=300)


def more() -> dict[str, dict]:
    return at(*LEVELS[0])


@pytest.mark.parametrize(("user", "level"), LEVELS)
def test_attention_that_makes_the_matrix_loses_the_large_case_and_tiled_attention_passes(user: str, level: str):
    found = at(user, level)
    for library, words in (("numpy", "raises MemoryError"), ("torch", "raises RuntimeError")):
        naive, tiled = found[f"naive, {library}"], found[f"tiled, {library}"]
        assert tiled["scores"] == {"attention": 2, "hold": 1, "size": 1}, tiled["said"]
        assert naive["scores"] == {"attention": 1, "hold": 1, "size": 1}, naive["said"]
        assert len(naive["said"]) == 1
        assert naive["said"][0].startswith(words)
        assert "needs more memory than this check allows, 64 MiB beyond its inputs" in naive["said"][0]
        assert "many tokens" not in naive["shown"]


def test_what_a_notebook_holds_does_not_count_and_the_rest_of_it_is_not_held_back():
    """Each notebook allocates half a gibibyte below two such checks, and each case is given the claim anew."""
    assert more()["holds a gibibyte"]["scores"] == {"attention": 2, "hold": 1, "size": 1}
    assert {
        name for name, found in more().items() if (found["scores"]["hold"], found["scores"]["size"]) != (1, 1)
    } == set()


def test_an_error_of_ones_own_is_an_answer_like_any_other():
    for name in ("raises it by itself", "is a class that raises it"):
        found = more()[name]
        assert (found["scores"]["attention"], found["verdict"]) == (0, Verdict.JUDGED)
        assert "raises MemoryError" in found["said"][0]


def test_the_limit_can_be_neither_lifted_nor_left_to_a_child():
    assert more()["lifts the limit"]["scores"]["attention"] == 1
    assert more()["asks a child"]["scores"]["attention"] == 0
    assert "the child ended with 3" in more()["asks a child"]["said"][-1]


def test_what_dies_under_a_claim_costs_its_check_alone():
    for name in ("is aborted", "crashes when it is seen"):
        assert (more()[name]["scores"]["attention"], more()[name]["verdict"]) == (0, Verdict.CRASHED)


def test_a_buffer_that_an_earlier_cell_mapped_is_not_seen():
    """Known, and said in `autograder.grading.claims`: it takes intent, and shows in the notebook."""
    assert more()["has a buffer ready"]["scores"]["attention"] == 2
