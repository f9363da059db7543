"""A stream of speculative decoding between two models over twelve words, recorded event by event for the round player.

Everything is decoded for good: drafts drawn from the draft's rows, verified by `verify_and_emit`, and every row and random
number kept. The target goes by the word before. A draft knows less: only how often each word comes, or only what follows
words of the same kind, or a mixture of both.

    p, q      the target's and the draft's distribution of the next word             (12,)
    r         the number in [0, 1) of one test: the word stays if r < p/q
    gamma, γ  drafted words a round
    alpha, α  Σ min(p, q), averaged over the words that the target writes            Leviathan et al., 2023, Thm. 3.5
    N         words that a round emits; E[N] from α                                  eq. 1
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from course_lib.arrays import sample
from course_lib.speculation import acceptance_rate, expected_tokens, verify_and_emit

FOLLOWS = {
    "the": {"old": 4, "dog": 7, "cat": 6, "bird": 2},
    "a": {"dog": 3, "cat": 4, "bird": 7},
    "old": {"dog": 7, "cat": 3, "bird": 1},
    "dog": {"saw": 3, "met": 7, "sang": 1, "slept": 4, "and": 1},
    "cat": {"saw": 6, "met": 2, "sang": 1, "slept": 7, "and": 2},
    "bird": {"saw": 3, "met": 1, "sang": 9, "slept": 1, "and": 1},
    "saw": {"the": 7, "a": 4},
    "met": {"the": 3, "a": 7},
    "sang": {"and": 6, ".": 4},
    "slept": {"and": 2, ".": 9},
    "and": {"the": 5, "a": 2, "sang": 3, "slept": 2},
    ".": {"the": 8, "a": 4},
}
"""The target: how often each word follows each other one."""
KINDS = ("the", "a"), ("old",), ("dog", "cat", "bird"), ("saw", "met"), ("sang", "slept"), ("and",), (".",)
WORDS = tuple(FOLLOWS)
FIRST = WORDS.index("the")
DRAFTS = {
    "frequencies of words": "frequencies",
    "mostly kinds of words": "both",
    "kinds of words": "kinds",
    "all that the target knows": "target",
}
"""What a draft may know, in words and by name."""


@dataclass(frozen=True)
class Round:
    """One round as it was computed: words by number, a row of q for each draft, and one row of p more."""

    drafted: tuple[int, ...]
    q: Float[np.ndarray, "gamma v"]
    p: Float[np.ndarray, "gamma_plus_1 v"]
    uniforms: Float[np.ndarray, "gamma_plus_1"]
    accepted: int
    last: int
    """The word drawn last: in place of the first that did not stay, or after all of them."""

    @property
    def gamma(self) -> int:
        """How many words were drafted."""
        return len(self.drafted)

    @property
    def emitted(self) -> tuple[int, ...]:
        """What the round adds to the text."""
        return (*self.drafted[: self.accepted], self.last)

    def ratio(self, i: int) -> float:
        """p/q of the i-th drafted word, with which r is compared."""
        x = self.drafted[i]
        return float(self.p[i, x] / self.q[i, x])


@dataclass(frozen=True)
class Event:
    """One moment of the stream."""

    kind: str
    """start, draft, run, keep, reject, replace or bonus."""
    at: int
    """The position in the round, from 0."""
    text: tuple[int, ...]
    """All words before the round."""
    round: Round | None
    rounds: int
    words: int
    """The rounds that are finished, and the words that they have emitted."""
    target_runs: int

    @property
    def before(self) -> int:
        """The word before the position at which this happens."""
        return self.round.drafted[self.at - 1] if self.round and self.at else self.text[-1]


def target_rows() -> Float[np.ndarray, "v v"]:
    """The target's distribution after each word."""
    table = np.array([[FOLLOWS[word].get(other, 0) for other in WORDS] for word in WORDS], dtype=float)
    return table / table.sum(axis=1, keepdims=True)


def word_shares() -> Float[np.ndarray, "v"]:
    """How often the target writes each word in the long run: the distribution that its table leaves as it is."""
    p = target_rows()
    equations = np.vstack([p.T - np.eye(len(p)), np.ones(len(p))])
    return np.linalg.lstsq(equations, np.append(np.zeros(len(p)), 1.0), rcond=None)[0]


def draft_rows(knows: str) -> Float[np.ndarray, "v v"]:
    """A draft's distribution after each word.

    Raises:
        ValueError: `knows` is none of the names in DRAFTS.
    """
    if knows not in DRAFTS.values():
        raise ValueError(f"knows is {knows!r}, needs to be one of {', '.join(DRAFTS.values())}")
    p, shares = target_rows(), word_shares()
    if knows == "target":
        return p
    frequencies = np.broadcast_to(shares, p.shape)
    kinds = np.empty_like(p)
    for kind in KINDS:
        rows = [WORDS.index(word) for word in kind]
        kinds[rows] = shares[rows] @ p[rows] / shares[rows].sum()
    weight = {"frequencies": 1.0, "both": 0.25, "kinds": 0.0}[knows]
    return weight * frequencies + (1 - weight) * kinds


def mean_acceptance(knows: str) -> float:
    """α, averaged over the words that the target writes."""
    return float(np.average(acceptance_rate(target_rows(), draft_rows(knows)), weights=word_shares()))


def expected_words(gamma: int, knows: str) -> float:
    """E[N] for the mean α, which serves here: by position, α differs little from it."""
    return expected_tokens(mean_acceptance(knows), gamma)


def rounds(gamma: int, knows: str, seed: int) -> Iterator[tuple[tuple[int, ...], Round]]:
    """Endless rounds after the word "the", each with the text before it (Leviathan et al., 2023, Alg. 1)."""
    rng = np.random.default_rng(seed)
    p, q = target_rows(), draft_rows(knows)
    text = (FIRST,)
    while True:
        seen = [text[-1]]
        for _ in range(gamma):
            seen.append(int(sample(q[seen[-1]], np.asarray(rng.random()))))
        uniforms = rng.random(gamma + 1)
        done = verify_and_emit(np.array(seen[1:]), q[seen[:-1]], p[seen], uniforms)
        accepted = int(done.accepted)
        this = Round(tuple(seen[1:]), q[seen[:-1]], p[seen], uniforms, accepted, int(done.tokens[accepted]))
        yield text, this
        text += this.emitted


@lru_cache(maxsize=64)
def recorded(gamma: int, knows: str, seed: int, n_events: int) -> tuple[Event, ...]:
    """The first events of a stream, kept, as a reader walks up and down the same one."""
    found = [Event("start", 0, (FIRST,), None, 0, 0, 0)]
    words = 0
    for number, (text, this) in enumerate(rounds(gamma, knows, seed)):
        if len(found) >= n_events:
            break
        kinds = [("draft", i) for i in range(gamma)] + [("run", 0)] + [("keep", i) for i in range(this.accepted)]
        kinds += [("reject", this.accepted)] if this.accepted < gamma else []
        found += [Event(kind, i, text, this, number, words, number + (kind != "draft")) for kind, i in kinds]
        words += this.accepted + 1
        last = "replace" if this.accepted < gamma else "bonus"
        found.append(Event(last, this.accepted, text, this, number + 1, words, number + 1))
    return tuple(found[:n_events])
