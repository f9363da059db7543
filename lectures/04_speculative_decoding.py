# %% [markdown]
# # 04 · Speculative decoding
#
# <!-- badges -->
#
# A large model writes one token after another and reads all its weights for each. Here a small model guesses the next
# few tokens, and the large one checks all of the guesses in a *single* pass. What is right stays, what is wrong is
# corrected, and the text is distributed exactly as if the large model had written it alone. You see why that works, you
# measure what it gains, and you meet the cases in which it loses.
#
# **Afterwards you can**
#
# - say why one pass over several positions may take as long as one over a single position, and where it does not;
# - carry out a round by hand: which drafted tokens stand, and what replaces the first that does not;
# - prove that the text is distributed as the target's own, and show which small change breaks that;
# - work out tokens a round, the improvement factor and the best number of drafted tokens from α and c;
# - predict when speculation loses: poor drafts, dear drafts, large batches, positions that are not nearly free;
# - tell the members of the family apart, and say which of them keep the guarantee.
#
# **90 minutes** · one processor core and 2 GB of memory are enough · no GPU, no network

# %% tags=["setup"]
# Written by `course sync`.

# %% [markdown]
# ## Why does decoding have room to spare?
#
# *If writing one token takes a whole pass over the weights, could the same pass look at more than one?*
#
# In unit 00 a decoder turned out to wait for bytes. Each pass reads every weight, and with a single token to a pass
# there is hardly anything to do with a weight once it has come. A pass that looks at $m$ positions reads the same bytes
# and does $m$ times the arithmetic, so it takes at least
#
# $$t(m) = \max\left(\frac{\text{bytes of weights and cache}}{\text{bandwidth}},\; m \cdot \frac{\text{operations of
# one position}}{\text{operations a second}}\right).$$
#
# While the first term is the larger one, further positions are free. The number of positions at which the two terms
# meet is the *room* that decoding has.

# %%
import os

# Before NumPy is loaded: one core, as in lecture 00.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from course_lib.costs import DEVICES, PRESETS, decode_bound

llama, h100 = PRESETS["Llama-3.1-8B"], DEVICES["H100 SXM"]
bound = decode_bound(llama, n=1024, device=h100)
room = bound.bandwidth_seconds / bound.compute_seconds
print(f"{llama.name} on an {h100.name}: reading {bound.bandwidth_seconds * 1e3:.2f} ms,")
print(f"multiplying for one position {bound.compute_seconds * 1e3:.3f} ms:")
print(f"room for {room:.0f} positions")

# %% [markdown]
# So on paper a pass over five positions takes this GPU exactly as long as one over a single position. Chen et al.
# (2023, section 1) build on that observation, and Leviathan et al. (2023, section 3.3) take it as the premise of all
# their formulas.


# %%
def pass_seconds(m):
    return max(bound.bandwidth_seconds, m * bound.compute_seconds)


assert pass_seconds(5) == pass_seconds(1)
assert pass_seconds(2 * room) == 2 * pass_seconds(1)

# %% [markdown]
# Paper is patient. The stand-in of lecture 00, twelve matrices of 2048 × 2048 numbers, is large enough that one core
# has to wait for its bytes too.
#
# **Your guess first.** How many times as long as a pass over one position does a pass over five take *here*, with
# 32-bit weights in NumPy?

# %%
from course_lib.explore import Prediction

guess_verification = Prediction(
    "04.verification",
    "A pass over five positions against one over one position: how many times as long?",
    unit="times",
    low=0.5,
    high=10,
    log=True,
)
guess_verification

# %%
import torch

from course_lib.costs.measure_walls import measure_passes, random_weights, reading_rate
from course_lib.speculation.weight_bound import sixteen_bit_weights

torch.set_num_threads(1)
matrices = random_weights(n_matrices=12, width=2048)
halves = sixteen_bit_weights(n_matrices=12, width=2048)
look_at = (1, 2, 3, 5, 9, 17)
stacks = {
    "32 bits, NumPy": measure_passes(matrices, look_at),
    "16 bits, torch": measure_passes(halves, look_at),
}
for name, runs in stacks.items():
    print(f"{name}, one position {runs[0].seconds_per_token * 1e3:.1f} ms; beside that")
    for run in runs[1:]:
        times = run.positions * run.seconds_per_token / runs[0].seconds_per_token
        print(f"    {run.positions:>2} positions {times:5.2f}")

# %%
from course_lib.explore.speculation_figures import room_figure

(many,), rate = measure_passes(matrices, (64,)), reading_rate(matrices)
# A 32-bit weight is four bytes and two operations.
room_here = 4 / 2 * many.flops_per_second / rate
print(f"room on this core: {room_here:.1f} positions")
room_figure(stacks, room_here)

# %%
from course_lib.explore import reference

recorded = reference.load("speculation")
verification = {}
for name, runs in stacks.items():
    five = runs[look_at.index(5)]
    verification[name] = 5 * five.seconds_per_token / runs[0].seconds_per_token
guess_verification.reveal(verification["32 bits, NumPy"], recorded)

# %% [markdown]
# The same machine, the same matrices, and two answers. One reason is the room, which on a single core is a few
# positions where the GPU has hundreds. The other is the program. For 32-bit numbers NumPy multiplies one vector at the
# speed of memory; with two it turns to a product of matrices and first rearranges all weights (lecture 00), so that the
# second position costs most and the next few cost little. In the reference run torch's 16-bit kernel takes hardly
# longer for five positions than for one, and so keeps the premise in its own way: one is already slow.

# %%
in_32_bits = recorded.values["04.verification"]
in_16_bits = recorded.values["04.verification_bfloat16"]
print(f"reference run: {in_32_bits:.2f} with 32 bits, {in_16_bits:.2f} with 16")
assert in_16_bits < 1.5 < 2 < in_32_bits

# %% [markdown]
# So the premise is a property of the machine *and* its library, and has to be measured. We call that number
# *verification*: the time of a pass over $\gamma + 1$ positions in units of a pass over one. The papers take it to be
# 1; you will carry the measured one through all that follows. The same on a GPU, if there is one here:

# %%
if torch.cuda.is_available():
    torch.manual_seed(0)
    half = {"device": "cuda", "dtype": torch.float16}
    gpu_matrices = [torch.randn(8192, 8192, **half) / 8192**0.5 for _ in range(6)]
    gpu_passes = measure_passes(gpu_matrices, look_at, synchronize=torch.cuda.synchronize)
    gpu_one = gpu_passes[0].seconds_per_token
    for run in gpu_passes:
        times = run.positions * run.seconds_per_token / gpu_one
        print(f"{run.positions:>2} positions  {times:5.2f} of one")
    del gpu_matrices
else:
    print("No GPU here. On a data-centre GPU all of these should stay near 1.")

# %% [markdown]
# The trade-off of this section: looking ahead costs arithmetic, and arithmetic is free only as long as the device waits
# for bytes.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> A model is stored in 4-bit weights and multiplied
# in 16 bits. Does it have more room for extra positions, or less?</summary>
#
# Less: a quarter of the bytes are read in a quarter of the time, while the arithmetic of a position stays the same. The
# next cell counts it.
# </details>
#
# Sources: Leviathan et al. (2023), *Fast Inference from Transformers via Speculative Decoding*, sections 1 and 3.3 ·
# Chen et al. (2023), *Accelerating Large Language Model Decoding with Speculative Sampling*, section 1 · Williams et
# al. (2009), *Roofline*.

# %%
four_bit = decode_bound(llama, n=1024, device=h100, bytes_per_weight=0.5)
room_four_bit = four_bit.bandwidth_seconds / four_bit.compute_seconds
print(f"16-bit weights: room for {room:.0f} positions; 4-bit: {room_four_bit:.0f}")
assert 0.25 < room_four_bit / room < 0.27  # the cache stays in 16 bits

# %% [markdown]
# ## What happens in one round?
#
# *A pass can look at several positions, but the tokens at those positions have not been written yet. Where do they come
# from?*
#
# From a cheaper model. A *round* has three steps. The **draft** model, with distributions $q$, writes $\gamma$ tokens
# $x_1, \dots, x_\gamma$ one after another. The **target**, with distributions $p$, looks at all of them in one pass;
# under its causal mask no row sees what stands behind it, so that the pass gives
#
# $$p_1, \dots, p_{\gamma+1}, \qquad \text{rows of shape } (\gamma + 1, v),$$
#
# one for each drafted token and one for the place after the last. Then a **walk** from left to right decides which
# tokens stand. At the first that does not, it draws a replacement and stops; if all stand, row $\gamma + 1$ gives one
# token more. Either way a round emits at least one token and at most $\gamma + 1$.

# %%
from course_lib.explore.speculative_round import speculative_round

speculative_round()

# %% [markdown]
# Here is one by hand, with four words and two models that look at the last word only.

# %%
from course_lib.speculation import verify_and_emit

words = ["the", "cat", "sat", "down"]
target_table = np.array(
    [
        # the   cat   sat   down
        [0.05, 0.75, 0.05, 0.15],  # after "the"
        [0.05, 0.05, 0.80, 0.10],  # after "cat"
        [0.15, 0.05, 0.05, 0.75],  # after "sat"
        [0.60, 0.10, 0.10, 0.20],  # after "down"
    ]
)
draft_table = np.array(
    [
        [0.10, 0.60, 0.10, 0.20],
        [0.10, 0.10, 0.60, 0.20],
        [0.50, 0.10, 0.10, 0.30],
        [0.40, 0.20, 0.20, 0.20],
    ]
)


def last_word_model(table):
    """A model as the library calls it: rows after the last n_last prefixes."""

    def model(sequences, n_last):
        return np.stack([table[list(sequence[-n_last:])] for sequence in sequences])

    return model


