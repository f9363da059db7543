# %% [markdown]
# # 00 · Start, and the two walls
#
# <!-- badges -->
#
# A language model writes one token (a word, or a piece of one) after another, and before each it looks back at
# everything that is already there. Two costs follow from that sentence, and the whole course follows from the two
# costs. Here you count both, measure both on the machine in front of you, and see which one a real model meets first.
#
# **Afterwards you can**
#
# - count the scores that attention computes, and say what happens to them when the context doubles;
# - work out the cache of a published model by hand, in bytes;
# - explain why a model generates slowly what it reads quickly, and predict its speed from two lines of a data sheet;
# - find your way about the course: its units, its labs, its checks.
#
# **30 minutes** · one processor core and 2 GB of memory are enough · no GPU, no network

# %% tags=["setup"]
# Written by `course sync`.

# %% [markdown]
# ## What this course is
#
# The course takes language models apart as *programs that run*: how text becomes tokens, what attention computes, what
# one token costs, and what engineers do about that cost, from speculative decoding to paged caches to models without
# attention. Each mechanism is built once in a small library, `course_lib`, short enough to read; lectures look at it,
# and labs ask you to write it yourself.
#
# It is meant for anyone who programs in Python and has met matrices and probabilities before: students of computer
# science and its neighbours, and engineers who run models and would like to know why the numbers come out as they do.
# You need not have trained a model, and you need no GPU.
#
# **How to run it.** Every notebook runs in three places, and its second cell finds out in which:
#
# | where | how | good to know |
# |---|---|---|
# | your computer | `make start` in the course's folder | Python 3.11 to 3.13; the first start installs |
# | Binder | the Binder badge at the top | one core, no GPU; download what you changed before you leave |
# | Google Colab | the Colab badge at the top | needs a Google account; offers GPUs, which some cells use |
#
# (The badges appear once the course has a public address.) Run the cells from top to bottom with Shift+Enter.
#
# **How a lecture works.** You lock a guess before each measurement, in the field provided. Nobody sees it and nothing
# depends on it, but what one has tried to guess first, even wrongly, is remembered better than what was only read
# (Richland, Kornell and Kao, 2009, *The Pretesting Effect*). Next to your measurement stands a *reference run*,
# recorded on another machine: yours will be faster or slower, and only the shape of the result should agree.
#
# **How a lab works.** A lab is a notebook with gaps. Under each gap stands one line, its *check*, which runs your
# answer on cases that you can see and tells you at once what differs and where. Run it as often as you like: the second
# failure adds a hint, and from the third on it names your mistake if it is a known one. Your instructor grades the same
# checks on further cases, so an answer that works for any input is the one to aim for.
#
# Try it. The next cell takes softmax straight from the book, $p_i = e^{x_i} / \sum_j e^{x_j}$, and shows it to the
# first check of this unit's lab.

# %%
import os

# Before NumPy is loaded: one core is enough here, and on a shared machine a second one would
# mostly wait for its turn.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from course_lib.checks import lab

check = lab("lab00_two_walls")


def hasty_softmax(x):
    """exp(x) over its sum, as the formula reads."""
    exponentials = np.exp(x)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


check.softmax(hasty_softmax)

# %% [markdown]
# The formula is right and the answer is not: read the report to see for which inputs. To mend it is the first exercise
# of the lab. `check.progress()` shows the whole lab, what is done and what depends on what.

# %%
check.progress()

# %% [markdown]
# <details><summary><b>Check yourself.</b> A check passes in your notebook. May the same answer still lose points when
# it is graded?</summary>
#
# Yes. Grading adds cases that you have not seen: other shapes, other numbers. An answer that only reproduces the
# visible cases would pass here and fail there.
# </details>

