"""The small course of the house's tests with a private overlay, and notebooks as students of it hand them in."""

from pathlib import Path
from typing import Any

from course_lib.house import sync
from tests.house.conftest import FILES

LAB = "lab_small"

OVERLAY = '''
from course_lib.checks import case

from .checks import lab
from .words import LONGER


@lab.personal
def numbers(draw):
    return {"n": draw.integers(1000, 9000)}


@lab.hidden("double")
def mine(draw):
    yield case("a number that is nobody else's", (draw.mine["n"],), expect=2 * draw.mine["n"])


@lab.variant("total", "times", target="total(numbers) -> n times the sum")
def total_times(draw):
    """The sum of a list, many times over."""
    yield case("three numbers, each many times", ([1, 2, 4],), expect=7 * draw.mine["n"])
    yield case("none at all", ([],), expect=0)


@lab.hidden("total", variant="times")
def total_times_longer(draw):
    numbers = draw.integers(0, 50, 6).tolist()
    yield case(LONGER, (numbers,), expect=sum(numbers) * draw.mine["n"])


@lab.variant("total", "squares", target="total(numbers) -> sum of squares")
def total_squares(draw):
    """The sum of the squares of a list."""
    yield case("three squares", ([1, 2, 4],), expect=21)
    yield case("none at all", ([],), expect=0)
'''
WORDS = 'LONGER = "a list that is longer than any shown"\n'
TIMES = '''
# %% [markdown]
# ## 2. Three numbers, {{n}} times, or none

# %%
def total(numbers):
    """{{n}} times the sum of a list, which may be empty."""
    ### BEGIN SOLUTION
    taken_many_times = sum(numbers) * {{n}}
    return taken_many_times
    ### END SOLUTION

# %%
check.total(total)
'''
SQUARES = '''
# %% [markdown]
# ## 2. Three squares, or none

# %%
def total(numbers):
    """The sum of the squares of a list, which may be empty."""
    ### BEGIN SOLUTION
    sum_of_squares = sum(number * number for number in numbers)
    return sum_of_squares
    ### END SOLUTION
    ### BEGIN GIVEN
    # first, *rest = numbers
    # return sum(number * number for number in rest)
    ### END GIVEN

# %%
check.total(total)
'''
OVERLAID = {
    "overlay.py": OVERLAY,
    "words.py": WORDS,
    "variants/total/times.py": TIMES,
    "variants/total/squares.py": SQUARES,
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip("\n"), encoding="utf-8", newline="\n")
    return folder


def repository(root: Path) -> Path:
    """The small course, generated, with its folder of labs at `root`/solutions."""
    write(root, FILES)
    sync.run(root)
    return root / "solutions" / LAB


def solved(folder: Path) -> Any:
    """The author's notebook of a lab, as it is now: a right answer of everything."""
    return sync.marked_notebook(folder.parents[1], folder)[1]