draft, target = last_word_model(draft_table), last_word_model(target_table)

# %%
prefix, drafted = [0], [1, 2, 0]  # "the", then the draft "cat sat the"
q_rows = np.stack([draft([prefix + drafted[:i]], 1)[0, 0] for i in range(3)])
p_rows = target([prefix + drafted], 4)[0]  # one pass for all four rows
uniforms = np.array([0.50, 0.60, 0.90, 0.20])  # one for each test, one for the last token

for i, x in enumerate(drafted):
    ratio = p_rows[i, x] / q_rows[i, x]
    verdict = "stands" if uniforms[i] < ratio else "rejected"
    print(f"{words[x]:<5} q = {q_rows[i, x]:.2f}  p = {p_rows[i, x]:.2f}", end="")
    print(f"  p/q = {ratio:.2f}  r = {uniforms[i]:.2f}  {verdict}")

# %% [markdown]
# The first two stand: the target likes them better than the draft does. The third was drafted with probability 0.50,
# the target gives it 0.15, and the random number 0.90 is larger than the ratio 0.30. In its place comes "down", the
# only word to which the target gives more than the draft does. The library agrees; it fills up with −1.

# %%
emitted = verify_and_emit(np.array(drafted), q_rows, p_rows, uniforms)
print("emitted:", *(words[token] for token in emitted.tokens if token >= 0))
assert emitted.tokens.tolist() == [1, 2, 3, -1]
assert emitted.accepted == 2

# One pass over the whole draft gives the same rows as a pass for each prefix.
for i in range(4):
    assert np.array_equal(p_rows[i], target([prefix + drafted[:i]], 1)[0, 0])

# %% [markdown]
# Three tokens from one run of the target. Step through more rounds below: the slider walks through draft, pass, tests
# and replacement, and the line beneath the picture keeps count.

# %%
from course_lib.explore.rounds import round_player

round_player()

# %% [markdown]
# The loop around the round is `speculative_decode`. It counts runs of the target, and that count is what speculation is
# about.

# %%
from course_lib.speculation import decode, speculative_decode

alone = decode(target, [[0]], n_new=60, rng=np.random.default_rng(4))
helped = speculative_decode(draft, target, [[0]], 60, gamma=3, rng=np.random.default_rng(4))
print(" ".join(words[token] for token in helped.tokens[0][:12]), "…")
print(f"target runs: {alone.target_runs} alone, {helped.target_runs} with a draft")
print("drafts that stood, round by round:", helped.rounds[0])
assert alone.target_runs == 60 > helped.target_runs
# What stood, and one token more for each round; the last round may be cut off.
assert sum(n + 1 for n in helped.rounds[0]) >= 60

# %% [markdown]
# The trade-off: a round always pays for $\gamma$ drafts and a pass, and is paid back by as many tokens as stand.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> In the round above, for which random numbers would
# the third word have stood? And how many tokens would the round then have emitted?</summary>
#
# For $r < 0.15 / 0.50 = 0.30$. Then all three stand, and the fourth row of the pass, after the second "the", gives a
# fourth token.
# </details>
#
# Sources: Leviathan et al. (2023), Algorithm 1 · Chen et al. (2023), Algorithm 2.

# %%
luckier_uniforms = np.array([0.5, 0.6, 0.29, 0.2])
luckier = verify_and_emit(np.array(drafted), q_rows, p_rows, luckier_uniforms)
assert luckier.accepted == 3
assert luckier.tokens.tolist() == [1, 2, 0, 1]

# %% [markdown]
# ## When does a drafted token stand?
#
# *The draft will never agree with the target exactly. How much disagreement may be let through?*
#
# The draft over-proposes some tokens and under-proposes others. Let $p$ and $q$ be the two rows at one position, both
# of shape $(v)$, and $x$ the token that was drawn from $q$:
#
# $$\text{keep } x \text{ with probability } \min\left(1, \frac{p(x)}{q(x)}\right), \qquad \text{else draw from }
# p'(y) = \frac{\max(0,\, p(y) - q(y))}{\sum_z \max(0,\, p(z) - q(z))}.$$
#
# A token that the draft proposes too seldom always stands. One that it proposes too often stands just often enough. And
# a rejection is made good by the *residual* $p'$: the tokens that came too seldom, each by what it lacks.
#
# Work it out for four drinks before you run the cell.

# %%
from course_lib.speculation import acceptance_rate, residual

drinks = ["tea", "coffee", "water", "juice"]
p = np.array([0.40, 0.30, 0.20, 0.10])
q = np.array([0.20, 0.50, 0.10, 0.20])

stands = np.minimum(1, p / q)
print("stands with      ", stands)
print("drafted and kept ", np.minimum(p, q))
print("lacking          ", np.maximum(0, p - q).round(2))
print("residual         ", residual(p, q).round(3))

# %% [markdown]
# By hand: coffee is drafted with 0.5 and should come with 0.3, so it stands with probability 0.6, and juice with 0.5.
# Kept are 0.2, 0.3, 0.1 and 0.1, together $\alpha = 0.7$. Tea lacks 0.2 and water 0.1, so after a rejection tea comes
# with probability 2/3 and water with 1/3.

# %%
assert np.allclose(stands, [1, 0.6, 1, 0.5])
assert np.isclose(acceptance_rate(p, q), 0.2 + 0.3 + 0.1 + 0.1)
assert np.allclose(residual(p, q), [2 / 3, 0, 1 / 3, 0])
# What is lacking is what is rejected: 1 − α on both sides.
assert np.isclose(np.maximum(0, p - q).sum(), 1 - 0.7)

# %% [markdown]
# Now bend the two distributions yourself (A to D are the four drinks), and let rounds run. Three things to find:
#
# 1. a pair for which nothing is ever rejected;
# 2. a token that never comes from the residual, whatever else you change (what must hold for it?);
# 3. the two other rules of the menu: to which distribution does each of them converge?

# %%
from course_lib.explore.rejection_rule import rejection_rule_explorer

rejection_rule_explorer(tuple(p), tuple(q))

# %% [markdown]
# The trade-off: the rule keeps all of the agreement there is, and not a grain more.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> Can the residual ever return the very token that
# has just been rejected?</summary>
#
# No. A token can only be rejected where $q(x) > p(x)$, and there the residual is zero.
# </details>
#
# Sources: Leviathan et al. (2023), section 2.3 · Chen et al. (2023), Algorithm 2.

# %%
rejectable = stands < 1
assert (residual(p, q)[rejectable] == 0).all()

# %% [markdown]
# ## Why is the result exactly the target's?
#
# *Some tokens come from the draft, some from the residual. Why is nobody able to tell?*
#
# Four lines, for any token $y$:
#
# 1. Drafted and kept: $q(y) \cdot \min(1, p(y)/q(y)) = \min(p(y), q(y))$.
# 2. The rest of the mass is rejected: $1 - \sum_x \min(p(x), q(x)) = 1 - \alpha$.
# 3. A rejection emits $y$ with $p'(y) = \max(0, p(y) - q(y)) / (1 - \alpha)$; the denominator is the same $1 - \alpha$,
#    since what $p$ lacks in one place it has too much of in another.
# 4. Together: $\min(p(y), q(y)) + \max(0, p(y) - q(y)) = p(y)$.
#
# Nothing was asked of $q$. Look at it as a table of shape $(v, v)$: row $x$ is what was drafted, column $y$ what comes
# out. On the diagonal are the drafts that stand.

# %%
from course_lib.speculation import emission_table, emitted_distribution, total_variation

table = emission_table(p, q)
print("drafted \\ emitted" + "".join(f"{drink:>9}" for drink in drinks))
for drink, row in zip(drinks, table, strict=True):
    print(f"{drink:>17}" + "".join(f"{entry:9.3f}" for entry in row))
print(f"{'sum':>17}" + "".join(f"{entry:9.3f}" for entry in table.sum(axis=0)))

assert np.allclose(table.sum(axis=1), q)  # rows: what is drafted
assert np.abs(table.sum(axis=0) - p).max() < 1e-12  # columns: what is emitted

# %% [markdown]
# And for drafts of any quality, a thousand random pairs at once:

# %%
rng = np.random.default_rng(0)
some_p, some_q = rng.dirichlet(np.full(6, 0.3), size=(2, 1000))
worst = np.abs(emitted_distribution(some_p, some_q) - some_p).max()
overlap = acceptance_rate(some_p, some_q)
print(f"α from {overlap.min():.3f} to {overlap.max():.3f}; difference from p {worst:.1e}")
assert worst < 1e-12

# %% [markdown]
# One position is not a text. A round accepts several tokens, ends somewhere and starts anew, and every row depends on
# all that came before. So here is the whole thing enumerated: two models over three tokens whose rows have nothing in
# common and change with every prefix; every draft, every outcome of every test, round after round, until a text of four
# tokens stands. Beside it the chain rule of the target alone.

# %%
from course_lib.speculation import emitted_texts, own_texts


def arbitrary_model(seed):
    """Rows made up afresh for every prefix."""
    return lambda text: np.random.default_rng([seed, *text]).dirichlet(np.ones(3))


speculated = emitted_texts(arbitrary_model(1), arbitrary_model(2), gamma=2, length=4)
own = own_texts(arbitrary_model(2), length=4)
difference = max(abs(speculated[text] - own[text]) for text in own)
print(f"{len(own)} texts of four tokens; largest difference {difference:.1e}")
assert len(own) == 3**4
assert speculated.keys() == own.keys()
assert difference < 1e-12

