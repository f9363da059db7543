"""One round, token by token: against the rule in whole numbers, against transformers, and at the edges of both.

Rows in 64ths and uniforms in 256ths make every product and sum exact in every dtype, so that ties are decided and not
rounded. How the emitted tokens are distributed is the matter of test_verification_chance.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.speculation import PADDING, SamplingSettings, residual, verify_and_emit

WHOLE = 64
batches = st.sampled_from([(), (1,), (5,), (2, 3)])


def numerators(rng, batch: tuple, gamma: int, v: int) -> tuple[np.ndarray, ...]:
    """Tokens, draft rows and target rows in 64ths with zeros among them, and uniforms in 256ths with 0 and 255 often."""
    q, p = (rng.multinomial(WHOLE, rng.dirichlet(np.full(v, 0.6), (*batch, n))) for n in (gamma, gamma + 1))
    p[..., :gamma, :] = np.where(rng.random((*batch, gamma, 1)) < 0.2, q, p[..., :gamma, :])
    tokens = np.argmax(np.cumsum(q, axis=-1) > rng.integers(0, WHOLE, (*batch, gamma, 1)), axis=-1)
    return tokens, q, p, rng.choice([0, 255, *range(256)], (*batch, gamma + 1))


def arrays(xp, tokens, q, p, u, dtype="float32"):
    """The same as one library's arrays: 64ths become probabilities, 256ths numbers in [0, 1)."""
    rows = [xp.array(x / WHOLE, dtype) for x in (q, p)]
    return xp.array(tokens, "int64"), *rows, xp.array(u / 256, dtype)


def by_the_rule(tokens, q, p, u) -> tuple[list[int], int]:
    """One sequence in whole numbers: the smallest i at which rᵢ·qᵢ(xᵢ) ≥ pᵢ(xᵢ), then the inverse of a running sum."""
    gamma = len(tokens)
    rejected = [i for i, x in enumerate(tokens) if u[i] * q[i][x] >= 256 * p[i][x]]
    n = min([*rejected, gamma])
    weights = np.maximum(p[n] - q[n], 0) if n < gamma else p[n]
    weights = weights if weights.any() else p[n]
    last = np.searchsorted(256 * np.cumsum(weights), u[gamma] * weights.sum(), side="right")
    return [*map(int, tokens[:n]), int(last), *[PADDING] * (gamma - n)], n


def plain(xp, emitted) -> tuple[list, list]:
    return xp.numpy(emitted.tokens).tolist(), xp.numpy(emitted.accepted).tolist()


def random_round(rng, batch: tuple, gamma: int, v: int) -> tuple[np.ndarray, ...]:
    """As `numerators`, with any probabilities and uniforms."""
    q, p = (rng.dirichlet(np.ones(v), (*batch, n)) for n in (gamma, gamma + 1))
    tokens = np.argmax(np.cumsum(q, axis=-1) > rng.random((*batch, gamma, 1)), axis=-1)
    return tokens, q, p, rng.random((*batch, gamma + 1))


@given(seed=st.integers(0, 2**31), batch=batches, gamma=st.integers(0, 5), v=st.integers(1, 6))
def test_every_sequence_goes_by_the_rule_whatever_its_neighbours_do(xp, seed, batch, gamma, v):
    """Also with no batch at all, in every dtype; nothing is written into the arguments."""
    drawn = numerators(np.random.default_rng(seed), batch, gamma, v)
    for dtype in xp.floats:
        given = arrays(xp, *drawn, dtype=dtype)
        before = [xp.numpy(x).copy() for x in given]
        emitted = verify_and_emit(*given)
        assert all(np.array_equal(xp.numpy(x), kept) for x, kept in zip(given, before, strict=True))
        assert emitted.tokens.dtype == emitted.accepted.dtype == xp.dtype("int64")
        tokens, accepted = xp.numpy(emitted.tokens), xp.numpy(emitted.accepted)
        assert tokens.shape == (*batch, gamma + 1)
        assert accepted.shape == batch
        for at in np.ndindex(*batch):
            assert (tokens[at].tolist(), int(accepted[at])) == by_the_rule(*(x[at] for x in drawn))


