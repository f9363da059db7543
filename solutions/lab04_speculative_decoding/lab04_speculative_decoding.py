# %% [markdown]
# # Lab 04: speculative decoding
#
# <!-- badges -->
#
# A hundred points. What is marked (core) takes at most 163 minutes, what is marked (stretch) another 28. Afterwards you can
# say from two rows of probabilities how often a draft will be believed, follow a round with a pencil and see the target's own
# distribution come out of it, write the verification that engines run, work out how far ahead to draft, put it all into a
# loop that writes text with two real models, and find the fault in somebody else's verifier.
#
# - `p` is the target's distribution of the next token, `q` the draft's; both are rows of `v` probabilities.
# - Random numbers come in as arguments, "uniforms" in [0, 1). So every answer is exact, and a check can say where it errs.
# - To draw a token from a row with a uniform u, use the library's `sample(row, u)`: the first token at which the running sum
#   exceeds u (rows need not add up to 1). It takes rows `(…, v)` and uniforms `(…)` and gives tokens `(…)`. Everything else
#   you write yourself.
# - Run a check line as often as you like. From the second failed attempt there is a hint, from the third a known mistake is
#   named. Grading runs the same kind of case with other numbers, and a few more.

# %% tags=["setup"]
# Makes the course's library available.

# %%
import numpy as np

from course_lib.arrays import sample
from course_lib.checks import lab
from course_lib.speculation.ngrams import NGramModel
from course_lib.speculation.words import Vocabulary, sample_text

check = lab("lab04_speculative_decoding")

# %% [markdown]
# ## 1. How often is a draft believed? (core)
#
# One vocabulary of four tokens, and what target and draft say about the next one:
#
# | | a | b | c | d |
# |---|---|---|---|---|
# | p | 0.25 | 0.05 | 0.50 | 0.20 |
# | q | 0.15 | 0.25 | 0.20 | 0.40 |
#
# Speculative decoding accepts a token drawn from q with probability min(1, p/q): how often is that, on average (α)?
# Classical rejection sampling (von Neumann, 1951) needs an envelope, a number κ with κ·q ≥ p for every token, and accepts
# with probability p/(κq): with the smallest κ, how often is that (1/κ)? Type two decimal numbers, or expressions that give
# them.
#
# **Example:** for p = (0.9, 0.1) and q = (0.6, 0.4), α is 0.6 + 0.1 = 0.7, and 1/κ is 0.6/0.9 = 0.667.

# %%
### BEGIN SOLUTION
overlap = 0.15 + 0.05 + 0.20 + 0.20
envelope_acceptance = 0.20 / 0.50
### END SOLUTION
### BEGIN GIVEN
# overlap = None  # α, in place of None
# envelope_acceptance = None  # 1/κ
### END GIVEN

# %%
check.overlap_by_hand(overlap, envelope_acceptance)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Token x is drafted with q(x) and accepted with min(1, p(x)/q(x)). The product of the two is min(p(x), q(x)).
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# One token decides κ: the one whose p is the largest multiple of its q. For all other tokens the envelope is higher than it
# need be.
#
# </details>
#
# minutes: 5 · points: 3 · needs: nothing

# %% [markdown]
# ## 2. What is missing (core)
#
# After a rejection, the token is drawn from the residual: (p − q) where that is positive, 0 elsewhere, divided by its sum. It
# is p less what acceptance has delivered already. Work it out for the pair of exercise 1 and type four numbers.
#
# **Example:** for p = (0.5, 0.3, 0.2) and q = (0.1, 0.2, 0.7), 0.4 and 0.1 are missing, and the residual is (0.8, 0.2, 0).

# %%
### BEGIN SOLUTION
missing = [0.25, 0, 0.75, 0]
### END SOLUTION
### BEGIN GIVEN
# missing = [None, None, None, None]  # of a, b, c, d
### END GIVEN

# %%
check.residual_by_hand(*missing)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Write p − q below the table of exercise 1 and strike out what is negative.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# What you did not strike out adds up to 1 − α. Divide by that.
#
# </details>
#
# minutes: 5 · points: 4 · needs: nothing

