# %% [markdown]
# # Twelve small things
#
# <!-- badges -->
#
# A lab for measuring graders. Nobody is taught with it.

# %% tags=["setup"]
# Makes the course's library available.

# %%
import numpy as xp

from course_lib.checks import lab

check = lab("light_numpy")

# %% [markdown]
# ## 1. Weights
#
# The softmax of `x` along its last axis.


# %%
def softmax(x):
    """Weights that are positive and add up to 1."""
    ### BEGIN SOLUTION
    weights = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return weights / xp.sum(weights, axis=-1, keepdims=True)
    ### END SOLUTION


# %%
check.softmax(softmax)

# %% [markdown]
# ## 2. Lengths
#
# The Euclidean length of each row of `x`.


# %%
def norms(x):
    """The lengths along the last axis."""
    ### BEGIN SOLUTION
    return xp.sqrt(xp.sum(x * x, axis=-1))
    ### END SOLUTION


# %%
check.norms(norms)

# %% [markdown]
# ## 3. A count
#
# How many entries of `x` are at least `low`: a whole number.


# %%
def at_least(x, low):
    """The number of entries with x ≥ low."""
    ### BEGIN SOLUTION
    return int(xp.sum(x >= low))
    ### END SOLUTION


# %%
check.at_least(at_least)

# %% [markdown]
# ## 4. The likeliest token
#
# The position of the largest entry in each row of `p`.


# %%
def likeliest(p):
    """The likeliest token along the last axis."""
    ### BEGIN SOLUTION
    return xp.argmax(p, axis=-1)
    ### END SOLUTION


# %%
check.likeliest(likeliest)

# %% [markdown]
# ## 5. Who sees whom
#
# An n×n table of truth values: position i sees position j if j ≤ i.


# %%
def causal(n):
    """The causal mask."""
    ### BEGIN SOLUTION
    return xp.tril(xp.ones((n, n))) == 1
    ### END SOLUTION


# %%
check.causal(causal)

# %% [markdown]
# ## 6. Rows with a single 1
#
# For each token a row of `v` numbers, with a 1 at the token and 0 elsewhere.


# %%
def one_hot(tokens, v):
    """The tokens as rows."""
    ### BEGIN SOLUTION
    return xp.eye(v)[tokens]
    ### END SOLUTION


# %%
check.one_hot(one_hot)

# %% [markdown]
# ## 7. Means of what is kept
#
# The mean over the rows of `x` whose `mask` is 1. `x` is `(…, n, d)`, `mask` is `(…, n)`.


# %%
def pooled(x, mask):
    """The mean of the rows that are kept."""
    ### BEGIN SOLUTION
    kept = mask[..., None]
    return xp.sum(x * kept, axis=-2) / xp.sum(kept, axis=-2)
    ### END SOLUTION


# %%
check.pooled(pooled)

# %% [markdown]
# ## 8. Entropy
#
# −Σ p·log p along the last axis; 0·log 0 is 0.


# %%
def entropy(p):
    """The entropy in nats."""
    ### BEGIN SOLUTION
    return -xp.sum(p * xp.log(xp.where(p > 0, p, xp.ones_like(p))), axis=-1)
    ### END SOLUTION


# %%
check.entropy(entropy)

# %% [markdown]
# ## 9. Counts
#
# How often each of the tokens 0 … v − 1 occurs: a list of v whole numbers.


# %%
def counts(tokens, v):
    """The number of times that each token occurs."""
    ### BEGIN SOLUTION
    return [int(xp.sum(tokens == token)) for token in range(v)]
    ### END SOLUTION


# %%
check.counts(counts)

# %% [markdown]
# ## 10. The last few
#
# An object that is given items one by one (`put`) and gives the last `size` of them as a list (`items`).


# %%
class Window:
    """The last few items."""

    ### BEGIN SOLUTION
    def __init__(self, size):
        self.size, self.all = size, []

    def put(self, item):
        self.all.append(item)

    def items(self):
        return self.all[-self.size :]

    ### END SOLUTION


# %%
check.window(Window)

# %% [markdown]
# ## 11. Words
#
# How often each word of a text occurs: a dictionary.


# %%
def words(text):
    """Words and their counts."""
    ### BEGIN SOLUTION
    found = {}
    for word in text.split():
        found[word] = found.get(word, 0) + 1
    return found
    ### END SOLUTION


# %%
check.words(words)

# %% [markdown]
# ## 12. Pieces
#
# A list cut into pieces of `size` items; the last may be shorter. A size below 1 is a `ValueError`.


# %%
def chunks(items, size):
    """The pieces, in order."""
    ### BEGIN SOLUTION
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    return [items[i : i + size] for i in range(0, len(items), size)]
    ### END SOLUTION


# %%
check.chunks(chunks)
