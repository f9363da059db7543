"""The checks of lab 04: speculative decoding, from one pair of distributions on paper to a loop over a pair of models.

Each case looks at one mistake. Uniforms are part of the input, so that every answer is exact; those drawn here keep away from
the points at which a decision turns, so that the order in which somebody rounds decides nothing, and they are drawn again
until the usual slips would come out differently from the right answer.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from course_lib.checks import (
    Bound,
    Close,
    Draw,
    Lab,
    Register,
    call,
    case,
    given,
    many,
    put,
    read,
    rounding,
    script,
    typed,
)
from course_lib.checks.cases import Case, Step

lab = Lab(
    "lab04_speculative_decoding",
    "Speculative decoding",
    minutes=191,
    provides=["course_lib.arrays", "course_lib.speculation.ngrams", "course_lib.speculation.words"],
)

SEVERAL = "Which axis holds the vocabulary, however many stand before it? Sum along `axis=-1`."
DRAFT, TARGET = 3, 5  # the orders of the two n-gram models
OWN = "`x -= …`, `x[…] = …` and `out=x` write into the array of whoever called you; `x - …` makes a new one."


@lab.check(points=3, target=["overlap", "envelope_acceptance"], minutes=5)
def overlap_by_hand(draw: Draw) -> Iterator[Case]:
    """Two ways of accepting a draft, worked out for one pair of distributions."""
    yield typed(
        "α, the rate of speculative decoding",
        0.6,
        digits=6,
        target=0,
        hint="Token by token, the smaller of p and q: that much is emitted by acceptance. Then add the four up.",
    )
    yield typed(
        "1/κ, the rate with an envelope",
        0.4,
        digits=6,
        target=1,
        hint="κ is the largest of the four ratios p/q, the smallest number with κq ≥ p everywhere.",
    )


@lab.check(points=4, target=[f"missing[{token}]" for token in "abcd"], minutes=5)
def residual_by_hand(draw: Draw) -> Iterator[Case]:
    """The residual of the same pair, token by token."""
    for i, (token, value) in enumerate(zip("abcd", (0.25, 0.0, 0.75, 0.0), strict=True)):
        hint = "Acceptance delivers min(p, q). How much of p is still missing here, as a share of all that is missing?"
        yield typed(f"token {token}", value, digits=6, target=i, hint=hint)


@lab.check(points=3, target=["n_first", "emitted_first", "n_second", "emitted_second"], minutes=8)
def traced_round(draw: Draw) -> Iterator[Case]:
    """One round of three drafted tokens, followed with a pencil."""
    walk = "Go from left to right and stop at the first draft with r·q(x) ≥ p(x). Which draft is that?"
    ends = "Stopped: draw from the residual of that position's row. Not stopped: draw from the fourth row of p."
    yield typed("accepted, first time", 2, target=0, hint=walk)
    yield typed("emitted, first time", "b d b", also=["bdb", "b, d, b", ["b", "d", "b"]], target=1, hint=ends)
    yield typed("accepted, second time", 3, target=2, hint=walk)
    yield typed(
        "emitted, second time", "b d a c", also=["bdac", "b, d, a, c", ["b", "d", "a", "c"]], target=3, hint=ends
    )


@lab.check(points=4, target=[f"table[{x}][{y}]" for x in "abcd" for y in "abcd"], minutes=8)
def emission_table(draw: Draw) -> Iterator[Case]:
    """Every way in which one token can come out, with its probability."""
    rows = ((0.15, 0, 0, 0), (0.05, 0.05, 0.15, 0), (0, 0, 0.2, 0), (0.05, 0, 0.15, 0.2))
    for i, row in enumerate(rows):
        name = f"drafted {'abcd'[i]}"
        entries = [typed(f"{name}, emitted {'abcd'[j]}", row[j], digits=6, target=4 * i + j) for j in range(4)]
        hint = (
            "The row adds up to q(x): what is accepted stays on the diagonal, the rest is shared out by the residual."
        )
        yield script(name, *(entry.steps[0] for entry in entries), hint=hint)


@lab.check(points=4, target=["gamma_star", "factor"], minutes=6)
def gamma_by_hand(draw: Draw) -> Iterator[Case]:
    """How far ahead to draft, for one α and one c."""
    more = "Go on as long as the factor rises. Is the token that a round emits beyond its drafts in your E[N]?"
    yield typed("γ*", 4, target=0, hint=more)
    yield typed("its factor", 781 / 256 / 1.5, digits=3, target=1, hint="Divide E[N] by γc + 1.")


def overlap_case(name: str, p: np.ndarray, q: np.ndarray, hint: str, unchanged: bool = False) -> Case:
    """One call of acceptance_rate. Only one case looks at the arguments afterwards."""
    expect = np.sum(np.minimum(p.astype(float), q.astype(float)), axis=-1)
    bound = rounding(p.shape[-1], dtype=str(p.dtype))
    return case(name, (p, q), expect=expect, bound=bound, unchanged=unchanged, hint=hint)


def two_ends(draw: Draw, v: int) -> tuple[np.ndarray, np.ndarray]:
    """A row where p = q, and one in which no token is possible under both."""
    p = draw.probabilities(2, v)
    half, q = np.arange(v) < v // 2, p.copy()
    p[1], q[1] = p[1] * half / p[1][half].sum(), q[1] * ~half / q[1][~half].sum()
    return p, q


@lab.check(points=4, target="acceptance_rate(p, q) -> alpha", minutes=5)
def acceptance_rate(draw: Draw) -> Iterator[Case]:
    """How often a token drawn from q is accepted against p."""
    yield overlap_case(
        "one pair of distributions",
        *draw.probabilities(2, 5),
        hint="A token x is drafted with q(x) and accepted with min(1, p(x)/q(x)). Multiply, then add over all x.",
    )
    yield overlap_case("a batch, float32", *draw.probabilities(2, 3, 7).astype("float32"), hint=SEVERAL)
    ends = (
        "p = q accepts everything, so α = 1; with no token in common nothing is accepted, α = 0. No division is needed."
    )
    yield overlap_case("p = q, and nothing in common", *two_ends(draw, 6), hint=ends)
    yield overlap_case("the caller's arrays stay as they were", *draw.probabilities(2, 4), unchanged=True, hint=OWN)


def reference_residual(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """norm((p − q)₊) in float64; p where that is zero throughout."""
    p, q = p.astype(float), q.astype(float)
    missing = np.maximum(p - q, 0)
    missing = np.where(missing.any(axis=-1, keepdims=True), missing, p)
    return missing / missing.sum(axis=-1, keepdims=True)


def residual_case(name: str, p: np.ndarray, q: np.ndarray, hint: str, unchanged: bool = False) -> Case:
    """One call of residual. An error of p − q counts as many times as the mass that is left fits into 1."""
    left = np.maximum(p - q, 0).sum(axis=-1)
    bound = rounding(p.shape[-1], scale=1 / float(np.min(left, where=left > 0, initial=1)), dtype=str(p.dtype))
    return case(name, (p, q), expect=reference_residual(p, q), bound=bound, unchanged=unchanged, hint=hint)


def pairs(draw: Draw, *shape: int, dtype: str = "float64") -> np.ndarray:
    """p and q, stacked, with something left on two tokens of every row: on one alone, any share of it would be all of it."""
    while True:
        p, q = draw.probabilities(2, *shape)
        if np.all(np.sum(p - q > 0.01, axis=-1) > 1):
            return np.array([p, q], dtype=dtype)


def equal_at(p: np.ndarray, q: np.ndarray, *places: tuple) -> tuple[np.ndarray, np.ndarray]:
    """p and q, with q the same as p at some places."""
    for place in places:
        q[place] = p[place]
    return p, q


@lab.check(points=6, target="residual(p, q) -> r", minutes=10)
def residual(draw: Draw) -> Iterator[Case]:
    """Where a token is drawn from after a rejection."""
    yield residual_case(
        "one pair of distributions",
        *pairs(draw, 5),
        hint="Keep p − q where it is positive, put 0 elsewhere, and divide by what you kept.",
    )
    yield residual_case("a batch: each row by itself", *pairs(draw, 3, 6), hint=SEVERAL + " And keep the axis.")
    yield residual_case("two leading axes, float32", *pairs(draw, 2, 3, 7, dtype="float32"), hint=SEVERAL)
    yield residual_case(
        "rows with p = q among others",
        *equal_at(*pairs(draw, 4, 5), (1,), (3,)),
        hint="Where p = q the sum is 0, and 0/0 is nan. `np.where` can put p in the place of such a row before you divide.",
    )
    yield residual_case("the caller's arrays stay as they were", *pairs(draw, 4), unchanged=True, hint=OWN)


def pick(weights: np.ndarray, u: float) -> int:
    """The token that inverting the cumulative sum at u gives; −1 where nothing can be drawn."""
    total = np.cumsum(weights)
    return int(np.searchsorted(total, u * total[-1], side="right")) if total[-1] > 0 else -1


def endings(x: np.ndarray, q: np.ndarray, p: np.ndarray, n: int) -> list[np.ndarray]:
    """What the last token of a round with n accepted drafts is drawn from: the right row first, then the usual mistakes.

    After a rejection: p, p where p > q, p less one number, |p − q|, the residual of the row before (before the first, as
    indices go, comes the last). After none: the row before, and its residual.
    """
    before = reference_residual(p[n - 1], q[n - 1])
    if n == len(x):
        return [p[n], p[n - 1], before]
    over, one = np.where(p[n] > q[n], p[n], 0), np.maximum(p[n] - q[n, x[n]], 0)
    return [reference_residual(p[n], q[n]), p[n], over, one, np.abs(p[n] - q[n]), before]


def slips(x: np.ndarray, q: np.ndarray, p: np.ndarray, u: Sequence[float], n: int) -> list[int]:
    """The last token, right first, and what the usual mistakes give; after a rejection its uniform, used again, is another."""
    rows = endings(x, q, p, n)
    return [*(pick(row, u[-1]) for row in rows), *([pick(rows[0], u[n])] if n < len(x) else [])]


def position(draw: Draw, kind: str, v: int) -> tuple[int, np.ndarray, np.ndarray, float]:
    """A drafted token, its rows q and p, and a uniform with which it is

    + accepted, p(x) > q(x)     ~ accepted, though p(x) < q(x)     - rejected     0 rejected, p(x) = 0 and r = 0

    far enough from the turning point r = p(x)/q(x) for any precision.
    """
    (q, p), x, (size, share, u) = draw.probabilities(2, v), draw.integers(0, v), draw.uniforms(3)
    ratio = 1.5 + 1.5 * share if kind == "+" else 0.25 + 0.4 * share if kind in "~-" else 0.0
    for row, value in ((q, 0.1 + 0.2 * size), (p, ratio * (0.1 + 0.2 * size))):
        row *= (1 - value) / (1 - row[x])
        row[x] = value
    # Accepted where p > q only above q/p, so that the ratio turned upside down would reject it.
    low, high = {"+": (1 / ratio if ratio else 0, 1), "~": (0, ratio), "-": (ratio, 1), "0": (0, 0)}[kind]
    return x, q, p, low + (high - low) * (0.1 + 0.8 * u)


def sequence(draw: Draw, kinds: str, v: int) -> list[np.ndarray]:
    """Drafts of the given kinds, and a last uniform that tells the right token from those of the usual mistakes."""
    gamma = len(kinds)
    n = next((i for i, kind in enumerate(kinds) if kind in "-0"), gamma)
    while True:
        x, q, p, u = (list(part) for part in zip(*(position(draw, kind, v) for kind in kinds), strict=True))
        x, q, p = np.array(x), np.array(q), np.array([*p, draw.probabilities(v)])
        right = endings(x, q, p, n)[0]
        for last in 0.01 + 0.98 * draw.uniforms(3):
            token, *others = slips(x, q, p, [*u, last], n)
            # Moved a little, the uniform must draw the same token.
            if token not in others and token == pick(right, last - 1e-3) == pick(right, last + 1e-3):
                return [x, q, p, np.array([*u, last])]


def reference_verify(x: np.ndarray, q: np.ndarray, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One round for each sequence of a batch, one by one."""
    batch, gamma = x.shape
    tokens, accepted = np.full((batch, gamma + 1), -1), np.zeros(batch, dtype=int)
    for b in range(batch):
        n = 0
        while n < gamma and u[b, n] * q[b, n, x[b, n]] < p[b, n, x[b, n]]:
            n += 1
        row = p[b, n] if n == gamma else reference_residual(p[b, n], q[b, n])
        tokens[b, :n], tokens[b, n], accepted[b] = x[b, :n], pick(row, u[b, gamma]), n
    return tokens, accepted