# %% [markdown]
# ## 3. A round with a pencil (core)
#
# The draft has written **b d a**, so γ = 3. These are its rows, and the target's four rows from one run:
#
# | position | q: a | b | c | d | p: a | b | c | d | drafted |
# |---|---|---|---|---|---|---|---|---|---|
# | 1 | 0.40 | 0.20 | 0.20 | 0.20 | 0.10 | 0.60 | 0.20 | 0.10 | b |
# | 2 | 0.20 | 0.10 | 0.20 | 0.50 | 0.30 | 0.10 | 0.40 | 0.20 | d |
# | 3 | 0.60 | 0.10 | 0.20 | 0.10 | 0.20 | 0.20 | 0.20 | 0.40 | a |
# | 4 | | | | | 0.05 | 0.05 | 0.50 | 0.40 | |
#
# A drafted token x with uniform r stands if r·q(x) < p(x). Walk from left to right, stop at the first that does not stand,
# and draw one token more. **First** with r = 0.85, 0.35, 0.55 and the last uniform 0.15; **then** with r = 0.85, 0.35, 0.30
# and again 0.15. How many drafted tokens are accepted, and which tokens are emitted? To draw, run through the row in the
# order a, b, c, d and take the first token at which the running sum exceeds the uniform.
#
# **Example:** if the third row of q were that of p, the first time would emit `"b d a c"`: r·q(a) < p(a) for every r below 1.

# %%
### BEGIN SOLUTION
n_first, emitted_first = 2, "b d b"
n_second, emitted_second = 3, "b d a c"
### END SOLUTION
### BEGIN GIVEN
# n_first, emitted_first = None, None  # a number, and letters with blanks between, such as "c d"
# n_second, emitted_second = None, None
### END GIVEN

# %%
check.traced_round(n_first, emitted_first, n_second, emitted_second)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Three products, three comparisons: 0.85 · 0.20 against 0.60, and so on. The rows after a rejection are not used at all.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# If position 3 is rejected, the token comes from the residual of row 3, in which a and c have nothing. If all three stand,
# it comes from row 4 of p, where nothing was drafted.
#
# </details>
#
# minutes: 8 · points: 3 · needs: residual_by_hand

# %% [markdown]
# ## 4. The target's distribution comes out (core)
#
# Back to the pair of exercise 1, and a single drafted token. Write down every way in which things can go: in row x and
# column y the probability that x is drafted and y is emitted in its place. What is accepted is on the diagonal; what q
# drafts and the test rejects is spread over the columns as the residual says. The cell adds up your columns: what has to
# come out?
#
# **Example:** for p = (0.9, 0.1) and q = (0.6, 0.4) the table is [[0.6, 0], [0.3, 0.1]]: the second token is drafted with
# 0.4, stands with 0.1/0.4, and turns into the first one otherwise.

# %%
### BEGIN SOLUTION
table = [
    [0.15, 0, 0, 0],
    [0.05, 0.05, 0.15, 0],
    [0, 0, 0.20, 0],
    [0.05, 0, 0.15, 0.20],
]
### END SOLUTION
### BEGIN GIVEN
# table = [  # emitted:  a, b, c, d
#     [None, None, None, None],  # drafted a
#     [None, None, None, None],  # drafted b
#     [None, None, None, None],  # drafted c
#     [None, None, None, None],  # drafted d
# ]
### END GIVEN
for token, column in zip("abcd", zip(*table, strict=True), strict=True):
    print(f"{token} is emitted with probability {sum(entry or 0 for entry in column):g}")

# %%
check.emission_table(*np.ravel(table))

# %% [markdown]
# <details><summary>Hint</summary>
#
# Row x adds up to q(x). Begin with the diagonal, min(p(x), q(x)); what is left of q(x) goes to other columns.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# a and c are never rejected. Of b 0.20 are left and of d 0.20: a quarter of each goes to a, three quarters to c.
#
# </details>
#
# minutes: 8 · points: 4 · needs: overlap_by_hand, residual_by_hand

# %% [markdown]
# ## 5. How far ahead? (core)
#
# A round emits E[N] = 1 + α + … + α^γ tokens on average and takes the time of γc + 1 target runs, where c is what a draft run
# takes in units of a target run. The quotient of the two is the improvement factor (Leviathan et al., 2023, Thm. 3.8). For
# α = 3/4 and c = 1/8: which γ is best, and how many times as fast as plain decoding is it? Give the factor to three digits
# at least.
#
# **Example:** for α = 1/2 and c = 1/4 the factors for γ = 0, 1, 2 are 1, 1.5/1.25 = 1.2 and 1.75/1.5 = 1.17. So γ = 1 is best.

# %%
### BEGIN SOLUTION
gamma_star, factor = 4, 2.034
### END SOLUTION
### BEGIN GIVEN
# gamma_star, factor = None, None
### END GIVEN

# %%
check.gamma_by_hand(gamma_star, factor)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Each γ adds one term to the numerator and 1/8 to the denominator. Go on as long as the quotient rises.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# E[N] is 1, 1.75, 2.3125, 2.734 for γ = 0, 1, 2, 3. It is one more than the drafts that are accepted on average.
#
# </details>
#
# minutes: 6 · points: 4 · needs: nothing