# %% [markdown]
# **The line that is easily got wrong.** After a rejection, why not simply draw from $p$? It looks harmless, and
# published code has done it. But then $y$ comes with $\min(p(y), q(y)) + (1 - \alpha)\,p(y)$: a token that the draft
# likes has been kept as often as it may, and is now drawn once more.

# %%
alpha = acceptance_rate(p, q)
careless = np.minimum(p, q) + (1 - alpha) * p
print("p       ", p)
print("careless", careless.round(3), f" total variation {total_variation(p, careless):.2f}")
assert np.allclose(careless, [0.32, 0.39, 0.16, 0.13])
assert np.isclose(total_variation(p, careless), 0.12)

# %% [markdown]
# Twelve per cent of the probability sits on the wrong drinks: coffee, which the draft over-proposes, comes with 0.39
# instead of 0.30. No single text looks wrong, which is why such a fault survives until somebody counts.
#
# The proof is about numbers, and machines round. A pass over several positions adds in another order than a pass over
# one, so the target's logits differ in their last bits, and now and then that flips a draw. "Exact" means exact up to
# the rounding of the hardware (Chen et al., 2023, abstract).
#
# The trade-off: none in the text. What is paid with is time and arithmetic.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> The draft proposes one token only and gives it
# probability 1, say because it copied it from the prompt. What does the rule become?</summary>
#
# The token stands with probability $p(x)$. Otherwise the residual is $p$ without $x$, normalised. The result is $p$
# again.
# </details>
#
# Sources: Leviathan et al. (2023), appendix A.1 · Chen et al. (2023), Theorem 1.

# %%
copied = np.array([0.0, 1.0, 0.0, 0.0])
assert np.isclose(acceptance_rate(p, copied), p[1])
assert np.allclose(residual(p, copied), np.array([0.4, 0, 0.2, 0.1]) / 0.7)
assert np.abs(emitted_distribution(p, copied) - p).max() < 1e-12

# %% [markdown]
# ## What was wrong with the classical rule?
#
# *Sampling from one distribution by way of another is more than seventy years old. Why was the old rule not good
# enough?*
#
# Von Neumann's rule (1951) needs an *envelope*: a factor $\kappa$ with $\kappa\,q(x) \ge p(x)$ for every $x$. Draw $x$
# from $q$, keep it with probability $p(x) / (\kappa\,q(x))$, else throw it away and start over. What is kept is
# distributed as $p$, and a draw is kept with probability
#
# $$\sum_x q(x) \frac{p(x)}{\kappa\,q(x)} = \frac{1}{\kappa}, \qquad \kappa = \max_x \frac{p(x)}{q(x)} \ge 1.$$
#
# Adding up $\kappa\,q(x) \ge p(x)$ over all tokens gives $\kappa \ge 1$, and equality means $p = q$. The smallest legal
# $\kappa$ is set by the *one* token that the draft underrates most.

# %%
from course_lib.explore.speculation_figures import envelope_figure
from course_lib.speculation import envelope

kappa = envelope(p, q)
print(f"κ = {kappa:.2f}, a draw is kept with probability {1 / kappa:.2f}; α = {alpha:.2f}")
assert np.isclose(kappa, 2)
assert np.isclose(1 / kappa, 0.5)
envelope_figure(p, q, drinks)

# %% [markdown]
# **Your guess first.** A far better draft: it has nearly the right share of everything, and only forgets the juice,
# which it proposes with 0.01 instead of 0.10. The overlap is now 0.91. How many draws does the classical rule need for
# each token that it keeps?

# %%
guess_kappa = Prediction(
    "04.kappa",
    "Classical rejection, α = 0.91, one token in ten forgotten: how many draws a token?",
    unit="draws",
    low=1,
    high=100,
    log=True,
)
guess_kappa

# %%
from course_lib.speculation import rejection_sample

better = np.array([0.45, 0.34, 0.20, 0.01])
draws = rejection_sample(p, better, n=2000, rng=np.random.default_rng(5))
needed = draws.proposals / 2000
print(f"α = {acceptance_rate(p, better):.2f}, κ = {envelope(p, better):.1f}", end=": ")
print(f"{needed:.2f} draws a token")
assert np.isclose(envelope(p, better), 10)
# The tries for a token have a standard deviation of κ·√(1 − 1/κ); six of those of the mean.
assert abs(needed - 10) < 6 * np.sqrt(1 - 0.1) * 10 / np.sqrt(2000)
guess_kappa.reveal(needed)

# %% [markdown]
# One forgotten token, and nine draws in ten are thrown away, whatever they were. Two properties make this unusable for
# decoding:
#
# - **It discards.** A rejected draw leaves nothing behind. The target's pass has been paid for, and a round could end
#   with no token at all. The new rule turns every rejection into a token.
# - **It looks again.** Each new draw has to be compared with $p$ afresh, in a loop without a fixed end. And all that
#   was drafted behind a rejected token followed the wrong token: it has to be drafted and looked at again, in another
#   run of the target.
#
# The repair uses what von Neumann did not have. A vocabulary is finite, and both rows are there as explicit numbers, so
# what acceptance fails to deliver can be written down, $\max(0, p - q)$, normalised in $O(v)$ and drawn from. With the
# envelope gone ($\kappa = 1$), acceptance rises from $1/\kappa$ to $\alpha$.

# %%
kept_classically, kept = 1 / envelope(some_p, some_q), acceptance_rate(some_p, some_q)
assert (kept_classically <= kept + 1e-12).all()
print(f"kept on average: {kept_classically.mean():.3f} classically, {kept.mean():.3f} now")

# %% [markdown]
# The trade-off: the old rule works for densities of which one can only evaluate ratios; the new one needs the whole
# row, and gives a token every time.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> Why is $1/\kappa$ never larger than
# $\alpha$?</summary>
#
# $p \le \kappa q$ gives $p/\kappa \le q$, and $\kappa \ge 1$ gives $p/\kappa \le p$. So $p/\kappa \le \min(p, q)$
# everywhere; add up.
# </details>
#
# Sources: von Neumann (1951), *Various Techniques Used in Connection with Random Digits* · Leviathan et al. (2023),
# appendix A.2, compares the two.

# %% [markdown]
# ## What does α measure?
#
# *One number says how often a draft stands. What kind of number is it?*
#
# $$\alpha = \sum_x q(x) \min\left(1, \frac{p(x)}{q(x)}\right) = \sum_x \min(p(x), q(x)) = 1 - \mathrm{TV}(p, q),
# \qquad \mathrm{TV}(p, q) = \tfrac{1}{2} \sum_x |p(x) - q(x)|.$$
#
# It is the mass that the two rows share, and one minus a distance: *total variation* is the largest disagreement that
# the two can have about the probability of any event.

# %%
from itertools import product

events = np.array(list(product([0, 1], repeat=4)))  # every set of drinks
largest_disagreement = np.abs(events @ p - events @ q).max()
print(f"α = {alpha:.2f}, TV = {total_variation(p, q):.2f}", end=", ")
print(f"largest disagreement about an event {largest_disagreement:.2f}")
assert np.isclose(alpha, 1 - total_variation(p, q))
assert np.isclose(largest_disagreement, total_variation(p, q))
assert np.isclose(acceptance_rate(p, q), acceptance_rate(q, p))  # it takes no sides

# %% [markdown]
# So α is a *similarity, not an accuracy*. Target and draft are held against each other, and neither against what is
# true. A draft that makes all of the target's mistakes is always believed; one that makes fewer is not.

# %%
truth = np.array([0.25, 0.25, 0.25, 0.25])  # what people drink
print(f"a draft that errs as the target does: α = {acceptance_rate(p, p):.2f}")
print(f"a draft that knows the truth:         α = {acceptance_rate(p, truth):.2f}")
assert np.isclose(acceptance_rate(p, p), 1)
assert np.isclose(acceptance_rate(p, truth), 0.8)

# %% [markdown]
# It also depends on how one draws. At temperature 0 both rows become certainties, and at each position α is 1 if the
# two models have the same favourite and 0 if not.

# %%
from course_lib.speculation import SamplingSettings

for temperature in (1.5, 1.0, 0.5, 0.0):
    settings = SamplingSettings(temperature)
    alpha_t = acceptance_rate(settings.apply(p), settings.apply(q))
    print(f"T = {temperature}: α = {alpha_t:.3f}")
greedy = SamplingSettings(temperature=0)
assert acceptance_rate(greedy.apply(p), greedy.apply(q)) == 0  # tea against coffee

# %% [markdown]
# Drinks are invented; text is not. The library has a pair of models that anyone can train in a second: *n-gram models*,
# which count how words follow each other. The target looks at the last three tokens (order 4), the draft at the last
# two (order 3). Prose is Python's language reference and code its standard library, both already on this machine.
# Training sees the first nine tenths, measuring the rest.

# %%
from course_lib.speculation.ngrams import NGramModel
from course_lib.speculation.words import Vocabulary, real_text, sample_text

pairs, held_out, vocabularies = {}, {}, {}
for kind in ("prose", "code"):
    try:
        text = real_text(kind)
    except ValueError:  # a Python without its documentation or sources
        text = sample_text(kind)
    cut = len(text) * 9 // 10
    vocabulary = vocabularies[kind] = Vocabulary.train(text[:cut])
    ids = np.array(vocabulary.encode(text[:cut]))
    ngram_target = NGramModel.train(ids, vocabulary.size, order=4)
    pairs[kind] = ngram_target.lower(3), ngram_target
    held_out[kind] = vocabulary.encode(text[cut:])
    print(f"{kind}: {len(ids):,} tokens to train on", end=", ")
    print(f"{len(held_out[kind]):,} held out, v = {vocabulary.size:,}")

