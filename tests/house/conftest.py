"""A course in a temporary folder: one lecture, one lab with every kind of cell, and what else the house expects.

It is small enough to be generated anew in each test that spoils it. A processor that rounds otherwise than this one is
imitated by the environment's LAST_BITS, a relative error in the lab's expected numbers.
"""

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from course_lib.house import sync

ROOT = Path(__file__).parents[2]

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "course-lib"
version = "0"
dependencies = ["numpy"]

[project.optional-dependencies]
lab = ["jupyterlab"]
grade = ["nbgrader"]
test = ["pytest"]

[project.scripts]
course = "course_lib.house.cli:main"
autograder = "autograder.cli:main"

[tool.course]
repository = ""
branch = "main"

[tool.hatch.build.targets.wheel]
packages = ["course_lib", "autograder"]
"""

README = """
# A small course

<!-- badges -->

Read it.

<!-- instructors -->
Grade it with `autograder`.
<!-- /instructors -->

## Licence
"""

LECTURE = """
# %% [markdown]
# # A small lecture · ½
#
# <!-- badges -->

# %% tags=["setup"]
# Written by `course sync`.

# %% [markdown]
# ## Sums
#
# Add $1 + 1$.

# %%
1 + 1

# %% [markdown]
# ## Sums again

# %%
1 + 1
"""

CHECKS = '''
"""Two checks and an answer in words."""
import os

import numpy as np
from course_lib.checks import Lab, case, rounding

lab = Lab("lab_small", "A small lab · ½", minutes=5)
LAST_BITS = float(os.environ.get("LAST_BITS", 0))

@lab.check(points=4, target="double(x) -> y", minutes=2)
def double(draw):
    """Twice an array."""
    x = draw.normal(3, 5, dtype="float64")
    yield case("drawn numbers", (x,), expect=2 * x * (1 + LAST_BITS), bound=rounding(1), hint="Add x to itself.")
    yield case("ones", (np.ones(7),), expect=np.full(7, 2.0))

@lab.check(points=2.5, target="total(numbers) -> sum", needs=["double"])
def total(draw):
    """The sum of a list."""
    yield case("three numbers", ([1, 2, 4],), expect=7)
    yield case("none at all", ([],), expect=0)

lab.written("why", {"names the ragged tail": 1, "gives what it costs": 2})
'''

HIDDEN = """
from course_lib.checks import case, rounding

from .checks import lab

@lab.hidden("double")
def more(draw):
    x = draw.normal(11, dtype="float64")
    yield case("a ragged tail", (x,), expect=2 * x, bound=rounding(1))
"""

NOTEBOOK = """
# %% [markdown]
# # A small lab · ½
#
# <!-- badges -->

# %% tags=["setup"]
# Written by `course sync`.

# %%
from course_lib.checks import lab

check = lab("lab_small")

# %% [markdown]
# ## 1. Twice


# %%
def double(x):
    \"\"\"Twice x.\"\"\"
    ### BEGIN SOLUTION
    twice_as_much = x + x
    return twice_as_much
    ### END SOLUTION


# %%
check.double(double)

# %% [markdown]
# ## 2. Three numbers, or none


# %%
def total(numbers):
    \"\"\"The sum of a list, which may be empty.\"\"\"
    ### BEGIN SOLUTION
    return sum(numbers, start=0)
    ### END SOLUTION
    ### BEGIN GIVEN
    # first, *rest = numbers
    # return sum(rest, start=first)
    ### END GIVEN


# %%
check.total(total)

# %% [markdown]
# ## 3. In words

# %% [markdown] written="why"
# The last block is shorter than the others.

# %%
check.progress()
"""

FORGETS_THE_SIGN = '''
"""Doubles the size and forgets the sign."""

replaces = ["double"]
loses = {"double": 2.67}


def double(x):
    magnitude_only = abs(2 * x)
    return magnitude_only
'''

FILES = {
    "pyproject.toml": PYPROJECT,
    "README.md": README,
    "Makefile": "help: ## list these targets\n",
    "figures/small.svg": "<svg/>\n",
    "lectures/00_small.py": LECTURE,
    "solutions/lab_small/lab_small.py": NOTEBOOK,
    "solutions/lab_small/checks.py": CHECKS,
    "solutions/lab_small/hidden.py": HIDDEN,
    "solutions/lab_small/known_wrong/forgets_the_sign.py": FORGETS_THE_SIGN,
}
PRODUCTS = (
    "lectures/00_small.ipynb",
    "labs/lab_small/lab_small.ipynb",
    "course_lib/checks/cases/lab_small.json",
)


@pytest.fixture(scope="session")
def generated_course(tmp_path_factory) -> Path:
    """The small course with its generated files. No test may change it."""
    root = tmp_path_factory.mktemp("generated")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.lstrip("\n"), encoding="utf-8", newline="\n")
    assert sync.run(root) == len(PRODUCTS)
    return root


@pytest.fixture
def course(generated_course, tmp_path) -> Path:
    """A copy of the generated course, which the test may spoil."""
    return Path(shutil.copytree(generated_course, tmp_path / "course"))


@pytest.fixture
def publish() -> Callable[..., None]:
    """publish(root, repository, branch): says in the pyproject.toml of `root` where the course is published."""

    def say(root: Path, repository: str, branch: str = "main") -> None:
        path = root / "pyproject.toml"
        text = re.sub(r'^repository = ".*"$', f'repository = "{repository}"', path.read_text("utf-8"), flags=re.M)
        path.write_text(re.sub(r'^branch = ".*"$', f'branch = "{branch}"', text, flags=re.M), encoding="utf-8")

    return say


@pytest.fixture
def edit() -> Callable[..., None]:
    """edit(path, old, new): replaces a text that stands in a file exactly once."""

    def replace(path: Path, old: str, new: str) -> None:
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")

    return replace


@pytest.fixture(scope="session")
def contents() -> Callable[..., dict[str, bytes]]:
    """contents(folder, names): what is in these files of a folder, by default in all of them."""

    def read(folder: Path, names: Iterable[str] | None = None) -> dict[str, bytes]:
        paths = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
        return {name: (folder / name).read_bytes() for name in (paths if names is None else names)}

    return read