# %% [markdown]
# ## 6. The acceptance rate (core)
#
# Exercise 1 as a function of arrays. A draft is judged by how much of its mass lies where the target's does:
# α = Σ min(p, q), with the sum over the vocabulary. Several pairs come at once, stacked along leading axes.
#
# **Shapes:** `p` and `q` are `(…, v)`, `alpha` is `(…)`.
#
# **Example:** `acceptance_rate(np.array([0.9, 0.1]), np.array([0.6, 0.4]))` is 0.7.


# %%
def acceptance_rate(p, q):
    """The probability that a token drawn from q is accepted against p.

    p, q   distributions along the last axis, (…, v)
    """
    ### BEGIN SOLUTION
    return np.sum(np.minimum(p, q), axis=-1)
    ### END SOLUTION


# %%
check.acceptance_rate(acceptance_rate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `np.minimum(p, q)` compares entry by entry; `np.min` would look for one smallest number.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# With `axis=-1` the sum runs over the vocabulary, and whatever axes stand before it are left.
#
# </details>
#
# minutes: 5 · points: 4 · needs: nothing

# %% [markdown]
# ## 7. The residual (core)
#
# Exercise 2 as a function of arrays: (p − q) where it is positive, 0 elsewhere, and each row divided by its own sum. Where
# p = q nothing is left to divide. Nothing is ever rejected there, except by a rounding error; so that such a round still goes
# on, the residual of that row is p itself.
#
# **Shapes:** `p`, `q` and the result are `(…, v)`.
#
# **Example:** `residual(np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7]))` is `[0.8 0.2 0. ]`, and `residual(p, p)` is `p`.


# %%
def residual(p, q):
    """The distribution from which a token is drawn after a rejection; p itself in a row with p = q.

    p, q   distributions along the last axis, (…, v)
    """
    ### BEGIN SOLUTION
    missing = np.maximum(p - q, 0)
    missing = np.where(np.any(missing > 0, axis=-1, keepdims=True), missing, p)
    return missing / np.sum(missing, axis=-1, keepdims=True)
    ### END SOLUTION


# %%
check.residual(residual)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `np.maximum(p - q, 0)`, and a sum along the last axis with `keepdims=True`, so that it lines up with its row.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# Find the rows whose sum is 0 and put p there *before* you divide: `np.where(total > 0, missing, p)`. Then divide by the sum
# of what you have now.
#
# </details>
#
# minutes: 10 · points: 6 · needs: nothing

# %% [markdown]
# ## 8. Verify and emit (core)
#
# The heart of it (Leviathan et al., 2023, Alg. 1). In each sequence of a batch, walk through the γ drafted tokens and stop at
# the first with r·q(x) ≥ p(x), the r being the first γ uniforms of that sequence. Emit the drafts before it and one token
# more: from the residual of its position, or, if all γ stand, from the target's last row. That one is drawn with the last
# uniform, wherever the walk ended. Sequences stop independently of each other; fill up with −1, and leave the caller's
# arrays as they were.
#
# **Shapes:** `draft_tokens` `(batch, γ)`, `draft_probs` `(batch, γ, v)`, `target_probs` `(batch, γ + 1, v)`, `uniforms`
# `(batch, γ + 1)`; it returns `tokens` `(batch, γ + 1)` and `accepted` `(batch,)`, whole numbers. γ ≥ 1.
#
# **Example:** with γ = 1, v = 2, a drafted token 1, q = (0.6, 0.4), rows (0.9, 0.1) and (0.5, 0.5) of p and uniforms
# (0.2, 0.7), 0.2 · 0.4 < 0.1, so token 1 stands, and 0.7 draws token 1 from the last row: `tokens` is `[[1, 1]]`, `accepted`
# is `[1]`. With uniforms (0.3, 0.7) they are `[[0, -1]]` and `[0]`.


# %%
def verify(draft_tokens, draft_probs, target_probs, uniforms):
    """Which drafted tokens stand, and what each sequence of the batch emits.

    Returns (tokens, accepted): accepted drafts, one token more, then −1; and how many drafts were accepted.

    draft_tokens   what was drafted, (batch, γ)
    draft_probs    the rows it was drawn from, (batch, γ, v)
    target_probs   the target's rows at the same positions and one beyond, (batch, γ + 1, v)
    uniforms       numbers in [0, 1): γ tests, then the draw of the last token, (batch, γ + 1)
    """
    ### BEGIN SOLUTION
    batch, gamma = draft_tokens.shape
    tokens, accepted = np.full((batch, gamma + 1), -1), np.zeros(batch, dtype=int)
    for b in range(batch):
        n = 0
        while n < gamma:
            x = draft_tokens[b, n]
            if uniforms[b, n] * draft_probs[b, n, x] >= target_probs[b, n, x]:
                break
            n += 1
        row = target_probs[b, gamma] if n == gamma else residual(target_probs[b, n], draft_probs[b, n])
        tokens[b, :n] = draft_tokens[b, :n]
        tokens[b, n] = sample(row, uniforms[b, gamma])
        accepted[b] = n
    return tokens, accepted
    ### END SOLUTION


# %%
check.verify(verify)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A loop over the batch and one over the positions is fine. Count n up while the draft at position n stands; then n is both
# the number of accepted drafts and the position of the token that is still to be drawn.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# `row = target_probs[b, gamma] if n == gamma else residual(target_probs[b, n], draft_probs[b, n])`. It remains to fill
# `tokens[b, :n]` and `tokens[b, n]`, in an array that was full of −1.
#
# </details>
#
# minutes: 30 · points: 13 · needs: residual

# %% [markdown]
# ## 9. What a round is worth (core)
#
# Two functions. `expected_tokens` is E[N] = 1 + α + … + α^γ (Leviathan et al., 2023, eq. 1), `improvement_factor` is
# E[N] / (γc + 1) (Thm. 3.8). α is a number or an array of numbers from 0 to 1, both ends included; γ is a whole number ≥ 0,
# c a number ≥ 0.
#
# **Shapes:** the results have the shape of `alpha`.
#
# **Example:** `expected_tokens(0.5, 2)` is 1.75, and `improvement_factor(0.5, 2, 0.25)` is 1.75 / 1.5 = 1.167.


# %%
def expected_tokens(alpha, gamma):
    """How many tokens a round emits on average."""
    ### BEGIN SOLUTION
    return sum(alpha**i for i in range(gamma + 1))
    ### END SOLUTION


def improvement_factor(alpha, gamma, c):
    """How many times as fast as decoding token by token; c is the time of a draft run in units of a target run."""
    ### BEGIN SOLUTION
    return expected_tokens(alpha, gamma) / (gamma * c + 1)
    ### END SOLUTION


# %%
check.factors(expected_tokens, improvement_factor)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Check your function at both ends: for α = 0 a round emits 1 token, for α = 1 it emits γ + 1.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# The closed form divides 0 by 0 at α = 1. A sum over i = 0, …, γ of `alpha**i` does not, and it works for arrays as it is.
#
# </details>
#
# minutes: 8 · points: 5 · needs: nothing

# %% [markdown]
# ## 10. The best γ (stretch)
#
# Which γ from 0 to `gamma_max`, both included, has the largest improvement factor? Where several are equally good, as with
# α = c, return the smallest: it does less work for the same speed. The checks have ties only among numbers that binary
# fractions hold exactly and whose factors are exactly 1, so you may compare floats as they are.
#
# **Takes:** two numbers and a whole number. **Returns:** a whole number.
#
# **Example:** `best_gamma(0.5, 0.25, 8)` is 1; `best_gamma(0.5, 0.5, 8)` is 0, since γ = 1 has the factor 1.5/1.5.


# %%
def best_gamma(alpha, c, gamma_max):
    """The γ in 0, …, gamma_max with the largest improvement factor, the smallest of them if there are several."""
    ### BEGIN SOLUTION
    best, largest = 0, 1.0
    for gamma in range(1, gamma_max + 1):
        factor = improvement_factor(alpha, gamma, c)
        if factor > largest:
            best, largest = gamma, factor
    return best
    ### END SOLUTION


# %%
check.best_gamma(best_gamma)

# %% [markdown]
# <details><summary>Hint</summary>
#
# γ = 0 is the choice not to draft. Its factor is 1, and any other γ has to beat that.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# Go upwards, keep the best so far, and replace it only by a factor that is larger (`>`).
#
# </details>
#
# minutes: 8 · points: 4 · needs: factors

# %% [markdown]
# ## 11. The whole loop (core)
#
# Now for two models and one prompt. Draft γ tokens one after another, verify them, add what is emitted to the text, and go
# on until there are `n_new` new tokens; what the last round gives beyond them is cut off.
#
# - `model(sequences, n_last)` takes a list of sequences and gives the rows after each one's last `n_last` prefixes, as
#   `(batch, n_last, v)`. So `draft([ids], 1)` holds the row for the next token, and `target([ids + drafts], γ + 1)` in one
#   run the γ + 1 rows that `verify` wants. Here the batch is 1.
# - `random(*shape)` gives an array of uniforms. In every round, the last one too, take `random(1)` to draw each drafted token
#   with `sample`, and then `random(1, gamma + 1)` for `verify`.
#
# **Takes:** two models, a list of token ids, two whole numbers, a function. **Returns:** a list of `n_new` ids.
#
# **Example:** let `two` be a model whose rows are all (0, 0, 1, 0). `speculative_decode(two, two, [3], 5, 2, random)` is
# `[2, 2, 2, 2, 2]`: each round gives three tokens, and of the second round's three, two are wanted.


# %%
def speculative_decode(draft, target, prompt, n_new, gamma, random):
    """The n_new tokens after the prompt, written in rounds of γ drafts. The caller's prompt stays as it was."""
    ### BEGIN SOLUTION
    ids = list(prompt)
    while len(ids) < len(prompt) + n_new:
        ahead, rows = list(ids), []
        for _ in range(gamma):
            row = draft([ahead], 1)[:, 0]
            ahead.append(int(sample(row, random(1))[0]))
            rows.append(row)
        drafted = np.array([ahead[len(ids) :]])
        target_rows = target([ahead], gamma + 1)
        tokens, accepted = verify(drafted, np.stack(rows, axis=1), target_rows, random(1, gamma + 1))
        ids += tokens[0, : accepted[0] + 1].tolist()
    return ids[len(prompt) : len(prompt) + n_new]
    ### END SOLUTION


# %%
check.speculative_decode(speculative_decode)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Keep two lists: `ids`, the text so far, and `ahead`, a copy of it that the draft makes longer. When the round is over,
# `ids` gets what was emitted, and `ahead` is forgotten.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# `draft([ahead], 1)[:, 0]` is a row `(1, v)`; γ of them, `np.stack(rows, axis=1)`, are `draft_probs` `(1, γ, v)`. Of `tokens`
# the first `accepted[0] + 1` entries are new text. Cut at the very end: `[:n_new]`.
#
# </details>
#
# minutes: 25 · points: 6 · needs: verify

# %% [markdown]
# **Watch it write.** Two models that have counted words in some pages of prose: the draft looks two tokens back, the target
# four. Try other values of γ: the number of runs changes, while the text stays a sample from the target alone.

# %%
prose = sample_text("prose")
words = Vocabulary.train(prose, 1000)
large = NGramModel.train(words.encode(prose), words.size, order=5)
small = large.lower(3)


def watch(gamma, n_new=80, seed=0):
    """Writes a text, and says how many runs of the target that took."""
    generator, runs = np.random.default_rng(seed), 0

    def target(sequences, n_last):
        nonlocal runs
        runs += 1
        return large(sequences, n_last)

    start = words.encode("The statement")
    new = speculative_decode(small, target, start, n_new, gamma, lambda *shape: generator.random(shape))
    print(words.decode(start + new))
    print(f"\nγ = {gamma}: {len(new)} tokens from {runs} runs of the target, {len(new) / runs:.2f} a run")


try:
    watch(gamma=4)
except NotImplementedError:
    print("first write speculative_decode")

# %% [markdown]
# ## 12. Why may it not be p? (core)
#
# Somebody finds the residual needlessly complicated and changes the line after a rejection: the token is drawn from p itself,
# "since p is the distribution that we want". Explain to them in four or five sentences why the text is then no longer the
# target's. Say what comes out instead, for any p and q, and with numbers for the pair of exercise 1. And is there a place in
# the round where a draw from p is right? A person reads your answer.

# %% [markdown] written="why_not_p"
# Acceptance has already emitted x with probability q(x)·min(1, p(x)/q(x)) = min(p(x), q(x)). What is still missing of p is
# p − min(p, q) = (p − q)₊, and the residual gives back just that, in the 1 − α of all cases in which a draft is rejected. A
# draw from p would give (1 − α)·p(x) on top instead, so that x comes out with min(p(x), q(x)) + (1 − α)·p(x): tokens that
# the draft overrates have all of p from acceptance alone, and get more; those that it underrates stay short. For the pair
# of exercise 1 with α = 0.6 that is a 0.15 + 0.4 · 0.25 = 0.25, b 0.05 + 0.4 · 0.05 = 0.07, c 0.20 + 0.4 · 0.50 = 0.40, d
# 0.20 + 0.4 · 0.20 = 0.28, and not 0.25, 0.05, 0.50, 0.20. After the last draft, when all were accepted, a draw from p is
# right: nothing was proposed at that position, so nothing has been delivered, and with q = 0 the residual is p.

# %% [markdown]
# <details><summary>Hint</summary>
#
# Take your table of exercise 4 and change two rows of it: what was rejected is now spread over the columns as p says.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# Tokens come from two sources, acceptance and redrawing. What has the first source given to each token already?
#
# </details>
#
# minutes: 8 · points: 4 · needs: emission_table

# %% [markdown]
# ## What the hunts are about
#
# All three are about one round: γ tokens were drafted, each drawn from its row q, and the target has a row p for each of them
# and one more for the token after. **Four rules** make the text that is emitted the target's own:
#
# 1. From left to right, a drafted token x stands with probability min(1, p(x)/q(x)).
# 2. The first that does not stand is replaced by a draw from norm((p − q)₊), and the round ends. (Where rounding leaves nothing
#    of p − q, the draw is from p.)
# 3. If all of them stand, one more token is drawn from the target's last row.
# 4. Every sequence of a batch has draws and a length of its own.
#
# `sample(p, u)` draws a token for each row of `p`, by means of a number `u` in [0, 1) for each. Randomness comes in as a
# function: `random(3, 2)` gives a 3×2 array of such numbers, and `random()` a single one. `seeded` makes an honest one;
# `always` makes one that gives the same number again and again, so that the order of the draws does not matter: under
# `always(0.0)` whatever may stand stands, and under `always(1 - 2**-24)` whatever may fall falls.


# %%
def seeded(seed):
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.random(shape)


def always(u):
    return lambda *shape: np.full(shape, u)


# %% [markdown]
# ## 13. Bug hunt: one round for a batch (core)
#
# `speculative_step` drafts `gamma` tokens for each sequence, lets the target look at all of them once, and returns what each
# sequence gets. Its author tried it on one sequence of one token, saw drafted tokens come out, and was content. **Five things
# are wrong with it.** Run the cell as it is; before you mend anything, hunt for inputs that show the faults.
#
# **Shapes:** `tokens` is `(batch, n)`. `draft` and `target` map it to rows `(batch, n, v)`: row i is the distribution of the
# token after the first i + 1. Returned is a list for each sequence, of 1 to γ + 1 new tokens.
#
# **Example:** if both models count, so that t + 1 follows t, the text `[[3, 1, 4]]` with `gamma=2` must give `[[5, 6, 7]]`.


# %%
def speculative_step(draft, target, tokens, gamma, random):
    """One round of speculative decoding for a batch, by the four rules: a list of new tokens for each sequence."""
    ### BEGIN SOLUTION
    batch, n = tokens.shape
    text, q = tokens, []
    for _ in range(gamma):
        rows = draft(text)[:, -1]
        text = np.concatenate([text, sample(rows, random(batch))[:, None]], axis=1)
        q.append(rows)
    p = target(text)[:, n - 1 :]
    emitted = []
    for b in range(batch):
        new = []
        for i, x in enumerate(text[b, n:].tolist()):
            if random() * q[i][b, x] >= p[b, i, x]:
                missing = np.maximum(p[b, i] - q[i][b], 0)
                new.append(int(sample(missing if missing.any() else p[b, i], random())))
                break
            new.append(x)
        else:
            new.append(int(sample(p[b, gamma], random())))
        emitted.append(new)
    return emitted
    ### END SOLUTION
    ### BEGIN GIVEN
    # text, drafted, q_drafted = tokens, [], []
    # for _ in range(gamma):
    #     rows = draft(text)[:, -1]
    #     x = sample(rows, random(len(rows)))
    #     text = np.concatenate([text, x[:, None]], axis=1)
    #     drafted.append(x)
    #     q_drafted.append(np.take_along_axis(rows, x[:, None], axis=1))
    # p = target(text)[:, len(tokens) - 1 :]
    # emitted = []
    # for i in range(gamma):
    #     p_drafted = np.take_along_axis(p[:, i], drafted[i][:, None], axis=1)
    #     if np.all(random() * q_drafted[i] < p_drafted):
    #         emitted.append(drafted[i])
    #     else:
    #         emitted.append(sample(np.maximum(p[:, i] - q_drafted[i], 0), random(len(tokens))))
    #         break
    # return np.stack(emitted, axis=1).tolist()
    ### END GIVEN


# %% [markdown]
# ### First, inputs that show it
#
# You need no right code to know that this code is wrong. **A draft that is its own target is never turned down**: when both
# models are `counting`, the first new token is the last old one plus 1 (after 9 comes 0), whatever `random` gives. And **what
# lies beside a sequence must not matter**: with the draft `hare`, the target `tortoise` and `always(0.5)`, a sequence gets in
# any company what it gets beside a copy of itself. Both times `gamma` is 1.
#
# - `failing_tokens`: the smallest array of tokens from 0 to 9 on which the code, `counting` by `counting`, raises an error or
#   gives a wrong first token.
# - `failing_pair`: two sequences of two tokens from 0 to 2, as alike as possible, of which one gets something else than it
#   gets beside itself (or an error).
#
# **Example:** the code fails on `[[3, 1, 4], [1, 5, 9]]`, but most of these six numbers have no part in it. The pair
# `[[0, 2], [0, 2]]` gets `[[1], [1]]`, so `[0, 2]` should get `[1]` beside any other sequence.


# %%
def counting(tokens):
    return np.eye(10)[(tokens + 1) % 10]


def hare(tokens):
    return np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.3, 0.4, 0.3]])[tokens]


