# %% [markdown]
# # Asserts of old
#
# <!-- badges -->
#
# A lab for graders. Nobody is taught with it.

# %% tags=["setup"]
# Makes the course's library available.

# %%
import numpy as np

from course_lib.checks import lab

check = lab("lab98_legacy")

# %% [markdown]
# ## 1. Weights
#
# Numbers that add up to 1, in proportion to `x`.


# %%
def weights(x):
    """Shares of a whole."""
    ### BEGIN SOLUTION
    return np.asarray(x) / np.sum(x)
    ### END SOLUTION


# %% asserts="old_weights"
np.testing.assert_allclose(weights([1, 3]), [0.25, 0.75])
assert abs(weights([2, 2, 4]).sum() - 1.0) < 1e-9
for n in range(1, 4):
    assert weights([1] * n).shape == (n,)

# %% [markdown]
# ## 2. Primes
#
# The n-th prime, from 2.


# %%
def prime(n):
    """2, 3, 5, …"""
    ### BEGIN SOLUTION
    found, number = [], 2
    while len(found) <= n:
        if all(number % other for other in found if other * other <= number):
            found.append(number)
        number += 1
    return found[n]
    ### END SOLUTION


# %% asserts="old_prime"
assert prime(0) == 2, "the first prime"
assert prime(4) == 11
### BEGIN HIDDEN TESTS
assert prime(1500) == 12569
assert [prime(n) for n in range(3)] == [2, 3, 5]
### END HIDDEN TESTS

# %% [markdown]
# ## 3. A stack


# %%
class Stack:
    """What was pushed last comes first."""

    ### BEGIN SOLUTION
    def __init__(self):
        self.things = []

    def push(self, thing):
        self.things.append(thing)

    def pop(self):
        return self.things.pop()

    ### END SOLUTION


# %% asserts="old_stack"
stack = Stack()
for thing in ("a", "b", "c"):
    stack.push(thing)
first = stack.pop()
second = stack.pop()
assert first == "c"
assert second == "b"
assert stack.pop() == "a"
del stack

# %% [markdown]
# ## 4. Twice


# %%
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


# %%
check.double(double)