def verify_case(
    draw: Draw, name: str, kinds: Sequence[str], v: int, hint: str, dtype: str = "float64", unchanged: bool = False
) -> Case:
    """One round of a batch: for each sequence what its drafts are, in the signs of `position`.

    Rows beyond a rejection are distributions like any other: an answer that works on whole arrays may well read them.
    """
    x, q, p, u = (np.array(part) for part in zip(*(sequence(draw, kind, v) for kind in kinds), strict=True))
    expect = reference_verify(x, q, p, u)
    return case(name, (x, q.astype(dtype), p.astype(dtype), u), expect=expect, unchanged=unchanged, hint=hint)


def nothing_left_case(draw: Draw, name: str, v: int) -> Case:
    """A rejection although p = q up to rounding: there is no residual, and the row itself must do."""
    while True:
        x, q, p, u = sequence(draw, "++", v)
        q[1] = p[1]
        q[1, x[1]] *= 1 + 1e-12
        u[1] = 1 - 1e-13
        right, _, _, *others = slips(x, q, p, u, 1)
        if right not in others:
            break
    round_ = [part[None] for part in (x, q, p, u)]
    hint = (
        "p and q differ by a rounding error only, (p − q)₊ is zero throughout, and r is very close to 1. What is left?"
    )
    return case(name, round_, expect=reference_verify(*round_), unchanged=False, hint=hint)


