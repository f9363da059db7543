# %% [markdown]
# # Lab 00: the two walls
#
# <!-- badges -->
#
# Twenty minutes, twenty points. Afterwards you can write a softmax that no score can break, count what attention computes
# and what its cache holds, say why text is written one token at a time, and you have met every kind of check that the
# labs use.
#
# - A line like `check.softmax(softmax)` tries your answer on cases that you can see, and shows where it goes wrong. Run it
#   as often as you like.
# - Every case that passes earns its share of the points. Grading runs the same kind of case again, with other numbers and
#   a few cases more.
# - From the second failed attempt there is a hint; from the third, the mistake is named if it is a well-known one.
# - Write the answers yourself: a check turns down a library function that would be the answer.

# %% tags=["setup"]
# Makes the course's library available.

# %%
import numpy as np

from course_lib.checks import lab
from course_lib.explore import Prediction

check = lab("lab00_two_walls")

# %% [markdown]
# ## 1. A softmax that cannot overflow
#
# Attention turns a row of scores into weights by $p_i = e^{x_i} / \sum_j e^{x_j}$. Written like that it fails: $e^{1000}$ is
# more than a float can hold. Write it so that scores of ±10,000 do no harm, along the last axis of an array with any
# number of axes. A score of −∞ means "may not be read" and gets the weight 0; in a row of nothing but −∞ there is nothing to
# read, and all its weights are 0. Leave `x` as it was, and return the precision that it came in.
#
# **Shapes:** `x` and `p` are `(…, n)`, float32 or float64.
#
# **Example:** `softmax(np.log([1.0, 2.0, 5.0]))` is `[0.125 0.25 0.625]`; `softmax(np.array([3.0, -np.inf]))` is `[1. 0.]`.


# %%
def softmax(x):
    """Weights that are positive and add up to 1 along the last axis of x.

    They are all 0 where x is −∞ all along that axis.

    x   scores, (…, n)
    """
    ### BEGIN SOLUTION
    largest = np.max(x, axis=-1, keepdims=True)
    weights = np.exp(x - np.where(np.isneginf(largest), 0, largest))
    total = np.sum(weights, axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)
    ### END SOLUTION


# %%
check.softmax(softmax)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Subtracting the same number from every score of a row changes nothing: it multiplies numerator and denominator alike.
# Subtract the row's maximum, and no exponent is above 0. With `keepdims=True` the maximum keeps an axis of length 1, so it
# lines up with its row however many axes there are.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# In a row of nothing but −∞ two things go wrong, each giving nan: −∞ − (−∞), and 0 / 0. `np.where(condition, a, b)` lets
# you subtract something else there, and divide by something else.
#
# </details>
#
# minutes: 4 · points: 5 · needs: nothing

# %% [markdown]
# ## 2. Counting scores
#
# Attention scores every token against every token: n² scores for n tokens, in each head of each layer. Under a causal mask
# a token is scored against itself and the tokens before it. Count the scores, exactly, as a whole number. A negative n is
# a mistake of the caller's: raise a `ValueError` whose text names `n` and the value it had.
#
# **Takes:** three whole numbers and a truth value. **Returns:** an `int`.
#
# **Example:** `score_entries(4, 2, 3, causal=False)` is 96, and with `causal=True` it is 60.


# %%
def score_entries(n, n_heads, n_layers, causal):
    """How many attention scores a model computes over n tokens.

    Raises a ValueError that names n and its value if n is negative.
    """
    ### BEGIN SOLUTION
    if n < 0:
        raise ValueError(f"n is {n}, needs to be at least 0")
    per_head = n * (n + 1) // 2 if causal else n * n
    return n_layers * n_heads * per_head
    ### END SOLUTION


# %%
check.score_entries(score_entries)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Draw the table for n = 4 and strike out what the mask forbids. Rows of 1, 2, 3 and 4 scores are left.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# Two such triangles, one of them turned round, fill a rectangle of n by n + 1. In Python `/` always gives a float, which
# cannot hold every whole number above 2⁵³; `//` between whole numbers stays exact.
#
# </details>
#
# minutes: 3 · points: 3 · needs: nothing

