"""How often a draft is believed, measured: on a text that neither model was trained on, and in decoding.

The formulas know one α. A text has as many as it has positions: here the next token is certain and any draft guesses it,
there everything is open. And a round does not test its drafts at random positions: the second is tested only where the first
stood, which is more likely in an easy passage, so the places of a round have shares of their own.

    alphas   Σ min(p, q) at each position of a held-out text                          (n)
    place    1 for the first drafted token of a round, 2 for the one after it, …, γ
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from course_lib.arrays import to_numpy
from course_lib.speculation.decoding import PLAIN, Model, speculative_decode
from course_lib.speculation.settings import SamplingSettings
from course_lib.speculation.theory import acceptance_rate

CONTEXT = 64  # tokens before the first position that is looked at


@dataclass(frozen=True, eq=False)
class Acceptance:
    """How often a draft is believed: position by position on a held-out text, and in decoding."""

    alphas: Float[np.ndarray, "n"]
    """Σ min(p, q) at each position looked at, after the text's own tokens."""
    reached: tuple[int, ...]
    """For each place in a round, how many drafted tokens were tested there, that is all before them had stood."""
    stood: tuple[int, ...]
    """For each place, how many of those stood."""

    @property
    def alpha(self) -> float:
        """The mean over the held-out positions."""
        return float(np.mean(self.alphas))

    @property
    def spread(self) -> float:
        """The standard deviation over the positions; the formulas take it to be 0."""
        return float(np.std(self.alphas))

    @property
    def in_decoding(self) -> float:
        """Of all drafted tokens that were tested, the share that stood."""
        return sum(self.stood) / sum(self.reached) if sum(self.reached) else float("nan")

    @property
    def by_place(self) -> tuple[float, ...]:
        """The share that stood at place 1, …, γ; nan at a place that was never reached."""
        pairs = zip(self.stood, self.reached, strict=True)
        return tuple(stood / reached if reached else float("nan") for stood, reached in pairs)

    def __str__(self) -> str:
        low, middle, high = np.percentile(self.alphas, (10, 50, 90))
        lines = [
            f"α, {len(self.alphas)} held-out positions   mean {self.alpha:.3f}, standard deviation {self.spread:.3f}, "
            f"deciles {low:.2f} | {middle:.2f} | {high:.2f}",
            f"α in decoding, {sum(self.reached)} tests     {self.in_decoding:.3f}",
        ]
        for place, (share, reached) in enumerate(zip(self.by_place, self.reached, strict=True), start=1):
            lines.append(f"   at place {place} of a round      {share:.3f} of {reached}")
        return "\n".join(lines)


def measure_acceptance(
    draft: Model,
    target: Model,
    ids: Sequence[int],
    settings: SamplingSettings = PLAIN,
    gamma: int = 4,
    positions: int = 2000,
    prompts: int = 32,
    n_new: int = 64,
    seed: int = 0,
) -> Acceptance:
    """α on a held-out text, at up to `positions` places spread evenly over it, and in decoding from `prompts` of its parts.

    The two differ, since held-out text is written by people and decoded text by the target. An n-gram target meets contexts
    it has never seen in the first, falls back on the draft's own counts, and agrees with it; in what it wrote itself it
    mostly knows the context better than the draft does. And the places of a round differ from each other: the second is
    tested only where the first stood, and that is more likely in an easy passage.

    Args:
        ids: a text on which neither model was trained, of more than 64 tokens: the first 64 only serve as context.
        gamma: drafted tokens a round, in decoding.

    Raises:
        ValueError: there are 64 ids or fewer, γ or `n_new` is negative, or `positions` or `prompts` is below 1.
    """
    ids = held_out(ids)
    for name, value in (("positions", positions), ("prompts", prompts)):
        if value < 1:
            raise ValueError(f"{name} is {value}, needs to be at least 1")
    alphas = []
    # Several positions at a time, as one run can look at them together; no position twice.
    block = min(16, positions, len(ids) - CONTEXT)
    blocks = min(positions, len(ids) - CONTEXT) // block
    for end in np.linspace(CONTEXT + block, len(ids), blocks).astype(int).tolist():
        p, q = (settings.apply(m([ids[end - CONTEXT - block : end]], block)[0, ...]) for m in (target, draft))
        alphas.append(to_numpy(acceptance_rate(p, q)))
    starts = np.linspace(0, len(ids) - CONTEXT, prompts).astype(int).tolist()
    texts = [ids[start : start + CONTEXT] for start in starts]
    done = speculative_decode(draft, target, texts, n_new, gamma, np.random.default_rng(seed), settings)
    stood = np.asarray([accepted for rounds in done.rounds for accepted in rounds])
    return Acceptance(
        np.concatenate(alphas).astype(np.float64),
        tuple(int((stood >= place).sum()) for place in range(gamma)),
        tuple(int((stood > place).sum()) for place in range(gamma)),
    )


def held_out(ids: Sequence[int]) -> list[int]:
    """The ids of a text, if it is longer than the context that is left before the first position.

    Raises:
        ValueError: there are 64 ids or fewer.
    """
    if len(ids) <= CONTEXT:
        raise ValueError(f"ids has {len(ids)} tokens, needs more than {CONTEXT}: the first ones only serve as context")
    return [int(token) for token in ids]