# %% [markdown]
# ## What you should know before
#
# Six questions, five minutes, no pen needed. If an answer surprises you, the text named under it closes the gap in an
# evening.
#
# **1. Shapes.** `Q` has shape (5, 8) and `K` has shape (7, 8). Which product compares every row of `Q` with every row
# of `K`, and what is its shape?
#
# <details style="margin-bottom: 1em"><summary>Answer</summary>
#
# `Q @ K.T`, of shape (5, 7): its entry in row i and column j is the dot product of row i of `Q` and row j of `K`.
# Refresher: Deisenroth, Faisal and Ong, *Mathematics for Machine Learning*, section 2.2 "Matrices",
# <https://mml-book.github.io>
# </details>
#
# **2. Softmax.** What is the softmax of four equal scores? What changes if 100 is added to each of them?
#
# <details style="margin-bottom: 1em"><summary>Answer</summary>
#
# A quarter each; nothing changes, because the common factor $e^{100}$ cancels. Refresher: Zhang, Lipton, Li and Smola,
# *Dive into Deep Learning*, section 4.1 "Softmax Regression",
# <https://d2l.ai/chapter_linear-classification/softmax-regression.html>
# </details>
#
# **3. Logarithms.** A model gives three tokens in a row the probabilities 1/2, 1/4 and 1/8. What is the binary
# logarithm of their product, and why would a program add logarithms instead of multiplying probabilities?
#
# <details style="margin-bottom: 1em"><summary>Answer</summary>
#
# −1 − 2 − 3 = −6. The product of a few thousand probabilities is smaller than any floating-point number and becomes 0;
# the sum of their logarithms stays harmless. Refresher: OpenStax, *Algebra and Trigonometry 2e*, section 6.5
# "Logarithmic Properties", <https://openstax.org/books/algebra-and-trigonometry-2e/pages/6-5-logarithmic-properties>
# </details>
#
# **4. Generators.** After `numbers = (n * n for n in range(4))`, what does `next(numbers)` give the first time, and
# `list(numbers)` after it?
#
# <details style="margin-bottom: 1em"><summary>Answer</summary>
#
# 0, then `[1, 4, 9]`: a generator makes its values one at a time and remembers where it was, as a model that streams
# its answer does. Refresher: *The Python Tutorial*, section 9.9 "Generators",
# <https://docs.python.org/3/tutorial/classes.html#generators>
# </details>
#
# **5. Slices.** `x = np.arange(12).reshape(3, 4)`. What is `x[:, -1]`? And if you write into it, does `x` change?
#
# <details style="margin-bottom: 1em"><summary>Answer</summary>
#
# `[3, 7, 11]`, the last column, and yes: a slice is a view of the same memory, not a copy. Refresher: *NumPy user
# guide*, "Indexing on ndarrays", section "Slicing and striding",
# <https://numpy.org/doc/stable/user/basics.indexing.html#slicing-and-striding>
# </details>
#
# **6. Expectation.** A draft token is accepted with probability 0.8, each independently of the others. How many tokens
# are looked at, on average, up to and including the first that is refused?
#
# <details style="margin-bottom: 1em"><summary>Answer</summary>
#
# 1 / (1 − 0.8) = 5: the mean of a geometric distribution. Refresher: OpenStax, *Introductory Statistics 2e*, section
# 4.4 "Geometric Distribution", <https://openstax.org/books/introductory-statistics-2e/pages/4-4-geometric-distribution>
# </details>
#
# The folded cell below computes all six answers.

# %% jupyter={"source_hidden": true}
rng = np.random.default_rng(0)
assert (rng.standard_normal((5, 8)) @ rng.standard_normal((7, 8)).T).shape == (5, 7)
assert np.allclose(hasty_softmax(np.array([[3.0, 3, 3, 3], [103, 103, 103, 103]])), 1 / 4)
assert np.log2([1 / 2, 1 / 4, 1 / 8]).sum() == -6
assert np.prod(np.full(3000, 0.5)) == 0
numbers = (n * n for n in range(4))
assert (next(numbers), list(numbers)) == (0, [1, 4, 9])
x = np.arange(12).reshape(3, 4)
assert x[:, -1].tolist() == [3, 7, 11]
assert np.shares_memory(x, x[:, -1])
# The mean of so many varies by 0.014 (one standard deviation).
assert abs(rng.geometric(1 - 0.8, size=100_000).mean() - 5) < 0.1

