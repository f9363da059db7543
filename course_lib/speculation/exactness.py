"""Exactness, enumerated: every way in which a round can go, with its probability, added up.

The proof that speculation emits the target's distribution is two lines long. For small vocabularies one need not believe it:
there are v drafts, each stands or does not, and each rejection has v replacements, so all cases can be written down and summed.
The same is done here for whole rounds and several of them, with models whose rows depend on all that came before. Beside it
stands classical rejection sampling, which is exact too, and shows what had to be changed: it needs an envelope κq ≥ p, and
throws a rejected draw away.

    p, q      distributions of the next token, target and draft          (*batch, v)
    table     table[x, y]: probability that x is drafted and y emitted   (*batch, v, v)
    kappa, κ  the smallest number for which κ·q(x) ≥ p(x) everywhere, max p/q    von Neumann, 1951
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from course_lib.arrays import array_namespace, device, like
from course_lib.speculation.theory import distribution, distributions, positive_part

Rows = Callable[[tuple[int, ...]], Any]
"""A small model: the distribution of the next token after the tokens given, (v)."""


def emission_table(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> Float[Any, "*batch v v"]:
    """The probability of each pair of a drafted token x and an emitted token y, at one position.

    x is drafted with q(x). With probability min(1, p(x)/q(x)) it is emitted itself; otherwise y comes from the residual. A
    draft that q never makes fills a row with zeros.

    Raises:
        ValueError: shapes differ, or a row is no distribution.
    """
    p, q = distributions(p, q)
    xp = array_namespace(p, q)
    drafted = q > 0
    accept = xp.where(drafted, xp.minimum(like(p, 1), p / xp.where(drafted, q, like(q, 1))), like(p, 0))
    missing = positive_part(p, q)
    replacement = missing / xp.sum(missing, axis=-1, keepdims=True)
    same = xp.eye(p.shape[-1], dtype=p.dtype, device=device(p))
    stands = (q * accept)[..., None] * same
    return stands + (q * (1 - accept))[..., None] * replacement[..., None, :]


def emitted_distribution(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> Float[Any, "*batch v"]:
    """What one position emits, over all drafts and all outcomes: equal to p for any q (Leviathan et al., 2023, app. A.1).

    Raises:
        ValueError: shapes differ, or a row is no distribution.
    """
    table = emission_table(p, q)
    return array_namespace(table).sum(table, axis=-2)


def emitted_texts(
    draft: Rows, target: Rows, gamma: int, length: int, prefix: tuple[int, ...] = ()
) -> dict[tuple[int, ...], float]:
    """The probability of every text of `length` tokens that speculation can write, rounds and all, by full enumeration.

    Each round drafts all v^γ continuations, lets each end at every position at which it can end, and goes on from there.
    What the last round emits beyond `length` is cut off, as a decoder cuts it.

    Raises:
        ValueError: γ is negative, `length` is below 1, a row is no distribution, or the vocabularies differ.
    """
    if gamma < 0 or length < 1:
        raise ValueError(f"gamma is {gamma} and length {length}, needs gamma ≥ 0 and length ≥ 1")
    finished: dict[tuple[int, ...], float] = {}
    growing = {prefix: 1.0}
    while growing:
        text, weight = growing.popitem()
        for emitted, probability in _round(draft, target, gamma, text):
            grown, total = text + emitted, weight * probability
            if len(grown) >= len(prefix) + length:
                key = grown[len(prefix) : len(prefix) + length]
                finished[key] = finished.get(key, 0.0) + total
            else:
                growing[grown] = growing.get(grown, 0.0) + total
    return finished


def own_texts(target: Rows, length: int, prefix: tuple[int, ...] = ()) -> dict[tuple[int, ...], float]:
    """The probability of every text of `length` tokens under the target alone: the chain rule, token by token.

    Raises:
        ValueError: `length` is below 1, or a row is no distribution.
    """
    if length < 1:
        raise ValueError(f"length is {length}, needs to be at least 1")
    texts = {(): 1.0}
    for _ in range(length):
        rows = {text: _row("target", target, prefix + text) for text in texts}
        texts = {
            (*text, x): weight * float(rows[text][x]) for text, weight in texts.items() for x in range(len(rows[text]))
        }
    return texts


def _round(draft: Rows, target: Rows, gamma: int, text: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Everything that one round after `text` can emit, with its probability; the same tokens may come up several times."""
    v = len(_row("target", target, text))
    for drafted in product(range(v), repeat=gamma):
        reach = 1.0  # the probability that these tokens are drafted and those so far accepted
        for i, x in enumerate(drafted):
            p, q = (_row(name, model, text + drafted[:i]) for name, model in (("target", target), ("draft", draft)))
            if len(q) != v:
                raise ValueError(f"draft has a vocabulary of {len(q)}, needs that of the target: {v}")
            if q[x] == 0:
                reach = 0.0
                break
            # A rejection here ends the round whatever is drafted later: counted once, not for each way to draft on.
            if all(later == 0 for later in drafted[i + 1 :]):
                missing = positive_part(p, q)
                rejected = reach * max(0.0, q[x] - p[x])
                for y in range(v):
                    if probability := rejected * missing[y] / missing.sum():
                        yield (*drafted[:i], y), float(probability)
            reach *= min(q[x], p[x])
        if reach > 0:
            for y, probability in enumerate(_row("target", target, text + drafted)):
                if probability > 0:
                    yield (*drafted, y), float(reach * probability)


def _row(name: str, model: Rows, text: tuple[int, ...]) -> np.ndarray:
    return distribution(f"a row of {name}", np.asarray(model(text)))


class Draws(NamedTuple):
    """Tokens from classical rejection sampling, and what they took."""

    tokens: Int[np.ndarray, "n"]
    proposals: int
    """Draws from q, and so evaluations of p, that it took in all."""


def envelope(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> Float[Any, "*batch"]:
    """κ = max p/q, the smallest factor for which κ·q lies nowhere below p; ∞ where q lacks a token that p has.

    Never below 1, since both sum to 1. Classical rejection sampling accepts a proposal with probability 1/κ.

    Raises:
        ValueError: shapes differ, or a row is no distribution.
    """
    p, q = distributions(p, q)
    xp = array_namespace(p, q)
    covered = q > 0
    ratio = xp.where(covered, p / xp.where(covered, q, like(q, 1)), xp.where(p > 0, like(p, np.inf), like(p, 0)))
    return xp.maximum(xp.max(ratio, axis=-1), like(p, 1))  # rows that sum to 1 but for rounding


def rejection_sample(p: Float[np.ndarray, "v"], q: Float[np.ndarray, "v"], n: int, rng: np.random.Generator) -> Draws:
    """n tokens from p by classical rejection: propose x from q, keep it with probability p(x) / (κ·q(x)), else start over.

    Raises:
        ValueError: n is negative, a row is no distribution, or q lacks a token that p has, so that no envelope exists.
    """
    if n < 0:
        raise ValueError(f"n is {n}, needs to be at least 0")
    kappa = float(envelope(p, q))
    if kappa == np.inf:
        raise ValueError(
            "q gives probability 0 to a token that p can emit, needs q > 0 wherever p > 0: no envelope exists"
        )
    kept: list[int] = []
    proposals = 0
    while len(kept) < n:
        x = int(rng.choice(len(q), p=q / q.sum()))
        proposals += 1
        if rng.random() * kappa * q[x] < p[x]:
            kept.append(x)
    return Draws(np.array(kept, dtype=np.int64), proposals)
