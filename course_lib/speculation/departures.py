"""What departs from the target's distribution and what does not: sampling rules, fewer bits and speculation, measured.

Three things stand between a model and the tokens that it emits. A sampling rule changes the distribution on purpose. Fewer
bits for the weights change it as a side effect. Speculation changes nothing, whatever the draft. Each claim is measured here
as total variation, over the contexts of a real text, on a real little model whose weights can be quantised: log-bilinear,
a vector of the last token times a vector of each next token (Mnih & Hinton, 2007, with one token of context), fitted to
bigram counts. The same three-bit weights are put to both uses: as the model that emits, and as the draft of the full one.

    ids         token ids of a text                                         (n)
    v, rank     size of the vocabulary, length of a token's vector
    embedding   one vector for each last token                              (v, rank)
    output      one vector for each next token; logits are embedding @ output.mT    (v, rank)
    p           the full model's distribution of the next token             (contexts, v)
    emitted     the distribution of the token that is written in its place  (contexts, v)
    TV          ½ Σ |p − emitted|, at each context
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from course_lib.arrays import array_namespace, like, softmax
from course_lib.speculation.exactness import emitted_distribution
from course_lib.speculation.settings import SamplingSettings
from course_lib.speculation.theory import acceptance_rate, total_variation

SAMPLING = {"temperature 0.7": SamplingSettings(temperature=0.7), "top-p 0.9": SamplingSettings(top_p=0.9)}
BITS = (8, 4, 3)
DRAFT_BITS = 3


@dataclass(frozen=True)
class LogBilinear:
    """A next-token model of two matrices: the logits after token a are embedding[a] @ output.mT.

    Raises:
        ValueError: the matrices' shapes differ, or are none of matrices.
    """

    embedding: Float[np.ndarray, "v rank"]
    output: Float[np.ndarray, "v rank"]

    def __post_init__(self) -> None:
        if self.embedding.ndim != 2 or self.embedding.shape != self.output.shape:
            raise ValueError(
                f"output has shape {self.output.shape}, needs that of embedding, (v, rank): {self.embedding.shape}"
            )

    @classmethod
    def fit(cls, ids: Int[np.ndarray, "n"], vocabulary_size: int, rank: int, smoothing: float = 20.0) -> "LogBilinear":
        """The model of a rank that comes closest to the logarithms of the smoothed bigram frequencies of a text.

        Closest in squares, each context weighted with how often it comes; its mean is left out, as softmax does not see it.
        The singular value decomposition solves that. Smoothing adds `smoothing` times the frequency of each token to the
        counts of every context, so that no logarithm is of zero.

        Raises:
            ValueError: the text has fewer than two tokens or one outside [0, v), the rank is not in 1, …, v, or `smoothing` is
                not above 0.
        """
        if len(ids) < 2 or not np.all((ids >= 0) & (ids < vocabulary_size)):
            raise ValueError(f"ids has {len(ids)} entries, needs two or more, all of them in [0, {vocabulary_size})")
        if not 1 <= rank <= vocabulary_size:
            raise ValueError(f"rank is {rank}, needs to be from 1 to vocabulary_size, {vocabulary_size}")
        if not smoothing > 0:
            raise ValueError(f"smoothing is {smoothing}, needs to be above 0")
        counts = np.zeros((vocabulary_size, vocabulary_size))
        np.add.at(counts, (ids[:-1], ids[1:]), 1.0)
        unigram = np.bincount(ids, minlength=vocabulary_size) + 1.0
        logs = np.log(counts + smoothing * unigram / unigram.sum()) - np.log(
            counts.sum(axis=1, keepdims=True) + smoothing
        )
        logs -= logs.mean(axis=1, keepdims=True)
        weight = np.sqrt(counts.sum(axis=1) + smoothing)[:, None]
        left, values, right = np.linalg.svd(weight * logs, full_matrices=False)
        scale = np.sqrt(values[:rank])
        return cls(left[:, :rank] * scale / weight, right[:rank].T * scale)

    def rows(self, last: Int[np.ndarray, "contexts"]) -> Float[np.ndarray, "contexts v"]:
        """The distribution of the next token after each of these."""
        return softmax(self.embedding[last] @ self.output.T)

    def quantised(self, bits: int) -> "LogBilinear":
        """The same model with both matrices rounded to a few bits, one scale for each vector.

        Raises:
            ValueError: `bits` is not from 2 to 16.
        """
        return LogBilinear(round_to_nearest(self.embedding, bits), round_to_nearest(self.output, bits))


def round_to_nearest(weights: Float[Any, "..."], bits: int, axis: int = -1) -> Float[Any, "..."]:
    """The weights as they come back from `bits`-bit integers: symmetric, one scale for all numbers along `axis`.

    The scale maps the largest of them to the largest integer, 2^(bits − 1) − 1, and each is rounded to the nearest multiple
    of it; none moves by more than half of the scale. Numbers that are all zero have a scale of 1 and stay zero. It is worked
    out in at least 32 bits and comes back in the weights' own dtype.

    Raises:
        ValueError: `bits` is below 2, which leaves no integer but 0, or above 16, or a weight is not finite.
    """
    if not 2 <= bits <= 16:
        raise ValueError(f"bits is {bits}, needs to be from 2 to 16: a sign and at least one step")
    xp = array_namespace(weights)
    if not bool(xp.all(xp.isfinite(weights))):
        raise ValueError("weights has entries that are infinite or NaN, needs finite ones")
    wide = xp.astype(weights, xp.float32) if xp.finfo(weights.dtype).bits < 32 else weights
    scale = xp.max(xp.abs(wide), axis=axis, keepdims=True) / (2 ** (bits - 1) - 1)
    # Also where the division underflows: numbers that small are as good as zero.
    scale = xp.where(scale > 0, scale, like(wide, 1))
    return xp.astype(xp.round(wide / scale) * scale, weights.dtype)


class Departure(NamedTuple):
    """How far from the full model's distribution one way to emit tokens is."""

    name: str
    kind: str
    """The word sampling, weights or speculation."""
    mean: float
    """Total variation, averaged over the contexts."""
    largest: float
    """Total variation at the context where it is largest."""
    acceptance: float | None = None
    """For speculation, α of the draft, averaged over the contexts."""

    def __str__(self) -> str:
        alpha = "" if self.acceptance is None else f"   drafts accepted {self.acceptance:6.1%}"
        mean, largest = (f"{tv:8.4f}" if tv >= 1e-4 else f"{tv:8.0e}" for tv in (self.mean, self.largest))
        return f"{self.kind:<12}{self.name:<24}TV {mean}, at most {largest}{alpha}"