@lab.check(
    points=13,
    target="verify(draft_tokens, draft_probs, target_probs, uniforms) -> (tokens, accepted)",
    needs=["residual"],
    minutes=30,
)
def verify(draw: Draw) -> Iterator[Case]:
    """Which drafted tokens stand, and what comes after them."""
    bonus = (
        "If all γ drafts stand, row γ of the target (counted from 0) has not been used yet: it gives one token more."
    )
    first = (
        "r·q(x) ≥ p(x) rejects. Then the last uniform draws from the residual of this position, and −1 fills the rest."
    )
    prefix = "A rejection ends the round: what was drafted after it has a wrong past, and counts no more."
    own = "Each sequence has a length of its own. Which of your numbers are shared by the batch, and should not be?"
    yield verify_case(draw, "every draft stands, and one token more", ["~+~"], 6, bonus)
    yield verify_case(draw, "the first draft is rejected", ["--"], 5, first)
    yield verify_case(draw, "after a rejection, drafts that would pass", ["~-++"], 6, prefix)
    yield verify_case(draw, "four sequences, four lengths", ["~+-", "---", "+~+", "+-~"], 7, own)
    yield verify_case(
        draw, "p(x) = 0 does not stand, not even for r = 0", ["+0"], 6, "Accept if r·q(x) < p(x): 0 < 0 is false."
    )
    yield nothing_left_case(draw, "a rejection that leaves nothing", 5)
    yield verify_case(draw, "float32 rows", ["+-", "~-"], 8, first, dtype="float32")
    yield verify_case(draw, "the caller's arrays stay as they were", ["+-"], 5, OWN, unchanged=True)


