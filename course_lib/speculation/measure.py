"""What a pair of models really gives: costs and speed-up by the clock, beside what was predicted.

The formulas take one α, one c, and a premise: that looking at γ + 1 positions takes as long as looking at one. Here costs are
measured at batch 1, as for a reader who waits for an answer, and the premise is checked, not assumed. It is true of a model
that waits for its weights, and false of a table of counts, for which γ + 1 positions are γ + 1 look-ups. A run holds whatever
it needs, the calls of Python included: with small models these are most of c, and the loop around the models, which no
formula knows, is most of the rest.

    c              seconds of a draft run over those of a target run of one position      Leviathan et al., 2023, Def. 3.7
    verification   seconds of a target run of γ + 1 positions over those of one
    tokens         new tokens a round; E[N] is what the formula makes of α
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Float

from course_lib.arrays import array_namespace, like, sample, to_numpy, uniforms
from course_lib.costs import timers
from course_lib.speculation.acceptance import CONTEXT, Acceptance, held_out, measure_acceptance
from course_lib.speculation.decoding import PLAIN, Model, decode, speculative_decode
from course_lib.speculation.settings import SamplingSettings
from course_lib.speculation.theory import expected_tokens, improvement_factor
from course_lib.speculation.verification import verify_and_emit
from course_lib.speculation.weight_bound import WeightBound, sixteen_bit_weights

__all__ = [
    "Acceptance",
    "Costs",
    "Speedup",
    "WeightBound",
    "measure_acceptance",
    "measure_costs",
    "measure_speedup",
    "sixteen_bit_weights",
]

STREAK = 4  # draft runs in a row
SECONDS = 0.3  # about what a measurement of costs takes, for each of the things measured


@dataclass(frozen=True)
class Costs:
    """Seconds of each part of a round at batch 1, as medians of interleaved runs."""

    draft: float
    """A draft run, as one of several in a row: small weights may then be in a cache from the run before, as in a round."""
    target: dict[int, float]
    """A target run of γ + 1 positions, for each γ; γ = 0 is the run of ordinary decoding."""
    draw: float
    """Applying the settings to one row and drawing from it: once a token in ordinary decoding, γ times in a round."""
    verify: dict[int, float]
    """Applying the settings to γ + 1 rows and verifying, for each γ above 0."""

    @property
    def c(self) -> float:
        """A draft run in units of a target run of one position (Leviathan et al., 2023, Def. 3.7)."""
        return self.draft / self.target[0]

    @property
    def verification(self) -> dict[int, float]:
        """A target run of γ + 1 positions in units of a run of one, for each γ; the paper's premise is 1."""
        return {gamma: seconds / self.target[0] for gamma, seconds in self.target.items()}

    def factor(self, tokens: float, gamma: int) -> float:
        """The speed-up if a round gives so many tokens, with all that the loop itself does: drawing and verifying.

        Raises:
            ValueError: this γ was not measured.
        """
        if gamma not in self.verify:
            raise ValueError(f"gamma is {gamma}, needs to be one of those measured: {sorted(self.verify)}")
        spent = gamma * (self.draft + self.draw) + self.target[gamma] + self.verify[gamma]
        return tokens * (self.target[0] + self.draw) / spent

    def __str__(self) -> str:
        lines = [
            f"target, 1 position     {_time(self.target[0])}",
            f"draft                  {_time(self.draft)}   c = {self.c:.3f}",
            f"drawing a token        {_time(self.draw)}",
        ]
        for gamma, seconds in self.verify.items():
            run = _time(self.target[gamma])
            lines.append(f"target, {gamma + 1:>2} positions   {run}   verification = {self.verification[gamma]:.2f}")
            lines.append(f"verifying γ = {gamma:<2}       {_time(seconds)}")
        return "\n".join(lines)


def measure_costs(
    draft: Model,
    target: Model,
    ids: Sequence[int],
    gammas: Sequence[int] = (1, 2, 4, 8),
    settings: SamplingSettings = PLAIN,
    seed: int = 0,
) -> Costs:
    """Times what a round consists of, in turn, at changing places of a text.

    Raises:
        ValueError: there are 64 ids or fewer, or a γ is below 1 or above 64.
    """
    ids = held_out(ids)
    if not gammas or min(gammas) < 1 or max(gammas) > CONTEXT:
        raise ValueError(f"gammas is {tuple(gammas)}, needs one or more whole numbers from 1 to {CONTEXT}")
    gammas = sorted(set(gammas))
    rng = np.random.default_rng(seed)
    # The same place again and again would find its rows in a cache.
    ends = cycle(rng.integers(CONTEXT, len(ids), endpoint=True, size=997).tolist())

    def run(model: Model, n_last: int) -> Any:
        end = next(ends)
        return model([ids[end - CONTEXT : end]], n_last)

    row = run(draft, 1)[:, 0, :]
    # In the order of a round: what it finds in the caches is what the part before it has left there.
    runs: dict[Any, Callable[[], Any]] = {
        "drafts": lambda: [run(draft, 1) for _ in range(STREAK)],
        ("target", 0): lambda: run(target, 1),
        "draw": lambda: _draw(row, settings, rng),
    }
    for gamma in gammas:
        runs["target", gamma] = lambda n=gamma + 1: run(target, n)
        runs["verify", gamma] = _verification(draft, target, ids[:CONTEXT], gamma, settings, rng)
    once = timers(runs, repeats=1)
    repeats = int(np.clip(SECONDS * len(runs) / sum(timing.median for timing in once.values()), 7, 301))
    median = {name: timing.median for name, timing in timers(runs, repeats, warmup=0).items()}
    return Costs(
        median["drafts"] / STREAK,
        {gamma: median["target", gamma] for gamma in (0, *gammas)},
        median["draw"],
        {gamma: median["verify", gamma] for gamma in gammas},
    )