# %% [markdown]
# ## 3. A cache, by hand
#
# So that nothing is computed twice, a model keeps the key and the value of every token, in each layer, for each key–value
# head. Llama-3.1-8B has 32 layers and 32 query heads that share 8 key–value heads of width 128; a bfloat16 number takes 2
# bytes. How many bytes does its cache take for one token? And how many GiB (2³⁰ bytes) at its full window of 131,072 tokens?
# Type two numbers, or expressions that give them.
#
# **Example:** SmolLM2-135M has 30 layers and 3 key–value heads of width 64, so its cache takes 23,040 bytes a token and
# 0.176 GiB at its full window of 8,192 tokens.

# %%
### BEGIN SOLUTION
bytes_per_token = 2 * 32 * 8 * 128 * 2
gib_at_full_window = bytes_per_token * 131_072 / 2**30
### END SOLUTION
### BEGIN GIVEN
# bytes_per_token = None  # your number, in place of None
# gib_at_full_window = None
### END GIVEN

# %%
check.cache_by_hand(bytes_per_token, gib_at_full_window)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Redo the example first: which five numbers multiply to 23,040?
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# Only key–value heads are kept; queries are used once and forgotten. And each head keeps two vectors, not one.
#
# </details>
#
# minutes: 3 · points: 3 · needs: nothing

# %% [markdown]
# ## 4. One token after another
#
# A language model says which token comes next, and to say so it must have all tokens before. Write the loop that makes text
# of it: hand `next_token` the whole sequence so far, add what it returns to the sequence, and go on until there are `n_new`
# new tokens. Return these. The caller's `prompt` stays as it was, and there is one call for each new token.
#
# **Takes:** a function from a list of token ids to one id, a list of ids, a whole number. **Returns:** a list of `n_new` ids.
#
# **Example:** `len` maps a list to a number, so it may stand for a model: `generate(len, [7, 7, 7], 4)` is `[3, 4, 5, 6]`.


# %%
def generate(next_token, prompt, n_new):
    """The n_new tokens after the prompt, each chosen by next_token(all ids before it)."""
    ### BEGIN SOLUTION
    ids = list(prompt)
    for _ in range(n_new):
        ids.append(next_token(ids))
    return ids[len(prompt) :]
    ### END SOLUTION