def tortoise(tokens):
    return np.array([[0.6, 0.2, 0.2], [0.1, 0.1, 0.8], [0.5, 0.3, 0.2]])[tokens]


# %%
### BEGIN SOLUTION
failing_tokens = np.array([[0, 5]])
failing_pair = np.array([[0, 1], [0, 2]])
### END SOLUTION
### BEGIN GIVEN
# failing_tokens = None  # an array of shape (batch, n), in place of None
# failing_pair = None  # an array of shape (2, 2)
### END GIVEN

# %%
check.failing_input(failing_tokens, failing_pair)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Call `speculative_step(counting, counting, np.array(…), 1, always(0.5))` on arrays of several shapes. When one fails, take a
# row or a column away and call it again.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# For the pair, look at which last tokens have their draft accepted: compare `hare` with `tortoise` row by row, for the token
# that `hare` drafts at u = 0.5. Then put one that accepts beside one that does not.
#
# </details>
#
# minutes: 8 · points: 4 · needs: nothing

# %% [markdown]
# ### Then, the mend
#
# Go back to `speculative_step` and mend its five faults, so that it keeps the four rules. (The check above has a copy of
# the faulty code, so its points are safe.) Each case below is broken by one of the faults, the last by nearly all of them.
#
# **Example:** `speculative_step(hare, tortoise, np.array([[0, 1], [0, 2]]), 1, always(0.5))` must give `[[2], [1, 2]]`. And if
# q = (0.5, 0.5) and p = (0.2, 0.8) everywhere, of 400 equal sequences in one call about 80 begin with token 0; the faulty code
# lets about 200 begin with it, or none.

