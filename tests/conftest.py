"""What every test shares: the array libraries as one fixture, shapes checked while tests run, no test quietly left out.

`xp` runs a test once for each array library a mechanism must serve: NumPy, torch, array-api-strict (which has nothing
beyond the standard and says no to everything else) and, where there is one, torch on a GPU. The mechanisms are imported
under jaxtyping's hook, so that a shape that contradicts its annotation fails the test; a test of our own error messages
takes the fixture `unchecked`, or it would see jaxtyping's message first. Where the environment sets CI, a skipped test
is a failure unless it is marked `gpu`.
"""

import os
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jaxtyping
import numpy as np
import pytest
from hypothesis import settings

MECHANISMS = (
    "arrays",
    "tokenization",
    "positions",
    "attention",
    "cache",
    "costs",
    "decoding",
    "speculation",
    "ssm",
    "models",
)

# The tower of PEP 484 lets an int stand for a float, as every other type checker does.
jaxtyping.install_import_hook(
    [f"course_lib.{name}" for name in MECHANISMS],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

# The same examples on every machine, and no deadline: a slow computer is not a wrong one.
settings.register_profile("course", derandomize=True, database=None, max_examples=25, deadline=None)
settings.load_profile("course")


@dataclass(frozen=True)
class Library:
    """One array library on one device, as a test needs it. `namespace` follows the array API standard."""

    name: str
    namespace: ModuleType
    device: Any = None

    def dtype(self, name: str) -> Any:
        """The library's own object for a dtype, "float32" for example."""
        return getattr(self.namespace, name)

    @property
    def floats(self) -> list[str]:
        """The names of the real floating dtypes it has."""
        return [name for name in ("float64", "float32", "float16", "bfloat16") if hasattr(self.namespace, name)]

    def eps(self, dtype: str) -> float:
        """The distance from 1 to the next number of a floating dtype."""
        return float(self.namespace.finfo(self.dtype(dtype)).eps)

    def tiny(self, dtype: str) -> float:
        """The smallest number that a floating dtype holds in full precision."""
        return float(self.namespace.finfo(self.dtype(dtype)).smallest_normal)

    def array(self, values: Any, dtype: str = "float32") -> Any:
        """`values` (numbers, lists or a NumPy array) as this library's array."""
        return self.namespace.asarray(np.array(values), dtype=self.dtype(dtype), device=self.device)

    def numpy(self, x: Any) -> np.ndarray:
        """`x` in NumPy, after the check that it belongs to this library; bfloat16, which NumPy lacks, as float32."""
        assert isinstance(x, (type(self.array(0.0)), np.generic if self.name == "numpy" else ())), (
            f"{type(x)} is not an array of {self.name}"
        )
        if hasattr(x, "detach"):
            assert x.device.type == (self.device or "cpu")
            x = x.detach().cpu()
            x = x.float() if str(x.dtype) == "torch.bfloat16" else x
        return np.asarray(x)


def _libraries() -> list[Library]:
    import array_api_compat.numpy
    import array_api_compat.torch
    import array_api_strict
    import torch

    found = [
        Library("numpy", array_api_compat.numpy),
        Library("torch", array_api_compat.torch),
        Library("array-api-strict", array_api_strict),
    ]
    return [*found, Library("torch-cuda", array_api_compat.torch, "cuda")] if torch.cuda.is_available() else found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # Here and not in a fixture's parameters: only a run that needs the libraries pays for importing them.
    if "xp" in metafunc.fixturenames:
        metafunc.parametrize("xp", _libraries(), ids=lambda library: library.name, scope="session")


@pytest.fixture
def unchecked():
    """Switches the checking of annotations off, so that a test sees the library's own error."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device; skipped where there is none, in CI too")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a GPU")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    expected = hasattr(report, "wasxfail") or item.get_closest_marker("gpu")
    return report if expected else _no_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    return _no_skip((yield))


def _no_skip(report):
    """In CI a skipped test, or file of tests, is one that nobody runs: it fails and says what was missing."""
    if report.skipped and os.environ.get("CI"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{report.nodeid} was left out in CI ({reason})"
    return report


@pytest.fixture(scope="session")
def graded(tmp_path_factory):
    """One nbgrader round for all who need it: ten notebooks, released, handed in and autograded."""
    from tests.autograder.nbgrader_round import graded_round  # nbgrader takes seconds to import

    with graded_round(tmp_path_factory.mktemp("nbgrader")) as found:
        yield found
