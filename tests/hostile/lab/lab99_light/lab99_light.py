# %% [markdown]
# # Six small things
#
# <!-- badges -->
#
# A lab for graders. Nobody is taught with it.

# %% tags=["setup"]
# Makes the course's library available.

# %%
import matplotlib.pyplot as plt
import numpy as np

from course_lib.checks import lab

plt.rcParams["figure.dpi"] = 50
check = lab("lab99_light")

# %% [markdown]
# ## 1. Weights
#
# The softmax of `x` along its last axis.


# %%
def softmax(x):
    """Weights that are positive and add up to 1."""
    ### BEGIN SOLUTION
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)
    ### END SOLUTION


# %%
check.softmax(softmax)

# %% [markdown]
# ## 2. Pairs
#
# How many pairs n things make. A negative n is a `ValueError`.


# %%
def pairs(n):
    """n things, two at a time."""
    ### BEGIN SOLUTION
    if n < 0:
        raise ValueError(f"n is {n}, needs to be at least 0")
    return n * (n - 1) // 2
    ### END SOLUTION


# %%
check.pairs(pairs)

# %% [markdown]
# ## 3. Nearly the same
#
# Whether no two entries differ by more than 1e-6.


# %%
def nearly(a, b):
    """True or False."""
    ### BEGIN SOLUTION
    return bool(np.all(np.abs(a - b) <= 1e-6))
    ### END SOLUTION


# %%
check.nearly(nearly)

# %% [markdown]
# ## 4. By hand
#
# How many seconds does a leap year have?

# %%
### BEGIN SOLUTION
seconds = 31_622_400
### END SOLUTION
### BEGIN GIVEN
# seconds = None  # your number, in place of None
### END GIVEN

# %%
check.by_hand(seconds)

# %% [markdown]
# ## 5. A tally
#
# Numbers are added one by one; `total()` is their sum so far.


# %%
class Tally:
    """A sum that grows."""

    ### BEGIN SOLUTION
    def __init__(self):
        self.numbers = []

    def add(self, number):
        self.numbers.append(number)

    def total(self):
        return sum(self.numbers)

    ### END SOLUTION


# %%
check.tally(Tally)

# %% [markdown]
# ## 6. A chain
#
# `start`, and what `step` makes of it, n times over: a list of n + 1 numbers.


# %%
def follow(step, start, n):
    """[start, step(start), step(step(start)), …]"""
    ### BEGIN SOLUTION
    numbers = [start]
    for _ in range(n):
        numbers.append(step(numbers[-1]))
    return numbers
    ### END SOLUTION


# %%
check.follow(follow)