# Frequent pieces are tokens; a word that is rare here is spelled in bytes.
shown = vocabularies["prose"].encode("The statement is not executed by a zebra.")
print(" ".join(f"[{piece}]" for piece in vocabularies["prose"].show(shown)))
assert vocabularies["prose"].decode(shown) == "The statement is not executed by a zebra."

# %%
from course_lib.explore.speculation_figures import overlap_figure

overlaps = {}
for kind, (draft_3, target_4) in pairs.items():
    stretch = held_out[kind][:1500]
    p_rows, q_rows = (model([stretch], 1400)[0] for model in (target_4, draft_3))
    overlaps[kind] = acceptance_rate(p_rows, q_rows)
overlap_figure(overlaps)

# %% [markdown]
# Each picture is the overlap at 1,400 positions. Its mean is what one calls the α of the pair on that text (Leviathan
# et al. write β for the overlap at one position and α for the mean). Hardly any position is like the mean: where the
# three-token context was never seen, the target falls back on the same counts as the draft and the two agree; where it
# was, they may disagree about nearly everything. We come back to that.
#
# The trade-off: α belongs to a *pair and a text*. It cannot be read off the sizes of the models; it has to be measured,
# and measured again when the text changes.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> A provider trains its target further, on the
# newest text, and keeps the draft. The target becomes better. What happens to α?</summary>
#
# Most likely it falls: the draft still resembles the old target. Nothing becomes wrong, rounds become shorter.
# </details>
#
# Sources: Leviathan et al. (2023), section 3.2, Definition 3.1 to Corollary 3.6 · Witten and Bell (1991) for the n-gram
# models' smoothing.

# %%
for kind, values in overlaps.items():
    low, high = np.quantile(values, [0.1, 0.9])
    print(f"{kind}: mean α {values.mean():.2f}", end=", ")
    print(f"a tenth of the positions below {low:.2f}, a tenth above {high:.2f}")
    assert 0 <= low < values.mean() < high <= 1 + 1e-12

# %% [markdown]
# ## How many tokens does a round give?
#
# *A draft stands with probability α. How many tokens come out of a round with γ of them?*
#
# Suppose that α is the same at every position and that positions are independent (Leviathan et al., 2023, section 3.1).
# Let $n$ of the γ drafts stand. The walk reaches at least $i$ of them if the first $i$ all stand:
#
# $$P(n \ge i) = \alpha^i, \qquad i = 0, \dots, \gamma.$$
#
# A round emits $N = n + 1$ tokens. Do not sum over outcomes; ask for each token whether it comes. The first always
# does. The second comes if one draft stands, the third if two do, and so on to token $\gamma + 1$. Expectations add:
#
# $$\mathrm{E}[N] = 1 + \alpha + \alpha^2 + \dots + \alpha^\gamma = \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}.$$

# %%
from course_lib.speculation import accepted_distribution, expected_tokens

ends = accepted_distribution(np.float64(0.8), 5)  # P(n = k), shape (γ + 1)
print("P(n = 0), …, P(n = 5):", ends.round(3))
assert np.isclose(ends.sum(), 1)
by_outcomes = ((np.arange(6) + 1) * ends).sum()
by_tail_sum = (0.8 ** np.arange(6)).sum()
closed_form = (1 - 0.8**6) / (1 - 0.8)
assert np.allclose([by_outcomes, by_tail_sum, closed_form], expected_tokens(0.8, 5))

# Two ends: no drafts, an ordinary step; perfect drafts, all of them and one token more.
assert expected_tokens(0.8, 0) == 1
assert expected_tokens(1.0, 5) == 6

# %% [markdown]
# **Your guess first.** Eight drafts in ten stand, and five are made for each round. How many tokens does a round give
# on average? It can be anything from 1 to 6.

# %%
guess_tokens = Prediction(
    "04.tokens",
    "α = 0.8, γ = 5: how many tokens a round?",
    unit="tokens",
    low=1,
    high=6,
)
guess_tokens

# %%
from course_lib.arrays import sample

rounds, gamma = 20_000, 5
q_near = np.array([0.30, 0.40, 0.10, 0.20])  # shares 0.8 with p
rng = np.random.default_rng(7)
q_rows = np.broadcast_to(q_near, (rounds, gamma, 4))
p_rows = np.broadcast_to(p, (rounds, gamma + 1, 4))
drafted = sample(q_rows, rng.random((rounds, gamma)))
emitted = verify_and_emit(drafted, q_rows, p_rows, rng.random((rounds, gamma + 1)))
tokens_a_round = (emitted.accepted + 1).mean()

assert np.isclose(acceptance_rate(p, q_near), 0.8)
# N lies within 1 and 6, so its standard deviation is at most 2.5; six of those of the mean.
assert abs(tokens_a_round - expected_tokens(0.8, 5)) < 6 * 2.5 / np.sqrt(rounds)
guess_tokens.reveal(tokens_a_round, reference=expected_tokens(0.8, 5))

# %% [markdown]
# It is easy to guess too high: 80 % sounds like four drafts in five. But one failure ends the round, and the fifth
# draft is reached only if four others stood.

# %%
from course_lib.explore.speculation_figures import tail_sum_figure
from course_lib.speculation import token_ceiling

tail_sum_figure(0.8, 5)

# %%
assert np.isclose(token_ceiling(0.8), 5)
assert expected_tokens(0.8, 50) < token_ceiling(0.8)

# %% [markdown]
# The trade-off: each further draft adds $\alpha^\gamma$ tokens, less than the one before, and the sum never passes $1 /
# (1 - \alpha)$.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> Which gains more tokens a round at α = 0.8:
# drafting without end instead of γ = 5, or a draft with α = 0.9 at γ = 5?</summary>
#
# Without end: 5.00 instead of 3.69. With α = 0.9: 4.69. Close, but the first would need infinitely many drafts.
# </details>
#
# Sources: Leviathan et al. (2023), section 3.1 and equation 1.

# %%
answers = expected_tokens(0.8, 5), token_ceiling(0.8), expected_tokens(0.9, 5)
assert np.allclose(answers, [3.69, 5.00, 4.69], atol=0.005)

# %% [markdown]
# ## How far ahead should one draft?
#
# *More drafts, more tokens. What sets the limit?*
#
# Each draft costs a run of the draft model. Let $c$ be the time of one such run in units of one run of the target
# (Leviathan et al., 2023, Definition 3.7). A round runs the draft γ times and the target once, so it costs $\gamma c +
# 1$ where ordinary decoding would pay 1 for each token. Tokens over cost is the **improvement factor**:
#
# $$\frac{\mathrm{E}[N]}{\gamma c + 1} = \frac{1 - \alpha^{\gamma + 1}}{(1 - \alpha)(\gamma c + 1)} \qquad\text{(Theorem
# 3.8)}.$$
#
# It is a ratio of rates and knows nothing of how fast the hardware is. Where a pass over $\gamma + 1$ positions does
# not take as long as one over a single position, the 1 becomes the *verification* that you measured above.

# %%
from course_lib.speculation import best_gamma, improvement_factor

for gamma in (0, 1, 2, 4, 6, 8, 12, 16):
    print(f"γ = {gamma:>2}: {improvement_factor(0.8, gamma, 0.05):.2f}")
gamma_star = best_gamma(0.8, 0.05, gamma_max=64)
print("γ* =", gamma_star)
factors = improvement_factor(0.8, np.arange(65), 0.05)
assert factors.argmax() == gamma_star == 8
# Flat near the top: from 5 to 12 drafts one loses less than five per cent.
assert (factors[5:13] > 0.95 * factors[gamma_star]).all()
for name, measured in verification.items():
    factor = improvement_factor(0.8, 4, 0.05, measured)
    print(f"γ = 4 where verification is {measured:.2f} ({name}): {factor:.2f}")

# %% [markdown]
# The numerator saturates and the denominator grows, so there is a best γ, called $\gamma^*$. One draft more pays if
# $\alpha^{\gamma + 1}$, the tokens it brings, over $c$, what it costs, is better than the round so far, $\mathrm{E}[N]
# / (\gamma c + 1)$. What a draft brings falls with γ, so the first that does not pay is the last to consider.
#
# Two consequences. The first draft pays if $\alpha > c$, and then already gains $(1 + \alpha) / (1 + c)$; if $\alpha
# \le c$ nothing pays (Corollary 3.9). And there are exact ties: at α = 0.5 and c = 0.2 one draft gains 1.5 / 1.2 and
# two gain 1.75 / 1.4, both 1.25. Rounding must not decide that, so `best_gamma` computes with fractions and takes the
# smaller γ.

# %%
from fractions import Fraction

from course_lib.speculation import guaranteed_factor

alpha_half, c_fifth = Fraction(1, 2), Fraction(1, 5)
one = (1 + alpha_half) / (1 + c_fifth)
two = (1 + alpha_half + alpha_half**2) / (1 + 2 * c_fifth)
assert one == two == Fraction(5, 4)
assert best_gamma(0.5, 0.2, gamma_max=8) == 1

for a, c in product(np.linspace(0.05, 0.95, 19), np.linspace(0.05, 0.95, 19)):
    a, c = round(a, 2), round(c, 2)
    best = improvement_factor(a, best_gamma(a, c, 64), c)
    assert best >= guaranteed_factor(a, c) - 1e-12
    assert (best > 1) == (a > c)

# %% [markdown]
# **Where does $c$ come from?** Both models wait for bytes, so at best $c$ is the ratio of bytes that a run reads. In
# practice every run also has costs that do not shrink with the model: launching kernels, sampling, Python.

# %%
from course_lib.costs import parameter_count