# %% [markdown]
# ## Fact one: attention is quadratic, and its cache grows
#
# *How much work is it to let every token look at every other?*
#
# Each of the $n$ tokens in the context has a query vector and a key vector; stacked, $Q$ and $K$, both of shape $(n,
# d)$. Attention compares every query with every key,
#
# $$S = \frac{Q K^\top}{\sqrt{d}}, \qquad S \text{ of shape } (n, n),$$
#
# turns each row of $S$ into weights by a softmax, and mixes the value vectors with them (Vaswani et al., 2017, eq. 1;
# unit 02 takes its time over this). So there is one score for each pair of tokens. Here are those of five tokens, with
# vectors of eight numbers:

# %%
from course_lib.costs import PRESETS, forward_flops, kv_cache_bytes, parameter_count, score_entries

q, k = np.random.default_rng(1).standard_normal((2, 5, 8))
scores = q @ k.T / np.sqrt(8)
print(scores.round(2))

# %% [markdown]
# There are $n^2$ of them. A decoder lets a token see only itself and what stands before it, which leaves the triangle
# below the diagonal, $n(n+1)/2$. Either way, twice the context means about four times the scores.

# %%
assert scores.size == score_entries(5) == 25
assert np.tril(np.ones((5, 5))).sum() == score_entries(5, causal=True) == 15
assert score_entries(2 * 1000) == 4 * score_entries(1000)
assert 3.99 < score_entries(2 * 1000, causal=True) / score_entries(1000, causal=True) < 4

# %% [markdown]
# A context of 128k tokens, which means 131,072 = $2^{17}$, has $2^{34}$ ≈ 17 billion scores. In a 16-bit format they
# would fill 32 GiB, for *one* head of *one* layer; Llama-3.1-8B has 32 layers of 32 heads. A program need not hold them
# all at once (unit 02 shows how not to), but it has to compute every one.

# %%
assert score_entries(131_072) == 2**34
assert 2 * score_entries(131_072) == 32 * 2**30
llama_3 = PRESETS["Llama-3.1-8B"]
assert (llama_3.n_layers, llama_3.n_heads) == (32, 32)
all_scores = score_entries(131_072, llama_3.n_heads, llama_3.n_layers)
print(f"all heads of {llama_3.name} at 131,072 tokens: {all_scores:.2e} scores")

# %% [markdown]
# **Your guess first.** In a moment this machine computes one head of attention for 1,024, for 2,048 and for 4,096
# tokens. How many times as long as the shortest will the longest take? Enter your number, say how sure you are, and
# lock it.

# %%
from course_lib.explore import Prediction

guess_attention = Prediction(
    "00.attention",
    "4,096 tokens against 1,024: how many times as long?",
    unit="times",
    low=1,
    high=256,
    log=True,
)
guess_attention

# %%
from course_lib.costs.measure_walls import measure_attention

runs = measure_attention(lengths=(1024, 2048, 4096))
for run in runs:
    print(f"{run.n:>5} tokens  {run.seconds * 1e3:7.1f} ms  {run.peak_bytes / 1e6:6.1f} MB")

# %% [markdown]
# The memory follows the count closely: the scores need 4 bytes each, and at most a few arrays of that size were alive
# at once. Four times the tokens took sixteen times the memory.

# %%
shortest, _, longest = runs
assert all(4 * score_entries(run.n) <= run.peak_bytes for run in runs)
assert 15 < longest.peak_bytes / shortest.peak_bytes < 17

# %%
from course_lib.explore import reference
from course_lib.explore.measured_walls import attention_figure

recorded = reference.load("two_walls")
attention_figure(runs, recorded)