def reference_tokens(alpha: np.ndarray | float, gamma: int) -> np.ndarray:
    """1 + α + … + α^γ."""
    return np.sum([np.asarray(alpha, dtype=float) ** i for i in range(gamma + 1)], axis=0)


def near_one(gamma: int) -> Bound:
    """What a closed form may lose: 1 − α^{γ+1} and 1 − α have an error of ε, which 1/(1 − α) ≤ 10 makes larger."""
    return rounding(gamma + 1, scale=10 * (gamma + 1), dtype="float64")


def array_of_alphas(draw: Draw, n: int) -> np.ndarray:
    """0 and 1 at its ends, and numbers up to 0.9 between."""
    return np.array([0.0, *(0.1 + 0.8 * draw.uniforms(n - 2)), 1.0])


@lab.check(points=5, target=["expected_tokens(alpha, gamma)", "improvement_factor(alpha, gamma, c)"], minutes=8)
def factors(draw: Draw) -> Iterator[Case]:
    """What a round emits on average, and how many times faster that is."""
    alpha = round(0.3 + 0.5 * float(draw.uniforms()), 3)
    yield many(
        f"E[N] for α = {alpha:g} and γ = 0, 1, …, 6",
        [[alpha] * 7, list(range(7))],
        expect=np.array([reference_tokens(alpha, gamma) for gamma in range(7)]),
        bound=near_one(6),
        hint="1 + α + … + α^γ: γ + 1 terms, since a round emits one token more than it accepts. For γ = 0 that is 1.",
    )
    alphas, gamma = array_of_alphas(draw, 5), draw.integers(3, 7)
    yield case(
        f"E[N] for an array of α, 0 and 1 among them, γ = {gamma}",
        (alphas, gamma),
        expect=reference_tokens(alphas, gamma),
        bound=near_one(gamma),
        unchanged=False,
        hint="(1 − α^{γ+1})/(1 − α) is 0/0 for α = 1, and `if alpha == 1` fails for an array. The sum has neither trouble.",
    )
    c = round(0.05 + 0.2 * float(draw.uniforms()), 3)
    yield factor_case("the factor for plain numbers", (alpha, draw.integers(2, 6), c))
    yield factor_case("the factor for an array of α", (alphas, draw.integers(2, 6), 2 * c))