# %%
check.speculative_step(speculative_step)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Write down the shape of everything that is added, subtracted or compared, for a batch of 2 and a text of 3. Three of the
# faults are then in plain sight.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# Sequences end their rounds at different places, and arrays have one length. It is easiest to draft for the whole batch, and
# then to go through the sequences one by one, each with a list, a loop and a `break` of its own; `for … else` runs the `else`
# when no `break` ended the loop.
#
# </details>
#
# minutes: 22 · points: 14 · needs: nothing

# %% [markdown]
# ## 14. Bug hunt: a verifier for greedy decoding (core)
#
# Somebody simplified verification: a drafted token stands if it is the one that the target thinks likeliest, and is replaced
# by that one if not. For greedy decoding this is right, but for a token that it leaves out; under sampling it is not, and
# nothing warns you. It never reads two of its arguments, which is reason enough to be suspicious.
#
# **Shapes:** one sequence; `draft_tokens` is `(γ,)`, drawn from the rows of `draft_probs`, `(γ, v)`; `target_probs` is
# `(γ + 1, v)`. Returned is a list of 1 to γ + 1 tokens.
#
# **Example:** q = (0.9, 0.1), p = (0.6, 0.4), and token 0 was drafted. It stands with probability 2/3, else 1 is emitted.


# %%
def verify_draft(draft_tokens, draft_probs, target_probs, random):
    """The new tokens of one sequence, by the four rules."""
    ### BEGIN SOLUTION
    emitted = []
    for i, x in enumerate(draft_tokens):
        q, p = draft_probs[i], target_probs[i]
        if random() * q[x] >= p[x]:
            missing = np.maximum(p - q, 0)
            return [*emitted, int(sample(missing if missing.any() else p, random()))]
        emitted.append(int(x))
    return [*emitted, int(sample(target_probs[-1], random()))]
    ### END SOLUTION
    ### BEGIN GIVEN
    # emitted = []
    # for x, p in zip(draft_tokens, target_probs):
    #     best = int(np.argmax(p))
    #     emitted.append(best)
    #     if best != x:
    #         break
    # return emitted
    ### END GIVEN