small = parameter_count(PRESETS["Llama-3.2-1B"])
large = parameter_count(PRESETS["Llama-3.1-70B"])
c_bytes = small.read_per_step / large.read_per_step
print(f"1B beside 70B, by bytes: c = {c_bytes:.3f}")
assert 0.015 < c_bytes < 0.02

# Chen et al. (2023) drafted for Chinchilla, of 70 billion parameters, with a model of
# 4 billion. A token took 14.1 ms and 1.8 ms.
print(f"Chinchilla's draft: by parameters {4 / 70:.3f}, by the clock {1.8 / 14.1:.3f}")

# %% [markdown]
# By parameters the draft should have cost a seventeenth, by the clock it cost an eighth. Chen et al. had given it few
# layers on purpose: a run waits once for each of them.
#
# How good is the formula? Leviathan et al. (2023, Table 2 and appendix A.3) sped up T5-XXL at translation, at
# temperature 0, with drafts of three sizes, and report α, γ, $c$ and the measured factor.

# %%
print("draft      α     γ   c      formula  measured")
for name, a, gamma, c, measured in (
    ("T5-small", 0.75, 7, 0.02, 3.4),
    ("T5-base", 0.80, 7, 0.04, 2.8),
    ("T5-large", 0.82, 7, 0.11, 1.7),
):
    factor = improvement_factor(a, gamma, c)
    print(f"{name:<9}  {a:.2f}  {gamma}  {c:.2f}  {factor:7.1f}  {measured:8.1f}")

# %% [markdown]
# The smallest draft wins although it agrees least: from small to large α rises by a tenth and $c$ fivefold. The formula
# ranks the drafts rightly but for the first two, which it holds to be about equal.
#
# Now play. The fourth slider is the verification, so you can enter what you measured on this machine. Three things to
# find:
#
# 1. the smallest verification at which α = 0.8 and $c$ = 0.05 no longer gains anything at γ = 4;
# 2. a pair (α, $c$) with γ* = 1;
# 3. how much one loses with γ = 4 when γ* is 8.

# %%
from course_lib.explore.speedup import speedup_explorer

speedup_explorer()

# %% [markdown]
# The trade-off: a larger draft agrees more often and costs more each time; only the two together say which is better.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> A draft agrees with α = 0.6 and takes half as long
# as the target. Is it worth running, and what can it gain at most?</summary>
#
# Yes, barely: α > c, so one draft gains 1.6 / 1.5 ≈ 1.07, and γ* is 1: a second draft would bring 0.36 tokens for half
# a run.
# </details>
#
# Sources: Leviathan et al. (2023), sections 3.3 and 3.5, Theorem 3.8, Corollary 3.9 · Chen et al. (2023), Table 1.

# %%
assert best_gamma(0.6, 0.5, gamma_max=16) == 1
assert np.isclose(improvement_factor(0.6, 1, 0.5), 1.6 / 1.5)

# %% [markdown]
# ## What is spent to buy the time?
#
# *The text is the same and comes sooner. Who pays?*
#
# The arithmetic units. A round computes γ draft tokens and $\gamma + 1$ target positions, whatever becomes of them.
# With $\hat c$ for the operations of a draft run in units of the target's, a token costs
#
# $$\frac{\gamma \hat c + \gamma + 1}{\mathrm{E}[N]} \qquad\text{(Theorem 3.11)}$$
#
# times the operations of ordinary decoding. Bytes go the other way: the target's weights are read once a round instead
# of once a token.

# %%
from course_lib.speculation import operation_factor

for a in (0.5, 0.7, 0.9):
    more = operation_factor(a, 5, c_hat=0.02)
    fewer = 1 / expected_tokens(a, 5)
    print(f"α = {a}, γ = 5: {more:.2f} × the operations, {fewer:.2f} × the readings")
assert np.isclose(operation_factor(0.8, 5, 0.02), (5 * 0.02 + 6) / expected_tokens(0.8, 5))
# Even perfect drafts save no operations: the target still looks at every position.
assert operation_factor(1.0, 5, 0.02) > 1

# %% [markdown]
# So speculation sells arithmetic for bandwidth, and works only for those who have arithmetic to spare.
#
# - **Prefill** has none. All tokens of a prompt are known, they already pass together, and multiplying sets the time.
#   There is nothing to guess and nothing left over.
# - **Large batches** have little. Sequences that decode together already share each reading of the weights, and every
#   one of them adds $\gamma + 1$ positions to the pass. Once these fill the room, each position costs its full price.
# - **Long contexts** give some back. Each sequence reads a cache of its own, and its $\gamma + 1$ positions share that.
#
# With the roofline from the start of this lecture, verification follows from batch and context:

# %%
from course_lib.explore.speculation_figures import factors_figure

batches = 2 ** np.arange(10)
drafts = np.arange(9)[:, None]


def factors_over_batches(n):
    """For each γ (row) and batch (column), α = 0.8, c = 0.05; NaN where it does not fit."""
    step = decode_bound(llama, n, h100, batches)
    once = np.maximum(step.bandwidth_seconds, step.compute_seconds)
    several = np.maximum(step.bandwidth_seconds, (drafts + 1) * step.compute_seconds)
    factors = improvement_factor(0.8, drafts, 0.05, several / once)
    return np.where(step.fits, factors, np.nan)


short, long = factors_over_batches(256), factors_over_batches(1024)
curves = {
    "256 tokens, γ = 4": short[4],
    "256 tokens, best γ": short.max(axis=0),
    "1,024 tokens, γ = 4": long[4],
}
factors_figure(curves, batches, "sequences decoded together", powers=True)

# %%
assert np.isclose(short[4, 0], improvement_factor(0.8, 4, 0.05))  # alone: the premise holds
assert short[4, -1] < 1
assert (short.max(axis=0) >= 1).all()  # γ = 0 is always open
assert long[4, -2] > short[4, -2]  # a longer context gives some room back
assert np.isnan(long[4, -1])  # 512 caches of 1,024 tokens do not fit beside the weights
losing = batches[short[4] < 1][0]
print(f"256 tokens each: with {losing} sequences γ = 4 is slower than no draft;", end=" ")
print(f"the best γ is {short[:, -1].argmax()}, for a factor of {short[:, -1].max():.2f}")

# %% [markdown]
# The trade-off in one sentence: speculation makes one reader's text come sooner, and takes arithmetic from a server
# that is busy anyway. (A bound again. It takes $c$ to stay the same, though a large batch makes drafts dearer, too.)
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> At α = 0.5 and γ = 5 the target reads its weights
# half as often. Which price is paid for that?</summary>
#
# More than three times the operations: six positions and five drafts a round, for fewer than two tokens.
# </details>
#
# Sources: Leviathan et al. (2023), section 3.4 and Theorem 3.11 · *MagicDec* (2024, arXiv 2408.11049) for long contexts
# in large batches.

# %%
assert 1 / expected_tokens(0.5, 5) < 0.51
assert operation_factor(0.5, 5, 0.02) > 3

# %% [markdown]
# ## Does it hold on real text?
#
# *Two models, a text that neither has seen, a clock. Does the formula say what happens?*
#
# The n-gram pair from above writes prose and code. A target that looks rows up in a table is not what the theory is
# about: it waits for Python, not for memory, and five positions cost it five look-ups. So there are two versions of it.
# The *bare* one is the table. The *weight-bound* one gives the same rows, but each of its runs also sends a state for
# every position through the 16-bit matrices from the first section, as a transformer of that size would. What comes out
# of the matrices is thrown away; they are there for their time. Its draft passes one matrix of the twelve.
#
# First α: at the places of the held-out text, and in decoding, where the target writes the text itself. (Expect less in
# decoding. The target seldom writes what it has never seen, so its contexts are known to it, and where it knows its
# context it differs from the draft.)

# %%
from course_lib.speculation.acceptance import measure_acceptance

gamma = 4
acceptance = {}
for kind, pair in pairs.items():
    found = acceptance[kind] = measure_acceptance(*pair, held_out[kind], gamma=gamma)
    places = ", ".join(f"{share:.2f}" for share in found.by_place)
    print(f"{kind}: α {found.alpha:.3f} held out, {found.in_decoding:.3f} in decoding,")
    print(f"       by place {places}")

# %% [markdown]
# **Your guess first.** Weight-bound, prose, γ = 4. The draft costs about a twelfth of the target. How many times as
# fast as ordinary decoding will it be? Below 1 it loses.

# %%
guess_speedup = Prediction(
    "04.speedup",
    "Weight-bound n-gram pair on prose, γ = 4: how many times as fast?",
    unit="times",
    low=0.2,
    high=5,
    log=True,
)
guess_speedup

# %%
from course_lib.speculation.measure import measure_costs, measure_speedup
from course_lib.speculation.weight_bound import WeightBound

costs, speed = {}, {}
for kind, (draft_3, target_4) in pairs.items():
    third = len(held_out[kind]) // 3
    prompts = [held_out[kind][start : start + 64] for start in (0, third, 2 * third)]
    bound_pair = WeightBound(draft_3, halves[:1]), WeightBound(target_4, halves)
    for name, pair in {"bare": (draft_3, target_4), "weight-bound": bound_pair}.items():
        costs[kind, name] = measure_costs(*pair, held_out[kind], gammas=(gamma,))
        speed[kind, name] = measure_speedup(
            *pair, prompts, 40, gamma, acceptance[kind].alpha, costs[kind, name], repeats=2
        )

# %%
from IPython.display import Markdown