# %% [markdown]
# Time is less obedient than memory: short runs fit a cache that long ones do not, and other programs want the processor
# too. Here is your guess beside it.

# %%
guess_attention.reveal(longest.seconds / shortest.seconds, recorded)

# %% [markdown]
# **What must be kept.** A decoder that writes token $n+1$ needs the keys and values of all tokens before it. It could
# compute them again for every token; instead it keeps them, in the *key–value cache*. For every token that is
#
# $$2 \cdot L \cdot h_{kv} \cdot d_{head} \text{ values:}$$
#
# a key and a value (hence the 2) in each of $L$ layers, for each of $h_{kv}$ key–value heads, each of width $d_{head}$.
# By hand for Llama-2-7B, which has 32 layers, 32 key–value heads of width 128 (Touvron et al., 2023), at two bytes a
# value:
#
# - one token: 2 · 32 · 32 · 128 = 262,144 values = 524,288 bytes, half a mebibyte for a single word piece;
# - its full context of 4,096 tokens: 2 GiB;
# - eight readers at once, each with a full context: 16 GiB, and now the cache is larger than the weights, which take
#   13.5 GB.

# %%
llama_2 = PRESETS["Llama-2-7B"]
assert (llama_2.n_layers, llama_2.n_kv_heads, llama_2.d_head) == (32, 32, 128)
assert kv_cache_bytes(llama_2, 1) == 2 * 32 * 32 * 128 * 2 == 524_288
assert kv_cache_bytes(llama_2, 4096) == 2 * 2**30
assert kv_cache_bytes(llama_2, 4096, batch=8) == 16 * 2**30 > 2 * parameter_count(llama_2).total
assert round(2 * parameter_count(llama_2).total / 1e9, 1) == 13.5

# %% [markdown]
# The newer Llama-3.1-8B answers this with fewer key–value heads. How much smaller does that make a token? You work it
# out in the lab.
#
# **When does the square matter?** Besides attention, every token is multiplied by every weight matrix: two operations a
# weight, a multiplication and an addition, whatever the context. Attention costs the token at position $n$ another $4
# \cdot L \cdot h \cdot d_{head} \cdot n$: 2 for the score and 2 for mixing the value, times the width of all heads in
# all layers, for each token it looks at. At some length the two are equal.

# %%
weights = forward_flops(llama_2, 1).weights
per_seen_token = 4 * llama_2.n_layers * llama_2.n_heads * llama_2.d_head
crossover = weights / per_seen_token
print(f"{llama_2.name}: {weights / 1e9:.1f} billion operations with weights")
print(f"and {per_seen_token:,} for each token looked at, so")
print(f"equal at {crossover:,.0f} tokens")

before, after = (forward_flops(llama_2, 1, n_past) for n_past in (int(crossover) - 1, int(crossover)))
assert before.attention <= before.weights < after.attention
# Norms apart (there are no biases here), "two operations a weight" holds to within a thousandth.
assert abs(weights / (2 * parameter_count(llama_2).read_per_step) - 1) < 1e-3

# %% [markdown]
# That is six times the context for which the model was published. For short contexts attention's square is a whisper
# beside the weights; for long ones it is all one hears. The trade-off of this first wall: a longer context lets a model
# see more, and every token it sees is paid for by all tokens that come after it, in work and in memory.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> A provider offers twice the context window. Its
# cache for one full conversation grows by what factor? And the scores computed for it?</summary>
#
# The cache doubles, since it is proportional to $n$; the scores grow about fourfold, as $n^2$. The next cell says so in
# numbers.
# </details>
#
# Sources: Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.1 and Table 1 · Touvron et al. (2023), *Llama
# 2* · Kaplan et al. (2020), *Scaling Laws for Neural Language Models*, Table 1, whose attention term $2 \cdot L \cdot n
# \cdot d$ is the average over a causal sequence, half of what its last token costs.

