"""Multi-token prediction against torch's cross-entropy, scipy's entropies, and counting by hand."""

from math import log

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from course_lib.arrays import sample, uniforms
from course_lib.speculation import acceptance_rate, verify_and_emit
from course_lib.speculation.lookahead import (
    choice_point_terms,
    choice_value_spread,
    entropies,
    lookahead_charge,
    lookahead_loss,
    lookahead_terms,
    next_token_charge,
    self_draft_acceptance,
    terms_with_target,
    value,
)

# Sums of at most 36 terms of a few bits each, in float64.
BITS = 1e-13


@st.composite
def joints(draw):
    """A joint distribution of two tokens, in some with impossible pairs, first tokens and second tokens."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    weights = rng.dirichlet(np.full(shape[0] * shape[1], draw(st.sampled_from([0.1, 1.0, 20.0])))).reshape(shape)
    if draw(st.booleans()):
        weights = weights * (rng.random((shape[0], 1)) < 0.7) * (rng.random((1, shape[1])) < 0.7)
    return weights / weights.sum() if weights.sum() > 0.01 else np.full(shape, 1 / weights.size)


# The loss


@pytest.mark.parametrize(("positions", "n", "v"), [(1, 1, 2), (7, 1, 5), (6, 3, 4), (1, 4, 3)])
def test_the_loss_is_torchs_cross_entropy_on_targets_shifted_for_each_head(positions, n, v):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    logits, tokens = torch.tensor(rng.standard_normal((positions, n, v))), rng.integers(0, v, positions + n)
    log_probs = torch.log_softmax(logits, -1).numpy()
    terms = lookahead_terms(log_probs, tokens)
    assert terms.shape == (positions, n)
    for head in range(n):
        shifted = torch.tensor(tokens[head + 1 : head + 1 + positions])
        expected = torch.nn.functional.cross_entropy(logits[:, head], shifted, reduction="none")
        assert terms[:, head] == pytest.approx(expected.numpy(), rel=1e-13)
    assert lookahead_loss(log_probs, tokens) == pytest.approx(terms.sum(), rel=1e-15)


def test_with_one_head_the_loss_is_the_ordinary_one_and_heads_add_theirs():
    rng = np.random.default_rng(1)
    rows, text = np.log(rng.dirichlet(np.ones(4), (9, 3))), rng.integers(0, 4, 12)
    ordinary = -sum(rows[t, 0, text[t + 1]] for t in range(9))
    assert lookahead_loss(rows[:, :1], text[:10]) == pytest.approx(ordinary, rel=1e-14)
    by_head = [lookahead_loss(rows[:, head : head + 1], text[head : head + 10]) for head in range(3)]
    assert lookahead_loss(rows, text) == pytest.approx(sum(by_head), rel=1e-14)


# Choice points


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_a_choice_point_counts_in_half_a_square_of_terms_and_any_other_token_in_one_for_each_head(n):
    """Gloeckle et al., 2024, §5.1; counted a second time in a text of 40 tokens with the point at position 20."""
    assert len(choice_point_terms(n)) == n * (n + 1) // 2
    assert len(terms_with_target(n)) == n
    heads, m = range(1, n + 1), 20
    crossing = {(t - m, i) for t in range(40) for i in heads if t < m and t + i >= m}
    assert set(choice_point_terms(n)) == crossing
    assert set(terms_with_target(n)) == {(t, i) for t, i in crossing if t + i == 0} == {(-i, i) for i in heads}
    assert len(set(choice_point_terms(n))) == len(choice_point_terms(n))


def test_a_choice_point_is_the_token_whose_row_moves_the_losses_after_it():
    """The same by the loss itself: which terms change when the tokens from m on change together, seen from before m."""
    n, m, positions = 3, 6, 12
    rng = np.random.default_rng(2)
    log_probs, text = np.log(rng.dirichlet(np.ones(5), (positions, n))), rng.integers(0, 5, positions + n)
    other = text.copy()
    other[m:] = (other[m:] + 1) % 5
    moved = np.argwhere(lookahead_terms(log_probs, text) != lookahead_terms(log_probs, other))
    before = {(int(t) - m, int(i) + 1) for t, i in moved if t < m}
    assert before == set(choice_point_terms(n))


LEAF = 3.0
EVEN = {"a": (0.5, 1.0), "b": (0.5, 0.0)}
TREE = {"left": (0.25, {"x": (1.0, 8.0)}), "right": (0.75, EVEN), "never": (0.0, 100.0)}


def test_the_value_of_a_text_and_its_spread_by_hand():
    assert value(LEAF) == 3
    assert value(EVEN) == choice_value_spread(EVEN) == 0.5
    assert value(TREE) == 0.25 * 8 + 0.75 * 0.5
    assert choice_value_spread(TREE) == pytest.approx((0.25 * 0.75) ** 0.5 * 7.5, rel=1e-14)  # 8 or ½, as a coin of ¼
    assert choice_value_spread({"a": (0.4, 2), "b": (0.6, {"c": (1.0, 2)})}) == 0


# Entropies


@given(joint=joints())
def test_entropies_are_those_of_scipy(joint):
    found = entropies(joint)
    first, second = joint.sum(1), joint.sum(0)
    both = scipy.stats.entropy(joint.ravel(), base=2)
    assert found.first == pytest.approx(scipy.stats.entropy(first, base=2), abs=BITS)
    assert found.second == pytest.approx(scipy.stats.entropy(second, base=2), abs=BITS)
    assert found.both == pytest.approx(both, abs=BITS)
    apart = scipy.stats.entropy(joint.ravel(), np.outer(first, second).ravel(), base=2)
    assert found.mutual == pytest.approx(apart, abs=BITS)
    after = sum(p * scipy.stats.entropy(row, base=2) for p, row in zip(first, joint, strict=True) if p > 0)
    assert found.second_given_first == pytest.approx(after, abs=BITS)
    before = sum(p * scipy.stats.entropy(row, base=2) for p, row in zip(second, joint.T, strict=True) if p > 0)
    assert found.first_given_second == pytest.approx(before, abs=BITS)


@given(joint=joints())
def test_two_heads_are_charged_twice_for_what_the_tokens_share(joint):
    """Gloeckle et al., 2024, §5.2, both sides from definitions of their own."""
    of = entropies(joint)
    own = of.first_given_second + of.second_given_first
    assert next_token_charge(joint) == pytest.approx(own + of.mutual, abs=4 * BITS)
    assert next_token_charge(joint) == pytest.approx(of.both, abs=4 * BITS)
    assert lookahead_charge(joint) == pytest.approx(own + 2 * of.mutual, abs=4 * BITS)
    assert lookahead_charge(joint) == pytest.approx(of.first + of.second, abs=4 * BITS)


def test_charges_are_the_least_losses_of_heads_that_know_what_they_may():
    """As a loss in expectation: the best heads reach the charge, any others pay more (Gibbs' inequality)."""
    rng = np.random.default_rng(3)
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    first, second = joint.sum(1), joint.sum(0)

    def expected_loss(head_1, head_2_after):
        pairs = np.ndindex(3, 4)
        return sum(joint[a, b] * -(np.log2(head_1[a]) + np.log2(head_2_after[a][b])) for a, b in pairs)

    blind, seeing = [second] * 3, joint / first[:, None]
    assert expected_loss(first, blind) == pytest.approx(lookahead_charge(joint), rel=1e-13)
    assert expected_loss(first, seeing) == pytest.approx(next_token_charge(joint), rel=1e-13)
    other = rng.dirichlet(np.ones(4))
    assert expected_loss(first, [other] * 3) > lookahead_charge(joint)


# The model as its own draft


@given(joint=joints())
def test_what_a_model_drafts_for_itself_comes_out_exact_and_independence_costs_acceptance(joint):
    found = self_draft_acceptance(joint)
    first, second = joint.sum(1), joint.sum(0)
    assert np.abs(found.emitted - joint).max() <= 1e-12
    shared = np.minimum(joint, np.outer(first, second)).sum()
    assert found.acceptance == pytest.approx(shared, abs=BITS)
    assert found.unverified == pytest.approx(1 - shared, abs=BITS)
    for a, p in enumerate(first):
        alpha = float(acceptance_rate(joint[a] / p, second)) if p > 0 else 0
        assert found.acceptance_after[a] == pytest.approx(alpha, abs=BITS)
    # Pinsker's inequality, in bits.
    assert found.unverified <= (max(0.0, entropies(joint).mutual) * log(2) / 2) ** 0.5 + 1e-7


def test_heads_of_independent_tokens_are_always_believed_and_of_copies_seldom():
    independent = self_draft_acceptance(np.outer([0.25, 0.75], [0.5, 0.25, 0.25]))
    assert independent.acceptance == 1
    assert independent.unverified == 0
    copies = self_draft_acceptance(np.eye(4) / 4)
    assert copies.acceptance == 0.25
    assert copies.acceptance_after.tolist() == [0.25] * 4
    assert copies.unverified == 0.75


def test_verification_accepts_as_often_and_emits_the_joint_distribution():
    """Seed 4, 100,000 pairs by `verify_and_emit`: fails for a right rule at another seed with probability 1e-6 each."""
    rng, n = np.random.default_rng(4), 100_000
    joint = np.array([[0.3, 0.1, 0.05], [0.02, 0.08, 0.15], [0.1, 0.1, 0.1]])
    found = self_draft_acceptance(joint)
    first, second = np.tile(joint.sum(1), (n, 1)), np.tile(joint.sum(0), (n, 1))
    one, drafted = sample(first, uniforms(rng, n, first)), sample(second, uniforms(rng, n, first))
    after = (joint / joint.sum(1, keepdims=True))[one]
    emitted = verify_and_emit(
        drafted[:, None], second[:, None], np.stack([after, after], axis=1), uniforms(rng, (n, 2), first)
    )
    accepted = np.bincount(emitted.accepted, minlength=2)
    assert scipy.stats.chisquare(accepted, n * np.array([1 - found.acceptance, found.acceptance])).pvalue > 1e-6
    pairs = np.bincount(3 * one + emitted.tokens[:, 0], minlength=9)
    assert scipy.stats.chisquare(pairs, n * joint.ravel()).pvalue > 1e-6
    unverified = np.bincount(3 * one + drafted, minlength=9)
    assert scipy.stats.chisquare(unverified, n * joint.ravel()).pvalue < 1e-6


ROWS = np.log(np.full((2, 3, 4), 0.25))
BAD_JOINTS = [np.array([[0.5, 0.4]]), np.array([[1.5, -0.5]]), np.array([[np.nan, 1.0]]), np.array([0.5, 0.5])]


@pytest.mark.parametrize("of", [entropies, next_token_charge, lookahead_charge, self_draft_acceptance])
@pytest.mark.parametrize("joint", BAD_JOINTS, ids=["sum", "negative", "nan", "one-axis"])
def test_what_is_no_joint_distribution_is_refused_by_name(unchecked, of, joint):
    with pytest.raises(ValueError, match=r"^joint has"):
        of(joint)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: lookahead_loss(ROWS, np.zeros(4, int)), r"^tokens has 4 entries, needs T \+ n = 2 \+ 3"),
        (lambda: lookahead_loss(ROWS, np.zeros(6, int)), r"^tokens has 6 entries"),
        (lambda: lookahead_loss(ROWS, np.array([0, 1, 2, 3, 4])), r"^tokens has entries outside \[0, 4\)"),
        (lambda: lookahead_loss(ROWS, np.array([0, -1, 2, 3, 0])), r"^tokens has entries outside"),
        (lambda: lookahead_loss(ROWS[:0], np.zeros(3, int)), r"^log_probs has shape \(0, 3, 4\)"),
        (lambda: lookahead_loss(ROWS[:, :0], np.zeros(2, int)), r"^log_probs has shape \(2, 0, 4\)"),
        (lambda: choice_point_terms(0), r"^n is 0"),
        (lambda: terms_with_target(-1), r"^n is -1"),
        (lambda: value({}), r"^tree has a node with probabilities \[\]"),
        (lambda: value({"a": (0.5, 1.0)}), r"^tree has a node with probabilities \[0.5\]"),
        (lambda: value({"a": (1.5, 1.0), "b": (-0.5, 1.0)}), r"^tree has a node with probabilities"),
        (lambda: value({"a": (1.0, float("inf"))}), r"^tree has a return of inf"),
        (lambda: value({"a": (float("nan"), 1.0)}), r"^tree has a node with probabilities"),
        (lambda: choice_value_spread(1.0), r"^tree is a text that has ended, with return 1.0"),
        (lambda: choice_value_spread({"a": (0.5, 1.0)}), r"^tree has a node"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(unchecked, call, said):
    with pytest.raises(ValueError, match=said):
        call()