rows = [
    "| text | target | α | c | verification | tokens a round | speed-up by the premise "
    "| verification paid | everything paid | **measured** |",
    "|---|---|---|---|---|---|---|---|---|---|",
]
for (kind, name), found in speed.items():
    cost = costs[kind, name]
    rows.append(
        f"| {kind} | {name} | {acceptance[kind].alpha:.2f} "
        f"| {cost.c:.2f} | {cost.verification[gamma]:.2f} "
        f"| {found.tokens_formula:.2f}, measured {found.tokens:.2f} | {found.premise:.2f} "
        f"| {found.verified:.2f} | {found.accounted:.2f} | **{found.measured:.2f}** |"
    )
Markdown("\n".join(rows))

# %%
for (kind, name), found in speed.items():
    draft_time, target_time, loop_time = found.shares
    print(f"{kind}, {name}: of the time {draft_time:.0%} in the draft", end=", ")
    print(f"{target_time:.0%} in the target, {loop_time:.0%} in the loop around them")

# %%
guess_speedup.reveal(speed["prose", "weight-bound"].measured, recorded)

# %% [markdown]
# Read a row from left to right, as one pays:
#
# - *By the premise*: α and $c$ alone, verification taken to be 1.
# - *Verification paid*: with the time that five positions really took.
# - *Everything paid*: with the tokens that the rounds really gave and the time of all else in the loop, drawing and
#   verifying among it. This should come close to what the clock says; the rest is noise.
#
# Where the premise holds, speculation gains, if less than the formula promises: in decoding α is lower than on held-out
# text, and the loop wants its time. For the bare table it loses badly, on the same text and with the same α: its draft
# is hardly cheaper than itself, its verification is dear, and the loop around it costs more than both models. The texts
# are equal in distribution all the while, and at temperature 0 they are *the same*:

# %%
for kind, (draft_3, target_4) in pairs.items():
    prompt, rng = [held_out[kind][:64]], np.random.default_rng(0)
    alone = decode(target_4, prompt, 40, rng, greedy)
    helped = speculative_decode(draft_3, target_4, prompt, 40, gamma, rng, greedy)
    assert helped.tokens == alone.tokens
    said = vocabularies[kind].decode(alone.tokens[0])
    print(f"{kind}: {helped.target_runs} target runs instead of 40 for {said[:60]!r} …")

# %% [markdown]
# Such α are not unusual. Leviathan et al. (2023, section 4.2) found 0.5 to 0.9 for transformers that draft for others a
# hundred times their size, and about 0.2 for a bigram model that drafts for a translator, which at no cost still gains
# a factor of 1.25 with γ = 3. And what would these drafts gain if verification were that of 32-bit weights in NumPy,
# which you measured at the start? The reference run has tried it.

# %%
for kind in pairs:
    found, c = acceptance[kind].alpha, costs[kind, "weight-bound"].c
    dear = improvement_factor(found, gamma, c, verification["32 bits, NumPy"])
    cheap = improvement_factor(found, gamma, c)
    print(f"{kind}: {cheap:.2f} by the premise, {dear:.2f} with that verification")
assert round(improvement_factor(0.2, 3, 0.0), 2) == 1.25

there = dict(zip(recorded.values["rows"], recorded.values["speedup"], strict=True))
print("reference run, measured:")
for name, factor in there.items():
    print(f"    {name:<16} {factor:.2f}")
assert there["prose, float32"] < 1 < there["prose, bfloat16"]

# %% [markdown]
# The trade-off: the gain is a product of three things that must all be right, agreement, a cheap draft, and positions
# that come nearly free. One of them wrong, and one pays for speculation.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> For which verification would the weight-bound pair
# on prose break even, by the formula?</summary>
#
# For $\mathrm{E}[N] - \gamma c$: that many passes a round may cost before nothing is left. The next cell computes it.
# </details>
#
# Sources: Leviathan et al. (2023), section 4.2 and Table 3 · Chen and Goodman (1999), section 2.4, for the smoothing.

# %%
found, c = acceptance["prose"].alpha, costs["prose", "weight-bound"].c
break_even = expected_tokens(found, gamma) - gamma * c
print(f"verification {break_even:.2f}")
assert np.isclose(improvement_factor(found, gamma, c, break_even), 1)

# %% [markdown]
# ## When does one mean α mislead?
#
# *A text is easy here and hard there. Is its mean α good enough for the formula?*
#
# Say α is 0.9 in easy places and 0.5 in hard ones, 0.7 on average. What a round gives depends on how the two are mixed,
# and there are three ways to read "half".
#
# 1. *Independent at every position*, as the formula assumes: each position is easy or hard by the toss of a coin.
# 2. *Half of the rounds* are easy from end to end.
# 3. *Half of the tokens* lie in easy stretches. Rounds are longer there, so fewer of them are needed.

# %%
from course_lib.speculation import expected_tokens_by_position

easy, hard, gamma = 0.9, 0.5, 5
patterns = np.array(list(product([easy, hard], repeat=gamma)))  # all 32 rounds, one a row
independent = expected_tokens_by_position(patterns).mean()
of_rounds = (expected_tokens(easy, gamma) + expected_tokens(hard, gamma)) / 2
of_tokens = 2 / (1 / expected_tokens(easy, gamma) + 1 / expected_tokens(hard, gamma))

print(f"formula with the mean, α = 0.7  {expected_tokens(0.7, gamma):.3f} tokens a round")
print(f"independent at every position   {independent:.3f}")
print(f"half of the rounds easy         {of_rounds:.3f}")
print(f"half of the tokens easy         {of_tokens:.3f}")
assert np.isclose(independent, expected_tokens(0.7, gamma))
assert of_tokens < independent < of_rounds

# %% [markdown]
# One mean, three answers, and the formula is right for the first only. In the second reading it promises too little,
# because $\alpha^i$ bends upwards: long runs in easy rounds more than pay for the hard ones. In the third it promises
# too much, because a text spends most of its *rounds* where they are short. The best γ differs, too, and a decoder that
# could tell easy from hard would use another one for each:

# %%
drafts, c = np.arange(17), 0.05
e, h = expected_tokens(easy, drafts), expected_tokens(hard, drafts)
cost = drafts * c + 1
mixtures = {
    "formula, α = 0.7": expected_tokens(0.7, drafts) / cost,
    "half of the rounds easy": (e + h) / 2 / cost,
    "half of the tokens easy": 2 / (1 / e + 1 / h) / cost,
}
factors_figure(mixtures, drafts, "γ, drafted tokens a round")

# %%
print("γ*:", {a: best_gamma(a, c, 64) for a in (easy, hard, 0.7)})
stars = {name: int(values.argmax()) for name, values in mixtures.items()}
print(stars)
assert best_gamma(hard, c, 64) < best_gamma(0.7, c, 64) < best_gamma(easy, c, 64)
assert len(set(stars.values())) == 3

# Even "the share of tested drafts that stood" is no neutral mean: easy rounds test more.
tested = expected_tokens(np.array([easy, hard]), gamma - 1)
stood = expected_tokens(np.array([easy, hard]), gamma) - 1
print(f"half of the rounds easy: a log would show α = {stood.sum() / tested.sum():.3f}")

# %% [markdown]
# Position within a round matters as well. Suppose that the five drafts of a round stand with 0.9, 0.8, 0.7, 0.6 and
# 0.5, since a draft strays the further it goes. The mean is 0.7 once more, and the order decides:

# %%
falling = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
print(f"falling {expected_tokens_by_position(falling):.2f}", end=", ")
print(f"rising {expected_tokens_by_position(falling[::-1].copy()):.2f}", end=", ")
print(f"level {expected_tokens(0.7, 5):.2f}")
by_hand = 1 + 0.9 * (1 + 0.8 * (1 + 0.7 * (1 + 0.6 * (1 + 0.5))))
assert np.isclose(expected_tokens_by_position(falling), by_hand)

# %% [markdown]
# In the n-gram pair you have seen the opposite of straying: the shares by place *rose*. Whoever reaches the third place
# is in an easy passage.
#
# The trade-off: one α is easy to report and good for a first guess; the tokens a round, counted where they are served,
# cannot mislead.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> Two pairs have the same mean α over positions. In
# one it is 0.7 everywhere, in the other 1 at seven places in ten and 0 at the rest, independently. Which emits more
# tokens a round?</summary>
#
# Neither. With independent positions only the mean enters, whatever is mixed.
# </details>
#
# Sources: Leviathan et al. (2023), section 3.1, states the assumption.

# %%
for kind, found in acceptance.items():
    by_place = expected_tokens_by_position(np.array(found.by_place))
    by_mean = expected_tokens(found.alpha, 4)
    print(f"{kind}: {by_mean:.2f} tokens a round from the mean, {by_place:.2f} by place")
every_round = np.array(list(product([1.0, 0.0], repeat=3)))
weight = 0.7 ** every_round.sum(axis=1) * 0.3 ** (3 - every_round.sum(axis=1))
mixed = weight @ expected_tokens_by_position(every_round)
assert np.isclose(mixed, expected_tokens(0.7, 3))

# %% [markdown]
# ## What does change the distribution?
#
# *Speculation is often listed beside temperature, top-p and quantisation. Does it belong there?*
#
# Three things stand between a model and the tokens that it emits:
#
# - a **sampling rule** (temperature, top-p) changes $p$ on purpose;
# - **quantisation** stores the weights in fewer bits, and changes $p$ as a side effect;
# - **speculation** does not change $p$.
#
# All three can be put on one scale, the total variation between $p$ and what is emitted. The model is small but real:
# two matrices, fitted to the prose that ships with the course, so that there are weights to be rounded.
#
# **Your guess first.** Each row of both matrices is rounded to 4-bit integers with a scale of its own. How far, on
# average over contexts, does the distribution move?

# %%
guess_departure = Prediction(
    "04.departure",
    "4-bit weights: mean total variation from p?",
    low=0.001,
    high=1,
    log=True,
)
guess_departure