# %%
assert crossover > 6 * llama_2.context_length
assert kv_cache_bytes(llama_2, 8192) == 2 * kv_cache_bytes(llama_2, 4096)
assert round(score_entries(8192, causal=True) / score_entries(4096, causal=True), 2) == 4.0

# %% [markdown]
# ## Fact two: decoding is sequential
#
# *Why does a model read a page in a moment and then write so slowly?*
#
# When a model reads your prompt, all tokens are known, and it can send them through its layers together. When it
# writes, token $t+1$ depends on token $t$: nothing can start before its predecessor is finished. For one token at a
# time, *every weight is fetched from memory and used once*.
#
# To see what that costs, take a stand-in for a model: twelve matrices of 2048 × 2048 numbers, 201 MB, more than a
# processor's caches hold. One token is a vector that passes through all twelve. First 64 tokens one after another, each
# made from the one before it:

# %%
from course_lib.costs.measure_walls import one_by_one, random_weights, through

matrices = random_weights(n_matrices=12, width=2048)
states = one_by_one(matrices[0][0], matrices, n=64)
n_bytes = sum(matrix.nbytes for matrix in matrices)
print(f"{n_bytes / 1e6:.0f} MB of weights; states of shape {states.shape}")

# %% [markdown]
# Now suppose that somebody tells us the first 64 states in advance, as a prompt does. Then a *single* pass takes all of
# them one step further, and gives the same states: the same multiplications, with the same result up to rounding.

# %%
together = through(states[:-1], matrices)
assert together.shape == (64, 2048)
# 12 products of 2,048 terms, each rounded to 24 bits: the error stays near 12 · √2048 · 2⁻²⁴
# of values that are about 1.
assert np.abs(together - states[1:]).max() < 10 * 12 * np.sqrt(2048) * 2.0**-24

# %% [markdown]
# Count before you measure. Both ways do two operations for every weight and token, so by *operations* a token should
# cost the same in both. But one by one reads the 201 MB 64 times, and together reads them once, so by *bytes* a token
# should cost 64 times as much. The truth depends on your machine, and lies between the two.
#
# **Your guess first.** How many times as long does a token take one by one as in a pass of 64?

# %%
guess_decoding = Prediction(
    "00.decoding",
    "One by one against 64 together: how many times as long a token?",
    unit="times",
    low=1,
    high=256,
    log=True,
)
guess_decoding

# %%
from course_lib.costs.measure_walls import measure_passes, reading_rate

passes = measure_passes(matrices, positions=(1, 4, 16, 64))
rate = reading_rate(matrices)
print(f"weights read, and hardly anything done with them: {rate / 1e9:.1f} GB/s")
for run in passes:
    print(
        f"{run.positions:>2} together  {run.seconds_per_token * 1e3:6.2f} ms a token"
        f"  weights read at {run.bytes_per_second / 1e9:5.1f} GB/s"
        f"  {run.flops_per_second / 1e9:6.1f} billion operations a second"
    )

# %%
from course_lib.explore.measured_walls import passes_figure

passes_figure(passes, rate, recorded)

# %%
alone, *_, all_together = passes
guess_decoding.reveal(alone.seconds_per_token / all_together.seconds_per_token, recorded)

# %% [markdown]
# Look at the printed speeds. One token at a time, weights are read at a good part of the speed at which they can be
# read at all (in the reference run three quarters of it): the core is not slow at multiplying, it waits for bytes. With
# 64 tokens to each reading it is busy multiplying, and reading no longer matters. (With a few tokens at a time, the
# product of two matrices first rearranges them in memory, which pays only for larger ones; so 4 together gain less than
# the thin line promises.) If your numbers say otherwise, something else was using the machine: run the cell again, or
# trust the reference run.
#
# The ratio of the two speeds, operations a second over bytes a second, is the machine's *balance* $b$, and it predicts
# what you have just measured. A 32-bit weight is four bytes and serves one token with two operations: half an operation
# a byte. In the time of one byte the core could do $b$ of them, so a pass with enough tokens to keep it busy should be
# about $2b$ times as fast.
#
# An H100 can do 295 operations in the time it needs to read one byte, as its data sheet has it. A 16-bit weight is two
# bytes and gives one token two operations, one a byte: on that GPU a pass of fewer than 295 tokens is set by reading,
# and decoding for one reader leaves all but a three-hundredth of its arithmetic idle.