def factor_case(name: str, args: tuple) -> Case:
    """One improvement factor: a quotient, with the error of its numerator."""
    alpha, gamma, c = args
    expect = reference_tokens(alpha, gamma) / (gamma * c + 1)
    hint = "A round takes γ draft runs of c each, and one target run: γc + 1."
    return case(name, args, expect=Close(expect, near_one(gamma)), target=1, unchanged=False, hint=hint)


def all_factors(alpha: float, c: float, gamma_max: int) -> np.ndarray:
    """The improvement factors for γ = 0, …, gamma_max."""
    gammas = np.arange(gamma_max + 1)
    return np.cumsum(alpha**gammas) / (gammas * c + 1)


def inner_best(draw: Draw, gamma_max: int) -> tuple[float, float, int]:
    """α and c whose best γ lies inside, ahead of every other by more than rounding could ever make up."""
    while True:
        alpha, c = round(0.3 + 0.65 * float(draw.uniforms()), 2), round(0.01 + 0.2 * float(draw.uniforms()), 3)
        gains = all_factors(alpha, c, gamma_max)
        *_, second, first = np.sort(gains)
        if first - second > 1e-6 and 1 < np.argmax(gains) < gamma_max:
            return alpha, c, gamma_max


def gamma_case(name: str, triples: Sequence[tuple[float, float, int]], hint: str) -> Case:
    """Several choices in one; the place of a wrong one says which it was."""
    expect = np.array([int(np.argmax(all_factors(*triple))) for triple in triples])
    return many(name, [list(part) for part in zip(*triples, strict=True)], expect=expect, hint=hint)


@lab.check(points=4, target="best_gamma(alpha, c, gamma_max) -> int", needs=["factors"], minutes=8)
def best_gamma(draw: Draw) -> Iterator[Case]:
    """How far ahead to draft."""
    yield gamma_case(
        "a best γ inside",
        [inner_best(draw, gamma_max) for gamma_max in (8, 11, 16, 23)],
        "Work out the factor for every γ from 0 to gamma_max and keep the γ of the largest, not the largest γ that gains.",
    )
    yield gamma_case(
        "equally good ones: the smaller",
        [(0.5, 0.5, 6), (0.25, 0.25, 9), (1.0, 1.0, 7), (0.0, 0.0, 5)],
        "α = c gains nothing: γ = 0 and γ = 1 have the factor 1. Replace the best so far only by one that is really better.",
    )
    dear = [(0.3, 0.75, 6), (0.125, 0.5, 12), (0.0, 0.25, 9), (0.9, 1.5, 10)]
    yield gamma_case("a draft that costs more than it agrees", dear, "γ = 0, not to draft at all, is a choice too.")
    free = [(0.5, 0.0, 12), (0.9, 0.0, 17), (1.0, 0.25, 9), (0.9375, 0.0078125, 5)]
    yield gamma_case(
        "more is always better: gamma_max", free, "gamma_max is allowed as well: `range` stops before its end."
    )


