"""A small torch lab: whatever an honest tensor looks like and however it was made, it gets its points or a clear word."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from autograder.evidence import Verdict
from autograder.grading.judge import Cell, Judged, Limits, judge_notebook
from autograder.grading.pool import Zygote
from autograder.sandbox import NOBODY, probe
from course_lib.checks import Draw, Lab, case, rounding
from course_lib.checks.cases import Case, Close
from course_lib.checks.values import Tensor

lab = Lab("lab98_torch", "Tensors", minutes=1)


def product(draw: Draw, name: str, n: int, dtype: str = "float32") -> Case:
    """x @ w for tensors of n rows."""
    x, w = draw.normal(n, 8), draw.normal(8, 4)
    expect = Close(Tensor(x @ w, "float32"), rounding(8, scale=16), dtype=dtype if dtype != "float32" else None)
    if dtype == "bfloat16":
        x, w = (np.round(array * 4) / 4 for array in (x, w))  # which bfloat16 holds exactly
        expect = Close(Tensor(x @ w, dtype), rounding(8, scale=2**14, dtype="float32"), dtype=dtype)
    return case(name, (Tensor(x, dtype), Tensor(w, dtype)), expect=expect)


@lab.check(points=4, target="linear(x, w) -> y")
def linear(draw: Draw) -> Iterator[Case]:
    """The rows of x times w."""
    yield product(draw, "three rows", 3)
    yield product(draw, "bfloat16", 2, "bfloat16")


@lab.hidden("linear")
def more_of_linear(draw: Draw) -> Iterator[Case]:
    yield product(draw, "many rows", 256)
    yield product(draw, "other rows in bfloat16", 5, "bfloat16")


@lab.check(points=2, target="slope(x) -> gradient")
def slope(draw: Draw) -> Iterator[Case]:
    """The gradient of Σ x³."""
    x = draw.normal(5)
    yield case("a vector", (Tensor(x, "float32"),), expect=Close(Tensor(3 * x**2, "float32"), rounding(3, scale=16)))


@lab.hidden("slope")
def more_of_slope(draw: Draw) -> Iterator[Case]:
    x = draw.normal(3, 4)
    yield case("a matrix", (Tensor(x, "float32"),), expect=Close(Tensor(3 * x**2, "float32"), rounding(3, scale=16)))


START = "import torch\n\nfrom course_lib.checks import lab\n\ncheck = lab('lab98_torch')"
LINEAR = "def linear(x, w):\n    return x @ w"
SLOPE = "def slope(x):\n    x.requires_grad_(True)\n    (x**3).sum().backward()\n    return x.grad"
PARALLEL = "a = torch.rand(1500, 1500)\n(a @ a).sin().sum().item()\n"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(lab, probe(), imports=("torch",)) as started:
        yield started


@pytest.fixture(scope="module")
def run(zygote) -> Callable[..., Judged]:
    def judged(linear: str = LINEAR, slope: str = SLOPE, first: str = "", check: float = 20) -> Judged:
        sources = [START, first, linear, "check.linear(linear)", slope, "check.slope(slope)"]
        names = ["", "", "linear", "check_linear", "slope", "check_slope"]
        cells = [Cell(i, name, source) for i, (name, source) in enumerate(zip(names, sources, strict=True))]
        folder = tempfile.mkdtemp()
        if zygote.uid is not None:
            os.chown(folder, NOBODY, NOBODY)
        try:
            return judge_notebook(zygote, lab, cells, folder, 5, Limits(cell=30, notebook=120, check=check))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return judged


def said(judged: Judged, check: str = "linear") -> str:
    """What was wrong with the first case that failed."""
    return next(case.said for case in judged.checks[check].cases if not case.passed)


@pytest.mark.parametrize(
    "linear",
    [
        LINEAR,
        "def linear(x, w):\n    return torch.nn.functional.linear(x, w.T)",
        "def linear(x, w):\n    return (w.T @ x.T).T",
        "def linear(x, w):\n    return torch.stack([row @ w for row in x])",
        "def linear(x, w):\n    return torch.nn.Parameter(x @ w)",
        "def linear(x, w):\n    return torch.stack([x @ w, x @ w], dim=-1)[..., 0]",
        "def linear(x, w):\n    torch.set_num_threads(2)\n    return x @ w",
        "def linear(x, w):\n    return torch.einsum('ij,jk->ik', x, w)",
        "def linear(x, w):\n    with torch.inference_mode():\n        return x @ w",
        "def linear(x, w):\n    return x.to('cuda' if torch.cuda.is_available() else 'cpu') @ w",
    ],
    ids=[
        "plain",
        "functional",
        "transposed",
        "stacked",
        "a parameter",
        "strided",
        "threads",
        "einsum",
        "inference",
        "device",
    ],
)
def test_a_right_tensor_earns_everything_however_it_was_made(run, linear):
    judged = run(linear=linear)
    assert {name: check.score for name, check in judged.checks.items()} == {"linear": 4, "slope": 2}, judged.checks
    assert not judged.lost


@pytest.mark.parametrize(
    "slope",
    [
        SLOPE,
        "def slope(x):\n    x = x.clone().requires_grad_()\n    return torch.autograd.grad((x**3).sum(), x)[0]",
        "def slope(x):\n    return torch.func.grad(lambda x: (x**3).sum())(x)",
        "def slope(x):\n    return 3 * x**2",
    ],
    ids=["backward", "autograd.grad", "func.grad", "by hand"],
)
def test_gradients_are_computed_in_sealed_copies_too(run, slope):
    judged = run(slope=slope)
    assert judged.checks["slope"].score == 2, judged.checks["slope"]
    assert [case.hidden for case in judged.checks["slope"].cases] == [False, True]


@pytest.mark.parametrize(
    "first",
    [
        f"torch.set_num_threads(2)\n{PARALLEL}",
        "torch.set_num_threads(4)\nmodel = torch.nn.Linear(400, 400)\nmodel(torch.rand(800, 400)).sum().backward()",
        f"import numpy as np\nb = np.random.rand(600, 600)\n(b @ b).sum()\n{PARALLEL}",
    ],
    ids=["a product", "backward", "NumPy and torch"],
)
def test_a_notebook_that_asks_for_threads_does_not_stop_its_copies(run, first):
    lines = "\n    ".join(["torch.set_num_threads(2)", *PARALLEL.splitlines(), "return x @ w"])
    judged = run(linear=f"def linear(x, w):\n    {lines}", first=first)
    assert judged.checks["linear"].verdict is Verdict.JUDGED
    assert judged.checks["linear"].score == 4
    assert judged.checks["slope"].score == 2


def test_a_data_loader_with_workers_gives_its_batches(run):
    first = (
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "data = TensorDataset(torch.arange(6.0))\n"
        "loader = DataLoader(data, batch_size=2, num_workers=2, persistent_workers=True, prefetch_factor=2)\n"
        "print([batch[0].tolist() for batch in loader])"
    )
    judged = run(first=first)
    assert "[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]" in repr(judged.outputs[1]), judged.outputs[1]
    assert judged.checks["linear"].score == 4


@pytest.mark.parametrize(
    ("linear", "words"),
    [
        ("def linear(x, w):\n    return (x @ w).to('meta')", "a meta tensor"),
        ("def linear(x, w):\n    return (x @ w).numpy()", "torch tensor"),
        ("def linear(x, w):\n    return (x @ w).double()", "dtype float64"),
        ("def linear(x, w):\n    return (x @ w).to_sparse()", "a sparse tensor"),
        (
            "def linear(x, w):\n    return torch.quantize_per_tensor((x @ w).float(), 0.1, 0, torch.qint8)",
            "a quantised tensor",
        ),
        ("def linear(x, w):\n    return x", "shape"),
        ("def linear(x, w):\n    raise RuntimeError('no idea')", "no idea"),
        ("def linear(x, w):\n    return torch.nn.Linear(8, 4)", "Linear"),
        ("def linear(x, w):\n    return x @ w.T", "mat1"),
        ("def linear(x, w):\n    return torch.compile", "function"),
    ],
    ids=[
        "meta",
        "NumPy",
        "float64",
        "sparse",
        "quantised",
        "a shape",
        "an error",
        "a module",
        "a mismatch",
        "a function",
    ],
)
def test_a_wrong_tensor_is_told_what_is_wrong_with_it(run, linear, words):
    judged = run(linear=linear)
    assert judged.checks["linear"].verdict is Verdict.JUDGED
    assert judged.checks["linear"].score <= 2
    assert words in said(judged)
    assert judged.checks["slope"].score == 2


def test_a_share_is_earned_by_a_tensor_that_is_right_in_one_dtype_only(run):
    judged = run(linear="def linear(x, w):\n    return x.float() @ w.float()")
    assert judged.checks["linear"].score == 2
    assert "dtype float32, expected bfloat16" in said(judged)
