"""How the tokens of a round are distributed, by chi-square over 100,000 rounds, and that the test would see a fault.

Every statistical test has a fixed seed and fails for a right implementation under another seed with probability 1e-6. Faults
that real programs had are written down beside it in a few lines, and the same test must reject each of them.
"""

import numpy as np
import pytest
import scipy.stats

from course_lib.arrays import sample, take_last, uniforms
from course_lib.speculation import (
    Emitted,
    SamplingSettings,
    acceptance_rate,
    accepted_distribution,
    verify_and_emit,
)

ERROR = 1e-6
N = 100_000
V, GAMMA = 3, 2


def fit(counts: np.ndarray, expected: np.ndarray) -> float:
    """The p-value of Pearson's chi-square; 0 where something came up that cannot."""
    counts, expected = np.ravel(counts), np.ravel(expected)
    possible = expected > 0
    assert expected[possible].min() > 5  # below that, chi-square is no good approximation
    if counts[~possible].any():
        return 0.0
    return scipy.stats.chisquare(counts[possible], expected[possible] * counts.sum() / expected.sum()).pvalue


class Models:
    """Two small models whose rows depend on all that came before, and what a round of γ = 2 can emit."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.p, self.q = ([rng.dirichlet(np.full(V, 2.0), (V,) * depth) for depth in range(3)] for _ in range(2))
        self.q[0], self.p[0] = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])

    def rounds(self, rng, n: int, like) -> tuple:
        """n drafts, their rows, and fresh uniforms."""
        u = rng.random((2, n, 1))
        x1 = np.argmax(np.cumsum(self.q[0]) > u[0], axis=-1)
        x2 = np.argmax(np.cumsum(self.q[1][x1], axis=-1) > u[1], axis=-1)
        q = np.stack([np.tile(self.q[0], (n, 1)), self.q[1][x1]], axis=1)
        p = np.stack([np.tile(self.p[0], (n, 1)), self.p[1][x1], self.p[2][x1, x2]], axis=1)
        return np.stack([x1, x2], axis=1), q, p, uniforms(rng, (n, GAMMA + 1), like=like)

    def chances(self) -> dict[tuple[int, ...], float]:
        """Each text of a round with its probability, and so jointly with its accepted count, its length less one.

        A text is emitted with min(p, q) for each token that stands, times (p − q)₊ of a correction, or p of a bonus.
        """
        shared = [np.minimum(p, q) for p, q in zip(self.p, self.q, strict=True)]
        missing = [np.maximum(p - q, 0) for p, q in zip(self.p, self.q, strict=True)]
        found = {(x,): missing[0][x] for x in range(V)}
        for x, y in np.ndindex(V, V):
            found[x, y] = shared[0][x] * missing[1][x, y]
            for z in range(V):
                found[x, y, z] = shared[0][x] * shared[1][x, y] * self.p[2][x, y, z]
        return {text: float(chance) for text, chance in found.items()}


MODELS = Models(seed=2)


def as_counts(tokens: np.ndarray) -> np.ndarray:
    """How often each text of a round came up, in the order of `chances`; other texts in a last cell."""
    texts, counts = np.unique(tokens, axis=0, return_counts=True)
    seen = {tuple(int(x) for x in text if x >= 0): int(count) for text, count in zip(texts, counts, strict=True)}
    found = [seen.pop(text, 0) for text in MODELS.chances()]
    return np.array([*found, sum(seen.values())])


def joint_fit(tokens: np.ndarray) -> float:
    return fit(as_counts(tokens), N * np.array([*MODELS.chances().values(), 0.0]))


def first_fit(tokens: np.ndarray) -> float:
    return fit(np.bincount(tokens[:, 0], minlength=V), N * MODELS.p[0])


def numpy_rounds(seed: int) -> tuple:
    return MODELS.rounds(np.random.default_rng(seed), N, like=np.zeros(1))


def test_the_chances_of_all_texts_of_a_round_sum_to_one_and_their_beginnings_are_the_targets():
    chances = MODELS.chances()
    assert sum(chances.values()) == pytest.approx(1, abs=1e-15)
    first = [sum(chance for text, chance in chances.items() if text[0] == x) for x in range(V)]
    assert first == pytest.approx(MODELS.p[0], abs=1e-15)


def test_first_tokens_are_the_targets_and_whole_rounds_as_enumerated(xp):
    """Over first tokens, and over accepted counts and all tokens together; more than 100,000 tokens in one call."""
    tokens, q, p, u = MODELS.rounds(np.random.default_rng(11), N, like=xp.array(0.0))
    emitted = verify_and_emit(xp.array(tokens, "int64"), xp.array(q), xp.array(p), u)
    said, accepted = xp.numpy(emitted.tokens), xp.numpy(emitted.accepted)
    assert np.array_equal((said >= 0).sum(-1), accepted + 1)
    assert (said >= 0).sum() > 1.5 * N
    assert first_fit(said) > ERROR
    assert joint_fit(said) > ERROR


def corrected_from(rows, tokens, q, p, u) -> np.ndarray:
    """A round whose token after a rejection is drawn from `rows(p, q, x)` instead of from the residual."""
    emitted = verify_and_emit(tokens, q, p, u)
    at = np.minimum(emitted.accepted, GAMMA - 1)
    here = np.arange(len(at))
    drawn = sample(rows(p[here, at], q[here, at], tokens[here, at]), u[:, GAMMA])
    said = emitted.tokens.copy()
    wrong = emitted.accepted < GAMMA
    said[here[wrong], emitted.accepted[wrong]] = drawn[wrong]
    return said


def without_zero_rows(weights, p):
    return np.where(weights.any(-1, keepdims=True), weights, p)


@pytest.mark.parametrize(
    ("fault", "seen_in_first_tokens"),
    [
        # Spec-RL #14: a correction drawn from the target itself.
        (lambda p, q, x: p, True),
        # The draft's scalar probability subtracted, and not its row.
        (lambda p, q, x: without_zero_rows(np.maximum(p - take_last(q, x)[..., None], 0), p), True),
        # The residual the other way round: what the draft has too much of.
        (lambda p, q, x: without_zero_rows(np.maximum(q - p, 0), p), True),
    ],
    ids=["from-the-target", "scalar-residual", "residual-reversed"],
)
def test_a_correction_drawn_from_elsewhere_is_seen(fault, seen_in_first_tokens):
    said = corrected_from(fault, *numpy_rounds(12))
    assert joint_fit(said) < ERROR
    assert (first_fit(said) < ERROR) == seen_in_first_tokens


def test_the_wrong_versions_differ_from_the_right_one_in_their_fault_only():
    said = corrected_from(lambda p, q, x: without_zero_rows(np.maximum(p - q, 0), p), *numpy_rounds(12))
    assert joint_fit(said) > ERROR
    assert first_fit(said) > ERROR


def test_a_bonus_from_the_row_before_the_last_is_seen_though_first_tokens_are_right():
    tokens, q, p, u = numpy_rounds(13)
    shifted = p.copy()
    shifted[:, GAMMA] = p[:, GAMMA - 1]
    said = verify_and_emit(tokens, q, shifted, u).tokens
    assert joint_fit(said) < ERROR
    assert first_fit(said) > ERROR


def test_a_test_that_accepts_only_what_the_target_likes_better_is_seen():
    """r = 1 always: a token that the target likes less is never kept, instead of sometimes."""
    tokens, q, p, u = numpy_rounds(14)
    u[:, :GAMMA] = 1 - 2**-53
    said = verify_and_emit(tokens, q, p, u).tokens
    assert joint_fit(said) < ERROR


def test_a_greedy_draft_verified_against_its_softmax_row_is_seen():
    """transformers #32867: the draft says its likeliest token always, the verifier believes that it drew from q.

    With p = (0.6, 0.4) and q(0) = 0.801 it keeps token 0 with 0.6/0.801 = 0.749, and that is what comes out instead of 0.6.
    The one-hot row that was drawn from gives 0.6. Means of 100,000 draws have a standard error of at most 0.0016; five of them
    are passed with probability 6e-7.
    """
    p, q = np.array([0.6, 0.4]), np.array([0.801, 0.199])
    u = uniforms(np.random.default_rng(15), (N, 2), like=p)
    target, tokens = np.broadcast_to(p, (N, 2, 2)), np.zeros((N, 1), dtype=np.int64)
    for row, share in ((q, 0.749), (np.array([1.0, 0.0]), 0.6)):
        said = verify_and_emit(tokens, np.broadcast_to(row, (N, 1, 2)), target, u).tokens[:, 0]
        assert np.mean(said == 0) == pytest.approx(share, abs=0.0016 * 5)
        assert (fit(np.bincount(said, minlength=2), N * p) > ERROR) == (share == 0.6)


def pairs_of_counts(accepted: np.ndarray) -> np.ndarray:
    return np.histogram2d(accepted[:, 0], accepted[:, 1], bins=GAMMA + 1, range=[[0, GAMMA + 1]] * 2)[0]


def test_sequences_of_one_batch_draw_for_themselves(xp):
    """Pairs of identical sequences, at seed 16: their accepted counts are distributed as the product of two.

    One draw for the batch makes them equal, one end for the batch makes both the smaller one: the same test sees each.
    """
    p, q = np.array([0.3, 0.3, 0.4]), np.array([0.6, 0.3, 0.1])
    tokens = np.zeros((N, 2, GAMMA), dtype=np.int64)  # accepted with 0.3 / 0.6 each
    u = uniforms(np.random.default_rng(16), (N, 2, GAMMA + 1), like=xp.array(0.0))
    rows = [xp.array(np.broadcast_to(row, (N, 2, n, V))) for row, n in ((q, GAMMA), (p, GAMMA + 1))]
    one = accepted_distribution(0.5, GAMMA)
    expected = N * np.outer(one, one)
    accepted = xp.numpy(verify_and_emit(xp.array(tokens, "int64"), *rows, u).accepted)
    assert fit(pairs_of_counts(accepted), expected) > ERROR
    shared = xp.array(np.repeat(xp.numpy(u)[:, :1], 2, axis=1))
    together = xp.numpy(verify_and_emit(xp.array(tokens, "int64"), *rows, shared).accepted)
    assert fit(pairs_of_counts(together), expected) < ERROR
    ended = np.repeat(accepted.min(-1, keepdims=True), 2, axis=1)
    assert fit(pairs_of_counts(ended), expected) < ERROR


def test_where_rows_depend_on_nothing_accepted_counts_are_geometric_and_capped():
    """Seed 17: all three closed forms at once, α = Σ min(p, q), αᵏ(1 − α) and α^γ, against what verification does."""
    rng, gamma = np.random.default_rng(17), 4
    p, q = np.array([0.3, 0.3, 0.4]), np.array([0.4, 0.35, 0.25])
    tokens = np.argmax(np.cumsum(q) > rng.random((N, gamma, 1)), axis=-1)
    emitted = verify_and_emit(
        tokens, np.broadcast_to(q, (N, gamma, V)), np.broadcast_to(p, (N, gamma + 1, V)), rng.random((N, gamma + 1))
    )
    expected = N * accepted_distribution(float(acceptance_rate(p, q)), gamma)
    assert fit(np.bincount(emitted.accepted, minlength=gamma + 1), expected) > ERROR


@pytest.mark.parametrize("settings", [SamplingSettings(0.6), SamplingSettings(1.5, 0.7), SamplingSettings(top_p=0.8)])
def test_with_settings_the_text_is_that_of_the_changed_target(settings):
    """Seed 18. Settings on the target alone, while the draft is compared by its raw row, are seen."""
    rng = np.random.default_rng(18)
    p, q = np.array([0.35, 0.3, 0.15, 0.1, 0.06, 0.04]), np.array([0.1, 0.3, 0.35, 0.05, 0.15, 0.05])
    changed = settings.apply(q)
    tokens = sample(np.broadcast_to(changed, (N, 1, 6)), uniforms(rng, (N, 1), like=q))
    raw = np.broadcast_to(q, (N, 1, 6)), np.broadcast_to(p, (N, 2, 6))
    u, expected = uniforms(rng, (N, 2), like=q), N * settings.apply(p)
    emitted: Emitted = verify_and_emit(tokens, *raw, u, settings)
    assert fit(np.bincount(emitted.tokens[:, 0], minlength=6), expected) > ERROR
    one_sided = verify_and_emit(tokens, raw[0], settings.apply(raw[1]), u)
    assert fit(np.bincount(one_sided.tokens[:, 0], minlength=6), expected) < ERROR