def ngram_model(order, greedy):
    """A word model of some pages of prose, which counts its runs; a greedy one puts all mass on its likeliest token."""
    import numpy as np

    from course_lib.speculation.ngrams import NGramModel
    from course_lib.speculation.words import Vocabulary, sample_text

    text = sample_text("prose")[:12_000]
    words = Vocabulary.train(text, 200)

    class Counted:
        def __init__(self):
            self.runs, self.text = 0, words.encode(text)
            self.rows = NGramModel.train(self.text, words.size, order)

        def __call__(self, sequences, n_last):
            self.runs += 1
            rows = self.rows(sequences, n_last)
            return 1.0 * (np.arange(words.size) == rows.argmax(-1)[..., None]) if greedy else rows

    return Counted()


def scripted(numbers):
    """Gives prepared numbers one after another, in the shape that is asked for."""
    import numpy as np

    used = [0]

    def random(*shape):
        start, used[0] = used[0], used[0] + int(np.prod(shape))
        if used[0] > len(numbers):
            raise RuntimeError(f"random was asked for more than {len(numbers)} numbers: does every round add a token?")
        return np.reshape(numbers[start : used[0]], shape)

    return random


@lru_cache
def own_model(order: int, greedy: bool):
    """The models of the checks, here."""
    return ngram_model(order, greedy)


def reference_decode(
    prompt: list[int], rounds: int, gamma: int, numbers: np.ndarray, greedy: bool, order: int = TARGET
):
    """The tokens that each round adds, and each round itself, as `reference_verify` takes it."""
    draft, target, random = own_model(DRAFT, greedy), own_model(order, greedy), scripted(numbers)
    ids, texts, rounds_ = list(prompt), [], []
    for _ in range(rounds):
        ahead, rows = list(ids), []
        for _ in range(gamma):
            rows.append(draft([ahead], 1)[0, 0])
            ahead.append(pick(rows[-1], float(random(1)[0])))
        x = np.array(ahead[len(ids) :])
        rounds_.append((x, np.array(rows), target([ahead], gamma + 1)[0], random(gamma + 1)))
        tokens, accepted = reference_verify(*(part[None] for part in rounds_[-1]))
        texts.append(tokens[0, : accepted[0] + 1].tolist())
        ids += texts[-1]
    return texts, rounds_


def telling(texts: list[list[int]], rounds_: list, greedy: bool) -> bool:
    """Whether each usual mistake writes another token in some round but the last, if it can with these models at all."""
    *counts, last = (len(text) - 1 for text in texts)
    gamma, rounds_ = len(rounds_[0][0]), rounds_[:-1]
    if not last or gamma not in counts or 0 not in counts:
        return False
    at = np.arange(gamma)
    passes = [(u[:-1] * q[at, x] < p[at, x], q[at, x] > p[at, x]) for x, q, p, u in rounds_]
    if gamma > 1 and not any(stands.sum() > n for (stands, _), n in zip(passes, counts, strict=True)):
        return False  # no draft after a rejection would pass
    if not greedy and not any(over[:n].any() for (_, over), n in zip(passes, counts, strict=True)):
        return False  # no draft with p < q is accepted
    stopped, whole = set(), set()
    for round_, n in zip(rounds_, counts, strict=True):
        right, *wrong = slips(*round_, n)
        (whole if n == gamma else stopped).update(i for i, token in enumerate(wrong) if token != right)
    # Greedy rows have all mass on one token: drawing from p, or with another uniform, changes nothing there.
    return whole == {0, 1} and stopped >= ({2, 3, 4} if greedy else {0, 1, 2, 3, 4, 5})


def decode_inputs(draw: Draw, rounds: int, gamma: int, greedy: bool = False) -> tuple:
    """A prompt and numbers for so many rounds, which tell the usual mistakes from the right answer."""
    text = own_model(DRAFT, False).text
    while True:
        start, numbers = draw.integers(0, len(text) - 3), draw.uniforms(rounds * (2 * gamma + 1))
        texts, rounds_ = reference_decode(text[start : start + 3], rounds, gamma, numbers, greedy)
        if telling(texts, rounds_, greedy):
            return text[start : start + 3], [token for part in texts for token in part], numbers, gamma, greedy


