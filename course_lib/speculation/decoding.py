"""Decoding with and without a draft: the loop around verification, over any pair of models.

A model is a function of some sequences and of a number of positions: `model(sequences, n_last)` gives, for each sequence, the
distributions of the next token after its last n_last prefixes, the whole sequence being the last of them. Decoding asks for
one position, verification for γ + 1. Nothing else is asked of a model: a table of counts will do, or a transformer on a GPU.

    sequences   lists of token ids, of any lengths                            batch of them
    rows        model(sequences, n_last): probabilities                       (batch, n_last, v)
    gamma, γ    drafted tokens a round
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float

from course_lib.arrays import array_namespace, device, sample, to_numpy, uniforms
from course_lib.speculation.settings import SamplingSettings
from course_lib.speculation.verification import verify_and_emit

Model = Callable[[Sequence[Sequence[int]], int], Float[Any, "batch n_last v"]]
PLAIN = SamplingSettings()


@dataclass
class Decoded:
    """New tokens for each prompt, and what they took."""

    tokens: list[list[int]]
    """The new tokens of each sequence."""
    target_runs: int = 0
    """Passes of the target; one pass may look at several positions of several sequences."""
    draft_runs: int = 0
    rounds: list[list[int]] = field(default_factory=list)
    """For each sequence, how many drafted tokens stood in each of its rounds; empty without a draft."""


def decode(
    target: Model,
    prompts: Sequence[Sequence[int]],
    n_new: int,
    rng: Any,
    settings: SamplingSettings = PLAIN,
    stop_token: int | None = None,
) -> Decoded:
    """Ordinary decoding: one target run for each new token of a batch.

    Args:
        prompts: token ids, at least one in each.
        n_new: new tokens for each sequence, fewer where `stop_token` comes up first (it is kept).
        rng: a `numpy.random.Generator` or a `torch.Generator`.

    Raises:
        ValueError: there is no prompt or an empty one, or n_new is negative.
    """
    sequences = _started(prompts, n_new)
    done = Decoded([[] for _ in prompts])
    while active := _unfinished(done.tokens, n_new, stop_token):
        rows = settings.apply(target([sequences[b] for b in active], 1)[:, 0, :])
        done.target_runs += 1
        for b, token in zip(active, _drawn(rows, rng), strict=True):
            sequences[b].append(token)
            done.tokens[b].append(token)
    return done


def speculative_decode(
    draft: Model,
    target: Model,
    prompts: Sequence[Sequence[int]],
    n_new: int,
    gamma: int,
    rng: Any,
    settings: SamplingSettings = PLAIN,
    stop_token: int | None = None,
) -> Decoded:
    """Speculative decoding: a round drafts γ tokens and verifies them in one target run (Leviathan et al., 2023, Alg. 1).

    The text is distributed as that of `decode` with the same settings; at temperature 0 it is the same text. Every sequence
    of the batch accepts for itself and moves on at its own pace. Tokens beyond n_new or after `stop_token` are cut off.

    Raises:
        ValueError: there is no prompt or an empty one, n_new or γ is negative, or the models' vocabularies differ.
    """
    if gamma < 0:
        raise ValueError(f"gamma is {gamma}, needs to be at least 0")
    sequences = _started(prompts, n_new)
    done = Decoded([[] for _ in prompts], rounds=[[] for _ in prompts])
    while active := _unfinished(done.tokens, n_new, stop_token):
        ahead = [list(sequences[b]) for b in active]
        drafted, draft_rows = [], []
        for _ in range(gamma):
            # The row that is drawn from is the row that is verified.
            rows = settings.apply(draft(ahead, 1)[:, 0, :])
            tokens = _drawn(rows, rng)
            for sequence, token in zip(ahead, tokens, strict=True):
                sequence.append(token)
            drafted.append(tokens)
            draft_rows.append(rows)
        done.draft_runs += gamma
        target_rows = settings.apply(target(ahead, gamma + 1))
        done.target_runs += 1
        for b, tokens, accepted in zip(active, *_verified(drafted, draft_rows, target_rows, rng), strict=True):
            done.rounds[b].append(accepted)
            for token in tokens[: accepted + 1]:
                if _is_finished(done.tokens[b], n_new, stop_token):
                    break
                sequences[b].append(token)
                done.tokens[b].append(token)
    return done


def _verified(drafted: list, draft_rows: list, target_rows: Any, rng: Any) -> tuple[list[list[int]], list[int]]:
    """One verification for the whole batch: its tokens and its accepted counts."""
    xp = array_namespace(target_rows)
    batch, positions, v = target_rows.shape
    gamma = positions - 1
    where = {"device": device(target_rows)}
    if gamma and draft_rows[0].shape[-1] != v:
        raise ValueError(f"draft has a vocabulary of {draft_rows[0].shape[-1]}, needs that of the target: {v}")
    if gamma:
        tokens = xp.asarray([list(column) for column in zip(*drafted, strict=True)], dtype=xp.int64, **where)
        rows = xp.stack(draft_rows, axis=1)
    else:
        tokens = xp.zeros((batch, 0), dtype=xp.int64, **where)
        rows = xp.zeros((batch, 0, v), dtype=target_rows.dtype, **where)
    emitted = verify_and_emit(tokens, rows, target_rows, uniforms(rng, (batch, gamma + 1), like=target_rows))
    return to_numpy(emitted.tokens).tolist(), to_numpy(emitted.accepted).tolist()


def _drawn(rows: Float[Any, "batch v"], rng: Any) -> list[int]:
    return to_numpy(sample(rows, uniforms(rng, rows.shape[0], like=rows))).tolist()


def _started(prompts: Sequence[Sequence[int]], n_new: int) -> list[list[int]]:
    if not prompts or not all(len(prompt) for prompt in prompts):
        raise ValueError(f"prompts has {len(prompts)} sequences, needs at least one, and a token in each")
    if n_new < 0:
        raise ValueError(f"n_new is {n_new}, needs to be at least 0")
    return [list(prompt) for prompt in prompts]


def _unfinished(tokens: list[list[int]], n_new: int, stop_token: int | None) -> list[int]:
    return [b for b, new in enumerate(tokens) if not _is_finished(new, n_new, stop_token)]


def _is_finished(new: list[int], n_new: int, stop_token: int | None) -> bool:
    return len(new) >= n_new or (stop_token is not None and new[-1:] == [stop_token])