# %%
check.generate(generate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Work on a list of your own that begins as a copy of the prompt.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# At the end that list holds the prompt and the new tokens. The new ones begin at position `len(prompt)`.
#
# </details>
#
# minutes: 2 · points: 2 · needs: nothing

# %% [markdown]
# ## 5. Predict, then measure
#
# Your `generate` hands over the whole sequence each time: a model without a cache scores all of it again at every step, one
# with a cache only the tokens that it has not seen. Starting from a single token, 64 new ones are generated (one head, one
# layer, causal). **How many times as many scores does the model without a cache compute?** Type a guess before you measure;
# running the cell locks it, and a wrong guess costs nothing. How sure you are draws a band around your guess: the surer, the
# narrower.
#
# **Example:** for 4 new tokens the answer is 2: (1 + 3 + 6 + 10) against (1 + 2 + 3 + 4) scores.

# %%
prediction = Prediction(
    "lab00_recomputed_scores",
    "Scores computed without a cache, for each one computed with it",
    unit="times",
    low=1,
    high=1000,
    log=True,
)
### BEGIN SOLUTION
guess, confidence = 20, 0.5
### END SOLUTION
### BEGIN GIVEN
# guess, confidence = None, None  # a number from 1 to 1000, and how sure you are, from 0 to 1
### END GIVEN
if guess is not None:
    prediction.lock(guess, confidence)


# %%
def count_scores(prompt, n_new):
    """Runs `generate` and counts scores in the causal mask itself: without a cache, with one."""
    recomputed = cached = seen = 0

    def next_token(ids):
        nonlocal recomputed, cached, seen
        mask = np.tri(len(ids), dtype=bool)  # row i: the keys that token i may read
        recomputed += int(mask.sum())
        cached += int(mask[seen:].sum())
        seen = len(ids)
        return 0

    generate(next_token, prompt, n_new)
    return recomputed, cached


recomputed, cached = count_scores([0], 64)
measured = recomputed / cached
print(f"{recomputed:,} scores without a cache, {cached:,} with one:")
print(f"{measured:g} times as many")

# %%
prediction.reveal(measured)

# %%
check.prediction(prediction, measured)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Step n scores about n²/2 pairs without a cache, and n with one. Add up both, for n from 1 to 64.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# The sums are close to 64³/6 and 64²/2. So what happens to their ratio when the text gets twice as long?
#
# </details>
#
# minutes: 3 · points: 2 · needs: generate

# %% [markdown]
# ## 6. Three wrong lines
#
# This little cache works at first sight, and three of its lines are wrong: one in `append`, one in `nbytes`, one in `drop`.
# Each of them does the right thing in most programs. Run the check, read what it saw, and mend the three lines.
#
# **Shapes:** `k` and `v` are `(n_kv_heads, d_head)`, one token's; `stacked` gives `(n_tokens, n_kv_heads, d_head)` for each.
#
# **Example:** after appending one token with `k` and `v` of shape (2, 4) in float32, `nbytes()` is 64; after `drop(0)`
# it is 64 still, and `len(cache)` is 1.


# %%
class KVCache:
    """The keys and values of the tokens so far, in one layer."""

    def __init__(self):
        self.tokens = []

    def __len__(self):
        return len(self.tokens)

    def append(self, k, v):
        """Keeps the key and the value of one more token.

        What the caller does with its arrays later is its own affair.
        """
        ### BEGIN SOLUTION
        self.tokens.append((k.copy(), v.copy()))
        ### END SOLUTION
        ### BEGIN GIVEN
        # self.tokens.append((k, v))
        ### END GIVEN

    def nbytes(self):
        """The bytes of everything that is kept."""
        ### BEGIN SOLUTION
        return sum(k.nbytes + v.nbytes for k, v in self.tokens)
        ### END SOLUTION
        ### BEGIN GIVEN
        # return sum(k.nbytes for k, v in self.tokens)
        ### END GIVEN

    def drop(self, n):
        """Forgets the last n tokens, from 0 to all: drafted tokens that are turned down, say."""
        ### BEGIN SOLUTION
        del self.tokens[len(self.tokens) - n :]
        ### END SOLUTION
        ### BEGIN GIVEN
        # del self.tokens[-n:]
        ### END GIVEN

    def stacked(self):
        """All keys, and all values, as two arrays."""
        keys, values = [k for k, v in self.tokens], [v for k, v in self.tokens]
        return np.array(keys), np.array(values)


# %%
check.cache_bug(KVCache)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A decoding loop has one array for the newest key and writes into it at every step. Which array is in your list?
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# Try `[1, 2, 3][-2:]`, `[1, 2, 3][-1:]` and `[1, 2, 3][-0:]`.
#
# </details>
#
# minutes: 3 · points: 3 · needs: nothing

# %% [markdown]
# ## 7. Which wall?
#
# One person chats with Llama-3.1-8B (8.03·10⁹ weights, bfloat16) on an H100, which reads 3.35·10¹² bytes a second from its
# memory and does 989·10¹² operations a second on bfloat16 numbers (NVIDIA's data sheet, dense). The conversation is 2,048
# tokens long. The answer comes more slowly than this person would like, and the arithmetic units are idle nearly all the time.
#
# Which of the two walls is it: attention's scores and cache, which grow with the context, or decoding one token after
# another? Show it with two numbers, name one remedy, and say which of your numbers it changes. Three or four sentences; a
# person reads them.
#
# **Worth knowing:** a step that makes one token reads all weights and the whole cache once, and does about 2 operations for
# each weight.

# %% [markdown] written="which_wall"
# It is the second wall, sequential decoding. Every token needs a step of its own, and each step reads 16.1 GB of weights and
# only 2,048 · 131,072 bytes = 0.27 GB of cache: at 3.35 TB/s that takes 4.9 ms, so there are at most about 205 tokens a
# second. The arithmetic, some 2 · 8.03·10⁹ operations, takes 0.016 ms, so its units wait for memory more than 99 % of the
# time; and the cache is a sixtieth of what is read, so the length of the context is not to blame. Weights of 4 bits would be
# read in about a quarter of the time, for nearly four times as many tokens a second. (Speculative decoding, which makes
# several tokens of one read, is as good an answer. Batching would serve more people at once, and this one no faster.)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Work out two times for one step: that of reading its bytes, and that of its arithmetic. Within the bytes, compare the
# weights with the cache, whose bytes a token you know from exercise 3.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# A remedy makes a step read less, or makes a read good for more than one token. Does it help this person, or only the total?
#
# </details>
#
# minutes: 2 · points: 2 · needs: cache_by_hand

# %% [markdown]
# ## Where you are

# %%
check.progress()