# %%
from course_lib.speculation.departures import departures

prose = sample_text("prose")
small_vocabulary = Vocabulary.train(prose, n_pieces=256)
changes = departures(np.array(small_vocabulary.encode(prose)), small_vocabulary.size)
for change in changes:
    print(change)
by_name = {change.name: change for change in changes}
guess_departure.reveal(by_name["4-bit weights"].mean)

# %%
for change in changes:
    if change.kind == "speculation":
        assert change.largest < 1e-12  # summed over every draft and every outcome
    else:
        assert change.mean > 1e-3

# %%
from course_lib.explore.departures import departures_figure

departures_figure(changes)

# %% [markdown]
# Look at the 3-bit weights, which come twice. As the model that *emits*, they miss $p$ by a third or more. As the
# *draft* of the full model they cost nothing but rejected tokens: what was an error has become an acceptance rate, and
# indeed $\alpha = 1 - \mathrm{TV}$ is the same number. The worst draft of all emits the same text, late.
#
# (How far a number of bits goes depends on the model and on the rounding. This one is tiny and rounded in the plainest
# way; unit 06 does better.)

# %%
rounded, as_draft = by_name["3-bit weights"], by_name["draft: 3-bit weights"]
assert np.isclose(rounded.mean, 1 - as_draft.acceptance)

# %% [markdown]
# **A way to break it.** A reader's settings apply to both models: the target is $p$ *with* temperature and top-p, the
# draft is drawn from $q$ with the same. All proofs then hold for the changed rows. The trap is to draw from one row and
# to verify with another. A real program did so: it drew drafts greedily and verified them as if they had been drawn
# from $q$.

# %%
settings = SamplingSettings(temperature=0.7, top_p=0.9)
p_set, q_set = settings.apply(p), settings.apply(q)
assert np.abs(emitted_distribution(p_set, q_set) - p_set).max() < 1e-12

favourite = q.argmax()  # always coffee, whatever its probability
kept = min(1, p[favourite] / q[favourite])
mismatched = (1 - kept) * residual(p, q)
mismatched[favourite] += kept
print("p         ", p)
print("mismatched", mismatched.round(3), f" off by {total_variation(p, mismatched):.2f}")

try:  # the library notices what it can: a token that the row cannot have given
    water, both = np.array([2]), np.stack([p, p])
    verify_and_emit(water, greedy.apply(q)[None], both, np.array([0.5, 0.5]))
except ValueError as error:
    print(f"ValueError: {error}")

# %% [markdown]
# The trade-off: sampling rules and fewer bits trade the distribution for something; speculation trades arithmetic.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> A provider serves 4-bit weights and speculates
# with a small draft. What is its text distributed as?</summary>
#
# As that of the 4-bit model, exactly. Speculation is faithful to the target that it is given, its errors included.
# </details>
#
# Sources: Holtzman et al. (2020), section 3.1, for top-p · huggingface/transformers, issue 32867, for the mismatch.

# %% [markdown]
# ## Can a model draft for itself?
#
# *A second model costs memory and has to be found. Could the large one guess ahead with what it has already computed?*
#
# **Multi-token prediction** (Gloeckle et al., 2024) trains for that. From each position $t$, $n$ heads on one shared
# trunk predict the next token, the one after it, and so on. The loss sums $n$ cross-entropies, each on a target shifted
# by one more:
#
# $$L_n = -\sum_t \sum_{i=1}^{n} \log P(w_{t+i} \mid w_{1:t}), \qquad \text{log-probabilities of shape } (T, n, v).$$
#
# (The paper writes a factor $P(z \mid w)$ for the trunk's state; the trunk is deterministic, so it is 1.)

# %%
from course_lib.speculation.lookahead import lookahead_loss

tokens = np.array([0, 1, 2, 3, 0, 1, 2, 3])  # "the cat sat down the cat sat down"
# What a second head can know at best: the word in between is unseen.
two_ahead = target_table @ target_table
heads = np.log(np.stack([target_table[tokens[:6]], two_ahead[tokens[:6]]], axis=1))
print("log-probabilities", heads.shape)
loss = lookahead_loss(heads, tokens)
print(f"L₂ = {loss:.3f}, of which head 1: {lookahead_loss(heads[:, :1], tokens[:7]):.3f}")

# With one head it is the ordinary loss of next-token prediction.
ordinary = -sum(np.log(target_table[tokens[t], tokens[t + 1]]) for t in range(6))
assert np.isclose(lookahead_loss(heads[:, :1], tokens[:7]), ordinary)

# %% [markdown]
# **Why might it make a model better, and not only faster?** The paper offers two arguments, and calls both speculation.
#
# *Choice points.* Some tokens decide how a text goes on, most do not. Every token is the target of $n$ terms of the
# loss, one for each head. But whoever predicts a token *beyond* a choice point without having seen it predicts the
# choice as well. Counting all terms that start before the choice and end at it or after it:

# %%
from course_lib.speculation.lookahead import choice_point_terms, terms_with_target