@dataclass(frozen=True)
class Speedup:
    """Ordinary decoding by the target against speculation with it, from one interleaved run, and what was predicted."""

    gamma: int
    ordinary: float
    """Seconds for the new tokens of all prompts, one prompt after another, without a draft."""
    speculative: float
    """With one."""
    tokens_formula: float
    """E[N] from the mean α (Leviathan et al., 2023, eq. 1)."""
    tokens: float
    """New tokens over rounds, as decoded."""
    premise: float
    """The improvement factor from α and c as the paper has it: verification costs one run (Thm. 3.8)."""
    verified: float
    """The same with verification as measured."""
    accounted: float
    """Measured tokens a round over the measured costs of everything in it."""
    shares: tuple[float, float, float]
    """Of the time with a draft, what passed in the draft, in the target, and in the loop around them."""

    @property
    def measured(self) -> float:
        """Seconds without a draft over seconds with one; below 1 speculation loses."""
        return self.ordinary / self.speculative

    def __str__(self) -> str:
        return "\n".join(
            [
                f"γ = {self.gamma}              predicted   measured",
                f"tokens a round       {self.tokens_formula:9.2f}  {self.tokens:9.2f}",
                f"speed-up, premise    {self.premise:9.2f}  {self.measured:9.2f}",
                f"  verification paid  {self.verified:9.2f}",
                f"  everything paid    {self.accounted:9.2f}",
                "time: draft {:.0%}, target {:.0%}, loop {:.0%}".format(*self.shares),
            ]
        )


def measure_speedup(
    draft: Model,
    target: Model,
    prompts: Sequence[Sequence[int]],
    n_new: int,
    gamma: int,
    alpha: float,
    costs: Costs,
    settings: SamplingSettings = PLAIN,
    seed: int = 0,
    repeats: int = 3,
) -> Speedup:
    """Decodes after each prompt by itself, with and without the draft, in turn, by the clock.

    Args:
        alpha: the mean α for the prediction, from `measure_acceptance`.
        costs: of the same pair, from `measure_costs`, with this γ among them.

    Raises:
        ValueError: there is no prompt or an empty one, γ or `n_new` is below 1, or this γ is not among the costs.
    """
    if n_new < 1 or gamma < 1 or not prompts:
        needs = "needs all three to be at least 1"
        raise ValueError(f"n_new is {n_new}, gamma {gamma}, and prompts has {len(prompts)} sequences, {needs}")
    costs.factor(1.0, gamma)  # complains before time is spent
    rounds: list[int] = []
    clocked = _Clocked(draft), _Clocked(target)

    def ordinary(i: int) -> None:
        decode(target, [prompts[i]], n_new, np.random.default_rng((seed, i)), settings)

    def speculative(i: int) -> None:
        done = speculative_decode(*clocked, [prompts[i]], n_new, gamma, np.random.default_rng((seed, i)), settings)
        rounds.append(done.target_runs)

    # Turn and turn about after each prompt, so that a slow moment falls on both.
    ways = {(way, i): partial(way, i) for i in range(len(prompts)) for way in (ordinary, speculative)}
    timings = timers(ways, repeats, warmup=0)
    seconds = {way: sum(timings[way, i].median for i in range(len(prompts))) for way in (ordinary, speculative)}
    tokens = n_new * len(rounds) / sum(rounds)
    all_speculative = sum(sum(timings[speculative, i].samples) for i in range(len(prompts)))
    in_models = [clock.seconds / all_speculative for clock in clocked]
    return Speedup(
        gamma,
        seconds[ordinary],
        seconds[speculative],
        expected_tokens(alpha, gamma),
        tokens,
        improvement_factor(alpha, gamma, costs.c),
        improvement_factor(alpha, gamma, costs.c, costs.verification[gamma]),
        costs.factor(tokens, gamma),
        (*in_models, 1 - sum(in_models)),
    )


class _Clocked:
    """A model, and the seconds spent in it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.seconds = 0.0

    def __call__(self, sequences: Sequence[Sequence[int]], n_last: int) -> Any:
        start = perf_counter()
        rows = self.model(sequences, n_last)
        self.seconds += perf_counter() - start
        return rows


def _verification(
    draft: Model, target: Model, ids: Sequence[int], gamma: int, settings: SamplingSettings, rng: Any
) -> Callable[[], Any]:
    """What a round does after its runs, as a call to be timed: on rows and drafts as they come up in it."""
    ahead, drafted, rows = list(ids), [], []
    for _ in range(gamma):
        rows.append(settings.apply(draft([ahead], 1)[:, 0, :]))
        token = _draw(rows[-1], PLAIN, rng)
        ahead.append(token)
        drafted.append(token)
    target_rows = target([ahead], gamma + 1)
    tokens = like(target_rows, [drafted], dtype=array_namespace(target_rows).int64)

    def verify() -> Any:
        xp = array_namespace(target_rows)
        p, q = settings.apply(target_rows), xp.stack(rows, axis=1)
        emitted = verify_and_emit(tokens, q, p, uniforms(rng, (1, gamma + 1), like=p))
        return to_numpy(emitted.tokens).tolist(), to_numpy(emitted.accepted).tolist()

    return verify


def _draw(row: Float[Any, "1 v"], settings: SamplingSettings, rng: Any) -> int:
    row = settings.apply(row)
    return int(to_numpy(sample(row, uniforms(rng, 1, like=row)))[0])


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:9.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:9.1f} µs"