def set_up(target: int, greedy: bool, numbers: np.ndarray) -> list[Step]:
    """Two models and prepared numbers, in the registers "draft", "target" and "random".

    There are numbers for some rounds more, so that an answer that does not stop is stopped.
    """
    return [
        put("ngram_model", given(ngram_model)),
        call("ngram_model", DRAFT, greedy, keep="draft"),
        call("ngram_model", target, greedy, keep="target"),
        put("scripted", given(scripted)),
        call("scripted", [*numbers.tolist(), *(numbers[::-1] / 2).tolist()], keep="random"),
    ]


def text_steps(inputs: tuple, cut: int = 0) -> list[Step]:
    """Decodes what the rounds of `inputs` give, less the last `cut` tokens."""
    prompt, new, numbers, gamma, greedy = inputs
    new = new[: len(new) - cut]
    arguments = (Register("draft"), Register("target"), prompt, len(new), gamma, Register("random"))
    return [*set_up(TARGET, greedy, numbers), call(0, *arguments, unchanged=False, expect=new)]


def agreeing_steps(draw: Draw, rounds: int, gamma: int, unchanged: bool = False) -> list[Step]:
    """Decodes with a draft that is the target: every token stands, and the number of rounds is known.

    The text must not go round in circles: there, a draft that does not see what it has written would be right as well.
    """
    text, n_new, new = own_model(DRAFT, False).text, rounds * (gamma + 1), []
    while len({*new}) <= n_new / 2:
        start, numbers = draw.integers(0, len(text) - 3), draw.uniforms(rounds * (2 * gamma + 1))
        parts, _ = reference_decode(text[start : start + 3], rounds, gamma, numbers, False, DRAFT)
        new = [token for part in parts for token in part]
    arguments = (Register("draft"), Register("target"), text[start : start + 3], n_new, gamma, Register("random"))
    return [
        *set_up(DRAFT, False, numbers),
        call(0, *arguments, unchanged=unchanged, keep="new"),
        call("new", method="__len__", expect=n_new),
    ]


@lab.check(
    points=6,
    target="speculative_decode(draft, target, prompt, n_new, gamma, random) -> list of the new tokens",
    needs=["verify"],
    minutes=25,
)
def speculative_decode(draw: Draw) -> Iterator[Case]:
    """The loop around the rounds."""
    order = "A round takes random(1) for each drafted token, then random(1, γ + 1) for verify, whatever verify makes of them."
    yield script(
        "greedy models: the target's own text",
        *text_steps(decode_inputs(draw, 9, 3, greedy=True)),
        hint="Add the accepted drafts and the token after them, tokens[0, :accepted[0] + 1], and nothing else.",
    )
    yield script("numbers from a script, γ = 4", *text_steps(decode_inputs(draw, 11, 4)), hint=order)
    yield script(
        "the last round gives more than is asked for",
        *text_steps(decode_inputs(draw, 10, 3), cut=1),
        hint="The caller asked for n_new tokens. What a round gives beyond them is cut off.",
    )
    yield script(
        "seven rounds: γ draft runs and one target run each",
        *agreeing_steps(draw, 7, 3),
        read("target", "runs", expect=7),
        read("draft", "runs", expect=21),
        hint="target([ids + drafts], γ + 1) gives all γ + 1 rows in one run; the draft runs once for each token that it drafts.",
    )
    yield script(
        "the prompt stays as it was",
        *agreeing_steps(draw, 3, 2, unchanged=True),
        hint="`ids = prompt` is a second name for the caller's list; `list(prompt)` is a list of your own.",
    )


lab.written(
    "why_not_p",
    {
        "Acceptance has delivered min(p, q) already; what is missing of p is p − min(p, q) = (p − q)₊, and nothing else.": 1.0,
        "With a draw from p, a token comes out with min(p, q) + (1 − α)p, which is not p (unless p = q).": 1.0,
        "Numbers for the pair of exercise 1: a 0.25, b 0.07, c 0.40, d 0.28 instead of 0.25, 0.05, 0.50, 0.20; or the "
        "direction: tokens that the draft overrates come too often, those that it underrates too rarely.": 1.0,
        "A draw from p is right after the last draft, where nothing was proposed and so nothing delivered (q = 0 there).": 1.0,
    },
)


from . import hunts  # noqa: F401 the bug hunts are a file of their own, and add to this lab