# %% [markdown]
# ### First, the smallest counterexample
#
# Give two rows and a token: one token is drafted with probabilities `hunt_q`, and the faulty code verifies it against `hunt_p`.
# Over all drafts it then emits `hunt_token` with a probability that differs from `hunt_p[hunt_token]` by at least 0.05.
# `hunt_share` says which probability that is. Use as few tokens in the vocabulary as will do.
#
# **Example:** with `hunt_p = [1.0, 0.0]` there is nothing to find: token 0 should always be emitted, and is.

# %%
### BEGIN SOLUTION
hunt_p = [0.6, 0.4]
hunt_q = [0.5, 0.5]
hunt_token = 1
hunt_share = 0.0
### END SOLUTION
### BEGIN GIVEN
# hunt_p = None  # a list of probabilities
# hunt_q = None  # another, as long
# hunt_token = None
# hunt_share = None  # the probability with which the faulty code emits hunt_token
### END GIVEN

# %%
check.counterexample(hunt_p, hunt_q, hunt_token, hunt_share)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Fix any p and go through the tokens that may be drafted. What does the code emit for each of them?
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# It emits the likeliest token of p, whatever was drafted. For which p would that be right?
#
# </details>
#
# minutes: 4 · points: 3 · needs: nothing

# %% [markdown]
# ### Then, the mend
#
# Make `verify_draft` exact under sampling. It must stay right for greedy decoding, where a row of the target has a single 1
# in it: that needs no case of its own.
#
# **Example:** with p = (0.3, 0.4, 0.3) and q = (0.9, 0.05, 0.05), about 300 of 1,000 rounds begin with token 0. Of the faulty
# code's rounds none does; of one that accepts rightly, but draws each replacement from p, about 480.