@given(seed=st.integers(0, 2**31), batch=batches)
def test_a_batch_gives_what_each_sequence_gives_alone(xp, seed, batch):
    tokens, *rest = random_round(np.random.default_rng(seed), batch, 4, 9)
    given = xp.array(tokens, "int64"), *(xp.array(x) for x in rest)
    together = verify_and_emit(*given)
    for at in np.ndindex(*batch):
        alone = verify_and_emit(
            *(xp.array(xp.numpy(x)[at], "int64" if i == 0 else "float32") for i, x in enumerate(given))
        )
        assert plain(xp, alone) == (xp.numpy(together.tokens)[at].tolist(), int(xp.numpy(together.accepted)[at]))


@pytest.mark.parametrize(("gamma", "v"), [(1, 2), (2, 7), (5, 3), (5, 40)])
def test_counts_and_residuals_are_those_of_transformers(monkeypatch, gamma, v):
    """`_speculative_sampling` takes one sequence and draws inside: both get the same numbers, in float64.

    What it is about to draw the last token from is compared with our residual, or with the target's last row. Softmax and
    both divisions are right to a few ε, and a sum of v terms to v·ε.
    """
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("transformers.generation.utils")
    rng, n = np.random.default_rng(7), 200
    logits_q, logits_p = (torch.tensor(rng.standard_normal((n, k, v))) for k in (gamma, gamma + 1))
    q, p = torch.softmax(logits_q, -1), torch.softmax(logits_p, -1)
    tokens = torch.tensor(np.argmax(np.cumsum(q.numpy(), -1) > rng.random((n, gamma, 1)), axis=-1))
    u = torch.tensor(rng.random((n, gamma + 1)))
    ours = verify_and_emit(tokens, q, p, u)
    last_rows, counts = [], []
    monkeypatch.setattr(torch, "multinomial", lambda row, num_samples: last_rows.append(row[0]) or torch.tensor([[0]]))
    for b in range(n):
        monkeypatch.setattr(torch, "rand_like", lambda ratio, b=b: u[b, :gamma].reshape(ratio.shape))
        valid, n_matches = theirs._speculative_sampling(tokens[b][None], logits_q[b][None], gamma, logits_p[b][None])
        counts.append(int(n_matches))
        assert valid[0, :-1].tolist() == ours.tokens[b, : counts[-1]].tolist()
    assert ours.accepted.tolist() == counts
    assert set(counts) == set(range(gamma + 1))
    for b, k in enumerate(counts):
        own = residual(p[b, k], q[b, k]) if k < gamma else p[b, k]
        largest = float((own - last_rows[b]).abs().max())
        # The residual is divided by 1 − α, and so is the rounding of p − q.
        scale = 1 if k == gamma else 1 / float((p[b, k] - q[b, k]).clamp(min=0).sum())
        assert largest <= (v + 8) * 2**-52 * max(1, scale)
        assert own[ours.tokens[b, k]] > 0


@given(seed=st.integers(0, 2**31))
def test_nothing_after_the_first_rejection_matters(xp, seed):
    """Tokens, both kinds of rows and the draws of later tests are replaced, by one-hot rows too."""
    rng, gamma, v = np.random.default_rng(seed), 4, 5
    drawn = numerators(rng, (40,), gamma, v)
    first = verify_and_emit(*arrays(xp, *drawn))
    other = [x.copy() for x in numerators(rng, (40,), gamma, v)]
    other[1][::3] = WHOLE * np.eye(v, dtype=int)[other[0][::3]]
    accepted, poisoned = xp.numpy(first.accepted), 0
    for b, n in enumerate(accepted):
        poisoned += int(n < gamma - 1)
        for mine, theirs in zip(drawn, other, strict=True):
            theirs[b, : n + 1] = mine[b, : n + 1]
        other[3][b, gamma] = drawn[3][b, gamma]
        if n == gamma:
            other[2][b, gamma] = drawn[2][b, gamma]
    assert poisoned >= 10
    assert plain(xp, verify_and_emit(*arrays(xp, *other))) == plain(xp, first)


@given(seed=st.integers(0, 2**31), gamma=st.integers(0, 4))
def test_a_draft_that_is_the_target_always_stands_and_the_bonus_comes_from_the_last_row(xp, seed, gamma):
    tokens, q, p, u = random_round(np.random.default_rng(seed), (7,), gamma, 5)
    p[:, :gamma], u[:, :gamma] = q, 1 - 2**-24
    p[:, gamma] = np.eye(5)[[0, 1, 2, 3, 4, 0, 1]]
    emitted = verify_and_emit(xp.array(tokens, "int64"), xp.array(q), xp.array(p), xp.array(u))
    assert plain(xp, emitted) == ([[*row, last % 5] for last, row in enumerate(tokens.tolist())], [gamma] * 7)


