"""Multi-token prediction by small examples: what n heads are trained on, what that weighs, and how a model drafts for itself.

A model with n heads predicts from each position not only the next token but the n next ones, all from one state of its
trunk. Gloeckle et al. (2024) train models so and find them better at code, and faster, as heads 2 to n propose what head 1
then verifies. Nothing here trains a model. Each claim is worked out on an example small enough to enumerate: the loss, how
many of its terms concern a token on which the rest depends, what the mutual information of neighbours is charged with, and
how often a proposal stands that was made without knowing the token before it. The trunk is deterministic: the state z is a
function of the context, so that the paper's factor P(z | w) is 1 and drops out of the loss.

    n          heads; head i predicts the i-th token after the position it looks from     Gloeckle et al., 2024, §2
    T          positions from which one predicts
    log_probs  log_probs[t, i − 1]: what head i says after tokens 0 … t                   (T, n, v)
    tokens     the text, n tokens longer than the positions to predict from need          (T + n)
    m          a position in the text: of a choice point, or of a token without consequence
    W₁, W₂     the next token and the one after it, given a context that is left out
    joint      joint[a, b] = P(W₁ = a, W₂ = b)                                            (v_1, v_2)
    H, I       entropy and mutual information, in bits                                    §5.2
    π, v_π, σ  the model as a policy, the value of a prefix, its spread over the next token    §5.1
"""

from collections.abc import Mapping
from math import isclose, isfinite, sqrt
from numbers import Real
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from course_lib.speculation.exactness import emitted_distribution
from course_lib.speculation.theory import acceptance_rate, distribution, total_variation

Tree = float | Mapping[str, tuple[float, "Tree"]]
"""How a text can go on: its return, if it has ended, or else for each next token its probability and how it goes on then."""


def lookahead_terms(log_probs: Float[np.ndarray, "T n v"], tokens: Int[np.ndarray, "T_plus_n"]) -> np.ndarray:
    """Every term of the loss: entry (t, i − 1) is −log P(token t + i), as head i sees it after tokens 0 … t.

    Raises:
        ValueError: there is no position or no head, `tokens` has not T + n entries, or one that is no token of the vocabulary.
    """
    positions, n, v = log_probs.shape
    if positions < 1 or n < 1:
        raise ValueError(f"log_probs has shape {log_probs.shape}, needs at least one position and one head")
    if len(tokens) != positions + n:
        raise ValueError(
            f"tokens has {len(tokens)} entries, needs T + n = {positions} + {n}: the last head looks n ahead"
        )
    if not np.all((tokens >= 0) & (tokens < v)):
        raise ValueError(f"tokens has entries outside [0, {v}), needs tokens of the vocabulary of log_probs")
    t, i = np.arange(positions)[:, None], np.arange(n)[None, :]
    return -log_probs[t, i, tokens[t + i + 1]]


def lookahead_loss(log_probs: Float[np.ndarray, "T n v"], tokens: Int[np.ndarray, "T_plus_n"]) -> float:
    """L_n = −Σₜ Σᵢ log P(token t + i | tokens 0 … t): n cross-entropies on shifted targets (Gloeckle et al., 2024, §2).

    A sum, in the unit of the logarithms given. With one head it is the ordinary loss of next-token prediction.

    Raises:
        ValueError: as `lookahead_terms`.
    """
    return float(np.sum(lookahead_terms(log_probs, tokens)))


def terms_with_target(n: int) -> list[tuple[int, int]]:
    """The terms (t − m, i) of the loss whose target is the token at position m, far from the ends of the text.

    Every token is the target of as many: once for each head. For a token on which nothing depends these are all that
    concern it.

    Raises:
        ValueError: n is below 1.
    """
    return [(t, i) for t, i in _terms_around(n) if t + i == 0]


def choice_point_terms(n: int) -> list[tuple[int, int]]:
    """The terms (t − m, i) that concern a choice point at position m: predicted from before it, target at it or after it.

    What follows depends on the token chosen at m, so whoever predicts past m without having seen it predicts it as well.
    The terms are enumerated, not counted by a formula; compare with those of `terms_with_target` (Gloeckle et al., 2024, §5.1).

    Raises:
        ValueError: n is below 1.
    """
    return [(t, i) for t, i in _terms_around(n) if t < 0 <= t + i]


def value(tree: Tree) -> float:
    """v_π of a prefix: the expected return of the text, completed as the policy completes it.

    Raises:
        ValueError: a node has no next token, probabilities that are no distribution, or a return that is not finite.
    """
    if isinstance(tree, Real):
        if not isfinite(tree):
            raise ValueError(f"tree has a return of {tree}, needs finite ones")
        return float(tree)
    return sum(probability * value(after) for probability, after in _branches(tree))


def choice_value_spread(tree: Tree) -> float:
    """σ_π of a prefix: the standard deviation of the value over the next token (Gloeckle et al., 2024, §5.1).

    Large where one token decides how the text turns out, a choice point; 0 where all next tokens lead to the same.

    Raises:
        ValueError: the text has already ended, or as `value`.
    """
    if isinstance(tree, Real):
        raise ValueError(f"tree is a text that has ended, with return {tree}, needs a next token to choose")
    branches = [(probability, value(after)) for probability, after in _branches(tree)]
    mean = sum(probability * v for probability, v in branches)
    return sqrt(sum(probability * (v - mean) ** 2 for probability, v in branches))


class Entropies(NamedTuple):
    """What two neighbouring tokens tell, in bits; each number from its own definition, none from the others."""

    first: float
    """H(W₁)."""
    second: float
    """H(W₂)."""
    both: float
    """H(W₁, W₂)."""
    first_given_second: float
    """H(W₁ | W₂): what is left to learn of W₁ when W₂ is known."""
    second_given_first: float
    """H(W₂ | W₁)."""
    mutual: float
    """I(W₁; W₂), the Kullback-Leibler divergence of the joint distribution from the product of its marginals."""