# %%
check.verify_draft(verify_draft)

# %% [markdown]
# <details><summary>Hint</summary>
#
# For each drafted token there is one test, `random() * q[x] < p[x]`, and for each round one draw at its end: from the residual
# after a rejection, from the last row of `target_probs` otherwise.
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# `zip` stops at the shorter of its arguments, and `target_probs` has one row more than there are drafted tokens.
#
# </details>
#
# minutes: 11 · points: 7 · needs: nothing

# %% [markdown]
# ## 15. Break the checker (stretch)
#
# Now you are the one who checks. Write `is_wrong`, a test that finds out whether a verifier breaks one of the four rules. It
# does not look at the code: it may call `verify` as often as it likes, with rows, tokens and a `random` of its choice. There is
# more than one right way to draw a token, so a right verifier may call `random` in another order, or more often, and emit other
# tokens under the same seed. Your test must let all of them pass: each case below brings a wrong verifier and a right one, and
# counts only if you tell them apart.
#
# **Shapes:** `verify(draft_tokens, draft_probs, target_probs, random)` takes a batch, `(batch, γ)`, `(batch, γ, v)` and
# `(batch, γ + 1, v)`, and returns a list of new tokens for each sequence, like `speculative_step`. Draw the drafted tokens
# from the rows that you hand in, or no verifier can be right.
#
# **Example:** at q = (0.2, 0.3, 0.5) and p = (0.6, 0.3, 0.1) a right verifier begins 60 % of its rounds with token 0. One that
# replaces a rejected token by a draw from p begins 44 % with it. Of 2,500 rounds that is 400 fewer, and chance accounts for
# some 24 (√(2,500 · 0.6 · 0.4)).