for n in (1, 2, 4):
    counts = len(choice_point_terms(n)), len(terms_with_target(n))
    print(f"n = {n}: {counts[0]} terms for a choice point, {counts[1]} for another token")
    assert counts == (n * (n + 1) // 2, n)

# %% [markdown]
# So a choice point weighs $(n + 1) / 2$ times as much, and nobody had to label it. What makes it one is the spread of
# *values*: how much the expected outcome depends on the next token. In code, `True` or `False` after `return` may
# decide whether a test passes; which name a variable gets does not.

# %%
from course_lib.speculation.lookahead import choice_value_spread

after_return = {"True": (0.6, 1.0), "False": (0.4, 0.0)}  # probability, and how it ends
after_for = {"i": (0.7, 0.6), "k": (0.3, 0.6)}
spreads = choice_value_spread(after_return), choice_value_spread(after_for)
print(f"σ after 'return' {spreads[0]:.2f}, after 'for' {spreads[1]:.2f}")
assert np.allclose(spreads, [np.sqrt(0.6 * 0.4), 0])

# %% [markdown]
# *Mutual information.* Take two neighbouring tokens $W_1$ and $W_2$ after some context. A next-token model is charged
# for $W_1$, then for $W_2$ with $W_1$ known. A model with two heads is charged for both without telling either the
# other. Written with the same parts, in bits:
#
# $$H(W_1) + H(W_2 \mid W_1) = H(W_1 \mid W_2) + \mathbf{1} \cdot I(W_1; W_2) + H(W_2 \mid W_1),$$
#
# $$H(W_1) + H(W_2) = H(W_1 \mid W_2) + \mathbf{2} \cdot I(W_1; W_2) + H(W_2 \mid W_1).$$
#
# What the two tokens share counts twice, what is each one's own counts once. Take the names of two cities:

# %%
from course_lib.speculation.lookahead import entropies, lookahead_charge, next_token_charge

first_words, second_words = ["New", "San"], ["York", "Francisco"]
joint = np.array([[0.45, 0.05], [0.05, 0.45]])
h = entropies(joint)
own_parts = h.first_given_second + h.second_given_first
print(f"I = {h.mutual:.3f} bits; charged by one head", end=" ")
print(f"{next_token_charge(joint):.3f}, by two {lookahead_charge(joint):.3f}")
assert np.isclose(next_token_charge(joint), own_parts + 1 * h.mutual)
assert np.isclose(lookahead_charge(joint), own_parts + 2 * h.mutual)
assert np.isclose(next_token_charge(joint), h.both)

# %% [markdown]
# **The model as its own draft.** Heads 2 to $n$ propose, head 1 verifies in the next pass: blockwise parallel decoding
# (Stern et al., 2018), as a round of speculation. The heads come with a pass that is made anyway, so $c$ goes to 0, and
# the improvement factor becomes $\mathrm{E}[N] \le 1 / (1 - \alpha)$. The horizon is no longer a setting: with $n$
# heads, $\gamma \le n - 1$.
#
# Why verify at all? Because the heads are *independent* of each other given the context. Head 2 does not know what head
# 1 has just chosen:

# %%
from course_lib.speculation.lookahead import self_draft_acceptance

itself = self_draft_acceptance(joint)
unseen = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
for i, j in product(range(2), range(2)):
    words_ij = f"{first_words[i]} {second_words[j]}"
    print(f"{words_ij:<14} wanted {joint[i, j]:.2f}, heads alone {unseen[i, j]:.2f}")
print(f"head 2: α = {itself.acceptance:.2f}; unverified, off by {itself.unverified:.2f}")
assert np.abs(itself.emitted - joint).max() < 1e-12  # verified, the pair is exact
assert np.isclose(itself.unverified, 1 - itself.acceptance)

# %% [markdown]
# "New Francisco" would come five times as often as it should. Verified, it comes exactly as often as it should, and
# four proposals in ten are refused: that is what independence costs. DeepSeek-V3 chains its extra module instead: it
# predicts the second token *with the first as input*, so that the causal order is kept at each depth.
#
# Published speeds come close to it. Gloeckle et al. (2024, section 3.2) report, for a 7-billion-parameter model with
# four heads and greedy decoding, 2.5 accepted out of 3 proposals on code and 3.0 times the speed. DeepSeek-AI (2024,
# section 5.4.3) report that the second token stands in 85 to 90 % of all cases, and 1.8 times the tokens a second.

# %%
print(f"Gloeckle et al.: {2.5 + 1} tokens a pass at 3.0 times the speed,")
print(f"so a pass took {3.5 / 3.0:.2f} times as long as an ordinary one")
for a in (0.85, 0.90):
    print(f"DeepSeek-V3, α = {a:.2f}, γ = 1: {expected_tokens(a, 1):.2f} tokens a pass")
assert np.isclose(improvement_factor(0.8, 3, 0.0), expected_tokens(0.8, 3))  # c → 0
assert improvement_factor(0.8, 64, 0.0) < token_ceiling(0.8)

# %% [markdown]
# The trade-off: a draft model is paid for at every run; look-ahead heads are paid for once, in training, and fix how
# far one can look.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> Two tokens are independent of each other given the
# context. How often does head 2's proposal stand, and what is the mutual information?</summary>
#
# Always, and zero: nothing is lost by not knowing the first token.
# </details>
#
# Sources: Gloeckle et al. (2024), *Better & Faster Large Language Models via Multi-token Prediction*, sections 2, 3.2
# and 5 · Stern et al. (2018), *Blockwise Parallel Decoding for Deep Autoregressive Models* · DeepSeek-AI (2024),
# *DeepSeek-V3 Technical Report*, sections 2.2 and 5.4.3.

# %%
unrelated = np.outer([0.3, 0.7], [0.6, 0.4])
assert np.isclose(self_draft_acceptance(unrelated).acceptance, 1)
assert np.isclose(entropies(unrelated).mutual, 0)

# %% [markdown]
# ## What are the members of the family?
#
# *Many names, one idea. Where do the drafts come from, and which of them keep the guarantee?*
#
# | name | drafts come from | distributed as the target? |
# |---|---|---|
# | speculative decoding (Leviathan et al., 2023; Chen et al., 2023) | a smaller model, same vocabulary | yes |
# | self-speculative (Zhang et al., 2024) | the target, some layers skipped | yes |
# | multi-token prediction (Gloeckle et al., 2024) | heads trained along, independent | if verified |
# | the same in DeepSeek-V3 (2024) | a sequential module | if verified |
# | Medusa (Cai et al., 2024) | heads added later, a tree of candidates | not by *typical acceptance* |
# | EAGLE (Li et al., 2024) | one small layer over the target's features | yes |
# | lookahead decoding (Fu et al., 2024) | n-grams from the target's own parallel guesses | yes |
# | prompt lookup (Saxena, 2023) | what followed the same tokens earlier | yes |
# | blockwise parallel decoding (Stern et al., 2018) | extra heads, greedy | the same greedy text, if exact |
# | lenience (Leviathan et al., 2023, appendix A.5) | any of these | no |
#
# Some of these are easily confused:
#
# - Medusa's and Gloeckle's heads are *parallel*: none knows what another chose. DeepSeek-V3's module is *sequential*.
# - EAGLE continues the target's features, those before the output layer, *and* is given the tokens one step ahead; that
#   tells it which token was drawn.
# - Lookahead decoding fills several positions at once with guesses and improves them in parallel (Jacobi iteration);
#   prompt lookup only copies.
#
# The last column is about the *rule*, never about the source. Whatever proposes, the rule of this lecture makes it
# exact. Medusa's typical acceptance, blockwise decoding's relaxed criteria and every other lenient rule give that up,
# for speed. What such a rule does can be written down as before. Take one that lets every draft stand to which the
# target gives at least 0.15, and draws from $p$ otherwise. (Medusa's threshold depends on the entropy of $p$; the idea
# is the same.)

# %%
typical = p >= 0.15
relaxed = q * typical + (q * ~typical).sum() * p
print(f"accepted {(q * typical).sum():.2f} instead of {alpha:.2f}")
print("p      ", p)
print("relaxed", relaxed.round(3), f" total variation {total_variation(p, relaxed):.2f}")
assert (q * typical).sum() > alpha
assert np.isclose(relaxed.sum(), 1)

# %% [markdown]
# More drafts stand, and the text drifts to what the draft likes: nearly twice the coffee, hardly any juice. That may be
# a fair bargain. It is one, though, and not a free gain.
#
# Prompt lookup deserves a look because it needs no second model. Its $q$ is a single certainty, which you have already
# tried: the copied token stands with probability $p(x)$. Here it drafts for the target of code.

# %%
v = vocabularies["code"].size


def copied_from_before(sequences, n_last):
    """A draft without a model: what followed the last two tokens where they came before."""
    rows = np.zeros((len(sequences), 1, v))
    for row, s in zip(rows[:, 0], sequences, strict=True):
        earlier = [i for i in range(1, len(s) - 1) if s[i - 1 : i + 1] == s[-2:]]
        row[s[earlier[-1] + 1] if earlier else s[-1]] = 1
    return rows


prompts = [held_out["code"][start : start + 200] for start in range(0, 1600, 200)]
for settings in (SamplingSettings(), greedy):
    rng = np.random.default_rng(3)
    target_4 = pairs["code"][1]
    done = speculative_decode(copied_from_before, target_4, prompts, 40, 3, rng, settings)
    tokens_a_round = np.mean([n + 1 for rounds in done.rounds for n in rounds])
    print(f"temperature {settings.temperature:g}: {tokens_a_round:.2f} tokens a round")

# %% [markdown]
# Text that is drawn freely seldom repeats itself, greedy text of a small model more often.

# %% [markdown]
# **In engines.** Two settings recur under changing names: where drafts come from, and γ. As of November 2026, llama.cpp
# takes an ordinary smaller model of the same vocabulary as its draft (and has n-gram methods that need none), so a
# checkpoint with extra heads is not required; vLLM's method called `ngram` is prompt lookup, not lookahead decoding.
# Some engines also offer rules that are not exact, and say so in their documentation. Names and defaults change from
# one release to the next: read the documentation of the version that you run, then measure tokens a round.
#
# The trade-off: the better a draft knows the target, the more it has to be trained for it.
#
# <details style="margin-bottom: 1em"><summary><b>Check yourself.</b> An assistant edits a file and repeats most of it.
# Which member of the family would you try first?</summary>
#
# Prompt lookup: most of what comes is already in the prompt, and copying costs next to nothing.
# </details>
#
# Sources: the papers named in the table · llama.cpp, `docs/speculative.md` · vLLM, documentation of speculative
# decoding, "N-Gram Speculation".

# %% [markdown]
# ## Summary
#
# - Decoding waits for bytes, so a pass has room for more positions than one. How much room is a property of machine and
#   library: measure *verification*.
# - A round drafts γ tokens, looks at all of them in one pass, and emits 1 to $\gamma + 1$.
# - Keep $x$ with $\min(1, p/q)$, else draw from $\max(0, p - q)$, normalised. The text is distributed as the target's,
#   for any draft.
# - $\alpha = \sum \min(p, q) = 1 - \mathrm{TV}$, a similarity. $\mathrm{E}[N] = 1 + \alpha + \dots + \alpha^\gamma$.
# - The factor $\mathrm{E}[N] / (\gamma c + 1)$ exceeds 1 for some γ exactly if $\alpha > c$. γ* is small and its
#   neighbours are nearly as good.
# - It sells arithmetic for bandwidth: nothing for prefill, little for large batches.
# - One mean α can promise too much or too little; tokens a round cannot.
# - Exactness is a property of the rule. Relax it, and it is gone.

# %%
# The whole lecture in one example: any draft, the target's distribution, fewer runs.
assert np.abs(emitted_distribution(p, q) - p).max() < 1e-12
assert np.isclose(acceptance_rate(p, q), 1 - total_variation(p, q))
gamma_star = best_gamma(0.8, 0.05, gamma_max=16)
factor = improvement_factor(0.8, gamma_star, 0.05)
print(f"α = 0.8, c = 0.05: γ* = {gamma_star}, {factor:.2f} times as fast")

# %% [markdown]
# **References**
#
# - Cai et al. (2024). *Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads.* arXiv
#   2401.10774
# - Chen, C. et al. (2023). *Accelerating Large Language Model Decoding with Speculative Sampling.* arXiv 2302.01318
# - Chen and Goodman (1999). *An Empirical Study of Smoothing Techniques for Language Modeling.* Computer Speech and
#   Language 13
# - DeepSeek-AI (2024). *DeepSeek-V3 Technical Report.* arXiv 2412.19437
# - Fu et al. (2024). *Break the Sequential Dependency of LLM Inference Using Lookahead Decoding.* arXiv 2402.02057
# - Gloeckle et al. (2024). *Better & Faster Large Language Models via Multi-token Prediction.* arXiv 2404.19737
# - Holtzman et al. (2020). *The Curious Case of Neural Text Degeneration.* arXiv 1904.09751
# - Leviathan, Kalman and Matias (2023). *Fast Inference from Transformers via Speculative Decoding.* arXiv 2211.17192
# - Li et al. (2024). *EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty.* arXiv 2401.15077
# - *MagicDec: Breaking the Latency-Throughput Tradeoff for Long Context Generation with Speculative Decoding* (2024).
#   arXiv 2408.11049
# - Saxena (2023). *Prompt Lookup Decoding.* github.com/apoorvumang/prompt-lookup-decoding
# - Stern, Shazeer and Uszkoreit (2018). *Blockwise Parallel Decoding for Deep Autoregressive Models.* arXiv 1811.03115
# - von Neumann (1951). *Various Techniques Used in Connection with Random Digits.* National Bureau of Standards,
#   Applied Mathematics Series 12
# - Williams, Waterman and Patterson (2009). *Roofline: An Insightful Visual Performance Model for Multicore
#   Architectures.* Communications of the ACM 52
# - Witten and Bell (1991). *The Zero-Frequency Problem.* IEEE Transactions on Information Theory 37
# - Zhang et al. (2024). *Draft & Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding.*
#   arXiv 2309.08168
#
# **Next:** the lab of this unit,
# [lab04_speculative_decoding](../labs/lab04_speculative_decoding/lab04_speculative_decoding.ipynb).