def entropies(joint: Float[np.ndarray, "v_1 v_2"]) -> Entropies:
    """The entropies of two tokens, the conditional ones, and their mutual information.

    Raises:
        ValueError: `joint` is no distribution.
    """
    joint = _joint(joint)
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    # One division after the other: a product of two tiny probabilities may be 0 where the joint one is not.
    likelier = _over(_over(joint, first[:, None]), second[None, :])
    return Entropies(
        first=_expected_bits(first, first),
        second=_expected_bits(second, second),
        both=_expected_bits(joint, joint),
        first_given_second=_expected_bits(joint, _over(joint, second[None, :])),
        second_given_first=_expected_bits(joint, _over(joint, first[:, None])),
        mutual=0.0 - _expected_bits(joint, likelier),
    )


def next_token_charge(joint: Float[np.ndarray, "v_1 v_2"]) -> float:
    """The least loss of one head on two tokens, in bits: the first from its context, the second with the first given.

    It is H(W₁, W₂) = H(W₁ | W₂) + 1·I(W₁; W₂) + H(W₂ | W₁).

    Raises:
        ValueError: `joint` is no distribution.
    """
    joint = _joint(joint)
    first = joint.sum(axis=1)
    second_after_first = _over(joint, first[:, None])
    return _expected_bits(first, first) + _expected_bits(joint, second_after_first)


def lookahead_charge(joint: Float[np.ndarray, "v_1 v_2"]) -> float:
    """The least loss of two heads on two tokens, in bits: neither is told the other token.

    It is H(W₁) + H(W₂) = H(W₁ | W₂) + 2·I(W₁; W₂) + H(W₂ | W₁): what the tokens share is charged twice, what is each one's
    own once (Gloeckle et al., 2024, §5.2).

    Raises:
        ValueError: `joint` is no distribution.
    """
    joint = _joint(joint)
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    return _expected_bits(first, first) + _expected_bits(second, second)


class SelfDraft(NamedTuple):
    """How a model with two heads drafts for itself."""

    acceptance: float
    """α: the probability that head 2's token stands."""
    acceptance_after: Float[np.ndarray, "v_1"]
    """The same after each first token; 0 after one that never comes."""
    emitted: Float[np.ndarray, "v_1 v_2"]
    """The distribution of the two tokens that verification emits: the joint distribution itself."""
    unverified: float
    """Total variation between the joint distribution and what the heads would write unverified; it is 1 − α."""


def self_draft_acceptance(joint: Float[np.ndarray, "v_1 v_2"]) -> SelfDraft:
    """A model as its own draft: head 1 is exact, head 2 proposes from the marginal of W₂, as it never sees W₁.

    Given the context the heads draw independently of each other, from P(W₁)·P(W₂). In the next pass head 1 has seen the first
    token and tests the second against P(W₂ | W₁), by the rule of every draft. The text stays exact, and independence costs
    acceptance: α = Σ min(P(W₁, W₂), P(W₁)·P(W₂)), so 1 − α is what the unverified pair departs from the joint. By Pinsker's
    inequality that is at most √(I·ln 2 / 2), I in bits: where the tokens tell little of
    each other, head 2 is nearly always believed.

    Raises:
        ValueError: `joint` is no distribution.
    """
    joint = _joint(joint)
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    possible = first > 0
    after = joint[possible] / first[possible, None]
    proposed = np.broadcast_to(second, after.shape)
    acceptance_after = np.zeros_like(first)
    acceptance_after[possible] = acceptance_rate(after, proposed)
    emitted = np.zeros_like(joint)
    emitted[possible] = first[possible, None] * emitted_distribution(after, proposed)
    unverified = total_variation(joint.reshape(-1), (first[:, None] * second[None, :]).reshape(-1))
    return SelfDraft(float(first @ acceptance_after), acceptance_after, emitted, float(unverified))


def _terms_around(n: int) -> list[tuple[int, int]]:
    """The terms (t, i) of the loss in a stretch of text around position 0, wide enough for all that reach it."""
    if n < 1:
        raise ValueError(f"n is {n}, needs at least one head")
    return [(t, i) for t in range(-2 * n, 2 * n + 1) for i in range(1, n + 1)]


def _branches(tree: Mapping[str, tuple[float, Tree]]) -> list[tuple[float, Tree]]:
    branches = list(tree.values())
    probabilities = [probability for probability, _ in branches]
    # A sum of a few decimals misses 1 by a few roundings.
    if not all(probability >= 0 for probability in probabilities) or not isclose(sum(probabilities), 1, rel_tol=1e-12):
        raise ValueError(f"tree has a node with probabilities {probabilities}, needs numbers ≥ 0 that sum to 1")
    return branches


def _joint(joint: np.ndarray) -> np.ndarray:
    """`joint` in float64, if it is one distribution over its pairs."""
    if joint.ndim != 2:
        raise ValueError(f"joint has shape {joint.shape}, needs two axes: first token and second")
    distribution("joint", joint.reshape(-1))
    joint = joint.astype(np.float64)
    return joint / joint.sum()


def _over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is."""
    return np.divide(a, b, out=np.zeros_like(a), where=np.broadcast_to(b > 0, a.shape))


def _expected_bits(weights: np.ndarray, p: np.ndarray) -> float:
    """−Σ weights·log₂ p, over what has any weight."""
    counted = weights > 0
    return 0.0 - float(np.sum(weights[counted] * np.log2(p[counted])))