# %%
def is_wrong(verify):
    """Whether the verifier breaks a rule: True or False, after about a second at most."""
    ### BEGIN SOLUTION
    q = np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3]])
    p = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.6, 0.1]])
    want = {}
    for x in range(3):
        want[x,] = max(p[0, x] - q[0, x], 0)
        for y in range(3):
            want[x, y] = min(p[0, x], q[0, x]) * max(p[1, y] - q[1, y], 0)
            for z in range(3):
                want[x, y, z] = min(p[0, x], q[0, x]) * min(p[1, y], q[1, y]) * p[2, z]
    # Two kinds of sequences in one batch: the second half has the vocabulary turned round.
    n, random = 2500, seeded(13)
    rows_q, rows_p = (np.concatenate([np.tile(r, (n, 1, 1)), np.tile(r[:, ::-1], (n, 1, 1))]) for r in (q, p))
    emitted = verify(sample(rows_q, random(2 * n, 2)), rows_q, rows_p, random)
    for kind in (emitted[:n], [[2 - x for x in new] for new in emitted[n:]]):
        got = [tuple(new) for new in kind]
        if set(got) - set(want):
            return True
        # Five standard deviations: chance alone goes that far about once in a million.
        if any(abs(got.count(new) - n * share) > 5 * np.sqrt(n * share) + 1 for new, share in want.items()):
            return True
    return False
    ### END SOLUTION


# %%
check.is_wrong(is_wrong)

# %% [markdown]
# <details><summary>Hint</summary>
#
# With the same rows for thousands of sequences, one call gives thousands of rounds. Choose γ = 2 and three tokens, and work out
# how often each round can occur: `[x]` with (p₁(x) − q₁(x))₊, because that is what the residual makes up for; `[x, y]` with
# min(p₁(x), q₁(x)) · (p₂(y) − q₂(y))₊; and `[x, y, z]`?
#
# </details>
# <details style="margin-bottom: 1em"><summary>A second hint</summary>
#
# How many rounds are enough? A share counted over n rounds is off by at most 1/(2√n) or so. Let your limit be five times that,
# and a right verifier hardly ever crosses it; to catch a share that is wrong by d as surely, d must be twice the limit. So n
# must be at least 25/d²: 2,500 rounds for d = 0.1. Rows that lie far apart make d large. And let the batch hold two kinds of
# sequences, in case somebody reads the rows of the wrong one.
#
# </details>
#
# minutes: 20 · points: 12 · needs: nothing

# %% [markdown]
# ## Where you are

# %%
check.progress()