def test_a_rejection_that_only_rounding_caused_draws_from_the_target(xp):
    """p one step below q throughout leaves no residual, and the largest uniform makes r·q = p: not below, so rejected.

    The target is not flat, so that the draws show whose tokens they are.
    """
    for dtype in ("float32", "float64"):
        eps = xp.eps(dtype)
        q = xp.array([[[0.5, 0.25, 0.125, 0.125]]] * 3, dtype)
        p = xp.array([[np.array([0.5, 0.25, 0.125, 0.125]) * (1 - eps / 2), [0, 0, 0, 1.0]]] * 3, dtype)
        u = xp.array([[1 - eps / 2, last] for last in (0.0, 0.6, 1 - eps / 2)], dtype)
        emitted = verify_and_emit(xp.array([[2]] * 3, "int64"), q, p, u)
        assert plain(xp, emitted) == ([[0, PADDING], [1, PADDING], [3, PADDING]], [0, 0, 0])


def test_what_the_target_never_says_is_not_accepted_even_at_a_uniform_of_zero(xp):
    q, p = xp.array([[[1.0, 0.0, 0.0]]] * 2), xp.array([[[0.0, 0.75, 0.25], [1.0, 0.0, 0.0]]] * 2)
    emitted = verify_and_emit(xp.array([[0], [0]], "int64"), q, p, xp.array([[0.0, 0.0], [0.0, 0.75]]))
    assert plain(xp, emitted) == ([[1, PADDING], [2, PADDING]], [0, 0])


@given(seed=st.integers(0, 2**31))
def test_greedy_rows_accept_what_both_would_say_and_correct_the_first_that_differs(xp, seed):
    """One-hot rows leave nothing to chance: the text is the target's whatever the uniforms."""
    rng = np.random.default_rng(seed)
    best = rng.integers(0, 3, (9, 5))
    drafted = np.where(rng.random((9, 4)) < 0.7, best[:, :4], rng.integers(0, 3, (9, 4)))
    rows = xp.array(np.eye(3)[drafted]), xp.array(np.eye(3)[best]), xp.array(rng.random((9, 5)))
    tokens, accepted = plain(xp, verify_and_emit(xp.array(drafted, "int64"), *rows))
    for mine, target, n, said in zip(drafted.tolist(), best.tolist(), accepted, tokens, strict=True):
        assert said == target[: n + 1] + [PADDING] * (4 - n)
        assert n == next((i for i in range(4) if mine[i] != target[i]), 4)


@pytest.mark.parametrize("settings", [SamplingSettings(0.7, 0.8), SamplingSettings(0), SamplingSettings(top_p=0.5)])
def test_settings_change_both_sides_before_they_are_compared(xp, settings):
    rng = np.random.default_rng(8)
    q, p = xp.array(rng.dirichlet(np.ones(6), (50, 3))), xp.array(rng.dirichlet(np.ones(6), (50, 4)))
    changed = settings.apply(q), settings.apply(p)
    cumulative = np.cumsum(xp.numpy(changed[0]), axis=-1)
    tokens = xp.array(np.argmax(cumulative > rng.random((50, 3, 1)) * cumulative[..., -1:], axis=-1), "int64")
    u = xp.array(rng.random((50, 4)))
    given = plain(xp, verify_and_emit(tokens, q, p, u, settings))
    assert given == plain(xp, verify_and_emit(tokens, *changed, u))
    assert given != plain(xp, verify_and_emit(tokens, q, p, u))


def test_narrow_integers_are_tokens_too(xp):
    for dtype in ("int32", "int16"):
        q, p = xp.array([[0.5, 0.5]]), xp.array([[0.5, 0.5], [0.25, 0.75]])
        emitted = verify_and_emit(xp.array([1], dtype), q, p, xp.array([0.5, 0.1]))
        assert plain(xp, emitted) == ([1, 0], 1)