# %%
from course_lib.costs import DEVICES

h100 = DEVICES["H100 SXM"]
read_alone, read_at_most = recorded.values["pass_bytes_per_second"][0], recorded.values["reading_rate"]
assert 0.7 < read_alone / read_at_most < 0.8  # the three quarters of the reference run
assert round(h100.flops / h100.bandwidth) == 295
print(h100.source)
balance = all_together.flops_per_second / rate
measured = alone.seconds_per_token / all_together.seconds_per_token
print(f"one core here: {balance:.1f} operations a byte")
print(f"predicted ratio {2 * balance:.1f}, measured {measured:.1f}")

# %% [markdown]
# **A speed limit from two numbers.** If all that a decoder waits for is its weights and its cache, then its speed is
# bandwidth over bytes. Llama-3.1-8B in a 16-bit format reads 15 GB a token; an H100 reads 3,350 GB in a second; so a
# single reader gets at most 223 tokens a second, and no better arithmetic will change that. What does change it: fewer
# bytes (units 06 and 09), more readers to a reading (unit 07), or several tokens to a reading (unit 04).

# %%
from course_lib.costs import Device, available_memory, decode_bound

bound = decode_bound(llama_3, n=1, device=h100)
assert bound.wall == "bandwidth"
assert round(bound.weight_bytes / 1e9) == 15
assert np.isclose(bound.per_sequence, h100.bandwidth / (bound.weight_bytes + bound.cache_bytes))
assert round(bound.per_sequence) == 223

memory = available_memory() or 8e9  # some systems do not say
here = Device("one core here", rate, all_together.flops_per_second, memory, "measured above")
for name in ("SmolLM2-135M", "Llama-3.1-8B"):
    speed = decode_bound(PRESETS[name], 1, here).per_sequence
    print(f"{name}, one core here: at most {speed:.1f} tokens a second")

# %% [markdown]
# The same on a GPU, if there is one here. Its matrices are larger, since it reads them so much faster.

# %%
import torch

if torch.cuda.is_available():
    torch.manual_seed(0)
    half = {"device": "cuda", "dtype": torch.float16}
    gpu_matrices = [torch.randn(8192, 8192, **half) / 8192**0.5 for _ in range(6)]
    gpu_passes = measure_passes(gpu_matrices, (1, 4, 16, 64), synchronize=torch.cuda.synchronize)
    for run in gpu_passes:
        print(
            f"{run.positions:>2} together  {run.seconds_per_token * 1e6:6.1f} µs a token"
            f"  weights read at {run.bytes_per_second / 1e9:6.0f} GB/s"
        )
    gpu_alone, *_, gpu_together = gpu_passes
    ratio = gpu_alone.seconds_per_token / gpu_together.seconds_per_token
    print(f"one by one: {ratio:.0f} times as long")
    del gpu_matrices
else:
    print("No GPU here. On an H100 reading should still set the time at 64 tokens (64 < 295):")
    print("a ratio near 64.")

# %% [markdown]
# The trade-off of this second wall: sharing each reading among more tokens makes all of them cheaper, and someone has
# to wait until there are tokens to share it with.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> Somebody replaces the GPU by one with twice the
# operations per second and the same memory. How much faster does a single conversation decode?</summary>
#
# Not at all, while reading sets the time: the bound is bandwidth over bytes, and neither has changed. The next cell
# tries it.
# </details>
#
# Sources: Shazeer (2019), *Fast Transformer Decoding: One Write-Head is All You Need*, section 2.4 · Pope et al.
# (2022), *Efficiently Scaling Transformer Inference*, section 2 · Williams, Waterman and Patterson (2009), *Roofline*,
# for balance · Goto and van de Geijn (2008), *Anatomy of High-Performance Matrix Multiplication*, for the rearranging ·
# Grattafiori et al. (2024), *The Llama 3 Herd of Models*, Table 3.

