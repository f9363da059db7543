"""What the tests of checks share: an answer judged as a notebook judges it, students' cells, a lab's folder."""

import itertools
import linecache
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course_lib.checks import labs
from course_lib.checks.cases import RECORDS, Case
from course_lib.checks.definition import Lab
from course_lib.checks.judging import CaseResult, judge_case
from course_lib.checks.perform import ask_here
from course_lib.checks.values import dumps, loads

CHECKS = '''
"""Two checks and an answer in words."""
import numpy as np
from course_lib.checks import Lab, case, rounding, typed

lab = Lab("lab_small", "A small lab", minutes=5)

@lab.check(points=4, target="double(x) -> y", hints=["Look at the factor.", "And at the sign."], minutes=2)
def double(draw):
    """Twice an array."""
    x = draw.normal(3, 5)
    yield case("drawn numbers", (x,), expect=2 * x, bound=rounding(1))
    yield case("large and negative", (x - 900,), expect=2 * (x - 900), bound=rounding(1, 2000), hint="Minus counts.")
    yield case("ones", (np.ones(7),), expect=np.full(7, 2.0))
    yield case("no axis", (np.array(-3.5),), expect=-7.0)

@lab.check(points=2, target="total", needs=["double"])
def by_hand(draw):
    """A number worked out by hand."""
    yield typed("the total", 918273, hint="Add them up.")

lab.written("why", {"names the ragged tail": 1, "gives its cost": 2})
'''

HIDDEN = """
from course_lib.checks import case, rounding

from .checks import lab

@lab.hidden("double")
def more(draw):
    x = draw.normal(11)
    yield case("a hidden ragged tail", (x,), expect=2 * x, bound=rounding(1))
"""

NOTEBOOK = """
# %% [markdown]
# # A small lab

# %%
from course_lib.checks import lab

check = lab("lab_small")

# %%
def double(x):
    return 2 * x

# %%
check.double(double)

# %%
total = 918273

# %%
check.by_hand(total)
"""

FORGETS_THE_SIGN = '''
"""Doubles the size and
forgets the sign."""
replaces = ["double"]
loses = {"double": 3.2}

def double(x):
    return abs(2 * x)
'''


@pytest.fixture(scope="session")
def judged() -> Callable[..., CaseResult]:
    """judged(case, *answers): the case's result, everything sent as data both ways, as in a notebook."""

    def judge(case: Case, *targets: Any, provides: tuple = (), refuses: tuple = ()) -> CaseResult:
        sent = loads(dumps(case, RECORDS), RECORDS)
        return judge_case(sent, lambda steps: ask_here(steps, targets, provides, refuses))

    return judge


@pytest.fixture(scope="session")
def cell() -> Callable[..., dict]:
    """cell(code, **names): what a notebook's cell defines."""
    numbers = itertools.count()

    def run(code: str, **names: Any) -> dict:
        path, code = f"<cell {next(numbers)}>", textwrap.dedent(code).lstrip("\n")
        linecache.cache[path] = (len(code), None, code.splitlines(keepends=True), path)
        namespace = {"__name__": "__main__", **names}
        exec(compile(code, path, "exec"), namespace)
        return namespace

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An author's folder with a small lab in it, which the test may spoil."""
    folder = tmp_path / "lab_small"
    files = {
        "checks.py": CHECKS,
        "hidden.py": HIDDEN,
        "lab_small.py": NOTEBOOK,
        "known_wrong/forgets_the_sign.py": FORGETS_THE_SIGN,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip("\n"), encoding="utf-8")
    return folder


@pytest.fixture
def small_lab(folder: Path) -> Lab:
    """The lab of `folder`."""
    return labs.load(folder)