@pytest.mark.parametrize(("draft", "target"), [("float32", "float64"), ("float64", "float32")])
def test_draft_and_target_may_differ_in_precision(xp, draft, target):
    q, p = xp.array([[0.5, 0.5]], draft), xp.array([[0.25, 0.75], [0.5, 0.5]], target)
    assert plain(xp, verify_and_emit(xp.array([0], "int64"), q, p, xp.array([0.25, 0.75], draft))) == ([0, 1], 1)
    assert plain(xp, verify_and_emit(xp.array([0], "int64"), q, p, xp.array([0.5, 0.0], draft))) == ([1, PADDING], 0)


Q, P, U = [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]], [[0.5, 0.25, 0.25]] * 3, [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"draft_probs": Q[:1]}, r"^draft_probs has shape \(1, 3\), needs \(2, 3\)"),
        ({"draft_probs": [[0.5, 0.5]] * 2}, r"^draft_probs has shape \(2, 2\), needs \(2, 3\)"),
        ({"target_probs": P[:2]}, r"^target_probs has shape \(2, 3\), needs \(3, 3\)"),
        ({"uniforms": U[:2]}, r"^uniforms has shape \(2,\), needs \(3,\)"),
        ({"uniforms": [U]}, r"^uniforms has shape \(1, 3\), needs \(3,\)"),
        ({"uniforms": [0.5, 1.0, 0.5]}, "^uniforms has entries outside"),
        ({"uniforms": [0.5, 0.5, -0.01]}, "^uniforms has entries outside"),
        ({"uniforms": [float("nan"), 0.5, 0.5]}, "^uniforms has entries outside"),
        # Cut down by top-p and not normalised again: the fault of a sampler that masks and forgets.
        ({"draft_probs": [[0.5, 0.0, 0.0], Q[1]]}, "^draft_probs has a row that is no distribution"),
        ({"target_probs": [*P[:2], [0.5, 0.25, 0.0]]}, "^target_probs has a row that is no distribution"),
        ({"target_probs": [*P[:2], [1.25, -0.25, 0.0]]}, "^target_probs has a row that is no distribution"),
        ({"draft_probs": [[float("nan"), 0.5, 0.5], Q[1]]}, "^draft_probs has a row that is no distribution"),
        ({"draft_tokens": [2, 0]}, "^draft_tokens has a token of probability 0 .*settings of the draft differ"),
    ],
)
@pytest.mark.parametrize("settings", [None, SamplingSettings(top_p=0.9)])
def test_what_cannot_be_verified_is_refused_by_name(xp, unchecked, change, said, settings):
    given = {"draft_tokens": [0, 2], "draft_probs": Q, "target_probs": P, "uniforms": U}
    dtype = {"draft_tokens": "int64"}
    verify_and_emit(**{name: xp.array(x, dtype.get(name, "float32")) for name, x in given.items()})
    with pytest.raises(ValueError, match=said):
        verify_and_emit(
            **{name: xp.array(x, dtype.get(name, "float32")) for name, x in (given | change).items()}, settings=settings
        )


@pytest.mark.parametrize("token", [-1, 3])
def test_a_token_that_is_no_index_is_refused(xp, unchecked, token):
    with pytest.raises(ValueError, match="draft_tokens"):
        verify_and_emit(xp.array([0, token], "int64"), xp.array(Q), xp.array(P), xp.array(U))


def test_tokens_without_an_axis_of_positions_are_refused(xp, unchecked):
    with pytest.raises(ValueError, match=r"^draft_tokens and target_probs need a last axis"):
        verify_and_emit(xp.array(0, "int64"), xp.array(Q), xp.array(P), xp.array(U))


def test_one_token_that_the_settings_rule_out_is_refused_in_a_batch_of_good_ones(xp, unchecked):
    """A draft that sampled without the settings: what top-p cuts off cannot have been drawn under it."""
    q, p = xp.array([[[0.6, 0.3, 0.1]]] * 4), xp.array([[[0.2, 0.3, 0.5]] * 2] * 4)
    tokens, u = xp.array([[0], [1], [2], [0]], "int64"), xp.array([[0.5, 0.5]] * 4)
    verify_and_emit(tokens, q, p, u)
    with pytest.raises(ValueError, match=r"^draft_tokens has a token of probability 0"):
        verify_and_emit(tokens, q, p, u, SamplingSettings(top_p=0.9))