# %%
doubled = Device("twice the arithmetic", h100.bandwidth, 2 * h100.flops, h100.memory, "imagined")
assert decode_bound(llama_3, 1, doubled).per_sequence == bound.per_sequence

# %% [markdown]
# ## Which wall comes first?
#
# Both facts in one picture. Choose a model and a device, then move the context and the number of sequences (the
# *batch*) that are decoded together. "One core here" is what you have just measured, the last of the devices. The line
# of text says what the picture shows; arrow keys move a slider, too.
#
# Three things to find:
#
# 1. a context at which attention costs as many operations as all the weights;
# 2. a batch whose cache is larger than the weights, and one that no longer fits the device;
# 3. a batch at which multiplying and not reading sets the speed (try the A100, or one core here). Then make the context
#    long: what sets it now?

# %%
from course_lib.explore.two_walls import two_walls_explorer

two_walls_explorer(devices={**DEVICES, here.name: here})

# %% [markdown]
# <details><summary><b>Check yourself.</b> Why does a larger batch help so much at 256 tokens and so little at
# 131,072?</summary>
#
# The weights are read once for the whole batch, but every sequence brings its own cache. At short contexts nearly all
# bytes are weights, which are shared; at long ones nearly all are cache, which is not. (And 32 such caches would not
# fit one H100; the bound counts on regardless.)
# </details>

# %%
gain = {}
for n in (256, 131_072):
    one, many = (decode_bound(llama_3, n, h100, batch).tokens_per_second for batch in (1, 32))
    gain[n] = many / one
    print(f"{n:>7,} tokens: 32 sequences together decode {gain[n]:.1f} times the tokens a second of one")
assert gain[256] > 10 * gain[131_072]
assert not decode_bound(llama_3, 131_072, h100, batch=32).fits
a100 = DEVICES["A100 80GB"]
assert decode_bound(llama_3, 256, a100, batch=256).wall == "compute"
assert decode_bound(llama_3, 131_072, a100, batch=256).wall == "bandwidth"

# %% [markdown]
# ## The map
#
# Thirteen units, each climbing one of the two walls or both. Solid frames are built; dashed ones are planned.

# %%
from course_lib.explore.course_map import course_map
from course_lib.house import syllabus

units = syllabus.units()
assert len(units) == 13
course_map(units)

# %% [markdown]
# `course map` prints the same in a terminal, with every objective and the place where it is taught; `course map 00`
# prints this unit alone.
#
# <details><summary><b>Check yourself.</b> Speculative decoding (unit 04) stands at the decoding wall alone. What would
# it have to change to help with the other?</summary>
#
# The number of scores or the bytes of cache for each token of context. It changes neither: it lets one reading of
# weights and cache serve several tokens, if a cheap guess at them was right.
# </details>

# %% [markdown]
# ## Is this machine ready?
#
# The last cell looks at the machine that runs this notebook, and measures how fast all its cores together read. `course
# doctor` prints the same in a terminal. A cross needs mending; a dot is something that this course can do without.

# %%
from IPython.display import Markdown

from course_lib.house import doctor

findings = doctor.findings()
rows = ["| | part | found here | what to do, or to know |", "|---|---|---|---|"]
rows += [f"| {found.mark} | {found.subject} | {found.found} | {found.advice} |" for found in findings]
Markdown("\n".join(rows))

# %% [markdown]
# **Next:** the lab of this unit, [lab00_two_walls](../labs/lab00_two_walls/lab00_two_walls.ipynb): 20 minutes, 20
# points, and a tour of every kind of check that the course has.