def departures(
    ids: Int[np.ndarray, "n"], vocabulary_size: int, rank: int = 48, n_contexts: int = 200
) -> list[Departure]:
    """The table of this module: a model fitted to the first nine tenths of a text, departures measured on the rest.

    Args:
        rank: length of the model's vectors.
        n_contexts: how many tokens of the rest are taken as contexts, evenly spaced; all, if there are fewer.

    Raises:
        ValueError: `n_contexts` is below 1, the text is shorter than 20 tokens, or as `LogBilinear.fit`.
    """
    if n_contexts < 1 or len(ids) < 20:
        raise ValueError(f"n_contexts is {n_contexts} and ids has {len(ids)} entries, needs at least 1 and at least 20")
    cut = len(ids) * 9 // 10
    model = LogBilinear.fit(ids[:cut], vocabulary_size, rank)
    held_out = ids[cut:]
    spaced = np.linspace(0, len(held_out) - 1, min(n_contexts, len(held_out))).astype(np.int64)
    return departures_of(model, held_out[spaced])


def departures_of(
    model: LogBilinear,
    contexts: Int[np.ndarray, "contexts"],
    sampling: Mapping[str, SamplingSettings] = SAMPLING,
    bits: tuple[int, ...] = BITS,
) -> list[Departure]:
    """How far sampling rules, rounded weights and speculation take the emitted token from p, at these last tokens.

    What speculation emits is summed over every draft and every outcome. Its drafts are a good one (the same model, rounded to
    three bits), a bad one (p with the likeliest tokens exchanged for the rarest) and a uniform one.

    Raises:
        ValueError: there are no contexts, or one lies outside [0, v).
    """
    v = len(model.embedding)
    if not len(contexts) or not np.all((contexts >= 0) & (contexts < v)):
        raise ValueError(f"contexts has {len(contexts)} entries, needs at least one, all of them in [0, {v})")
    last, times = np.unique(contexts, return_counts=True)
    share = times / times.sum()
    p = model.rows(last)

    def row(name: str, kind: str, emitted: np.ndarray, acceptance: float | None = None) -> Departure:
        distance = total_variation(p, emitted)
        return Departure(name, kind, float(share @ distance), float(distance.max()), acceptance)

    table = [row(name, "sampling", settings.apply(p)) for name, settings in sampling.items()]
    table += [row(f"{b}-bit weights", "weights", model.quantised(b).rows(last)) for b in bits]
    drafts = {
        f"draft: {DRAFT_BITS}-bit weights": model.quantised(DRAFT_BITS).rows(last),
        "draft: uniform": np.full_like(p, 1 / v),
        "draft: upside down": _upside_down(p),
    }
    for name, q in drafts.items():
        # Context by context: the v² pairs of a drafted and an emitted token, for all of them at once, would fill the memory.
        emitted = np.stack([emitted_distribution(p_row, q_row) for p_row, q_row in zip(p, q, strict=True)])
        table.append(row(name, "speculation", emitted, float(share @ acceptance_rate(p, q))))
    return table


def _upside_down(p: np.ndarray) -> np.ndarray:
    """p with the likeliest token's probability given to the rarest, and so on."""
    order = np.argsort(p, axis=-1)
    exchanged = np.empty_like(p)
    np.put_along_axis(exchanged, order, np.take_along_axis(p, order[:, ::-1], axis=-1), axis=-1)
    return exchanged
