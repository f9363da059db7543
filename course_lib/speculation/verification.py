"""Verification: which drafted tokens stand, and what is emitted after them.

The target has looked at all drafted tokens in one pass, so both rows are known at every position. From left to right, a
drafted token x stays with probability min(1, p(x)/q(x)). The first one that does not is replaced by a draw from the residual
norm((p − q)₊), and the round ends; if all stay, one more token is drawn from the target's last row. What is emitted is
distributed as the target's own text, whatever the draft (Leviathan et al., 2023, Alg. 1 and app. A.1; Chen et al., 2023, Thm. 1).

    draft_tokens   x₁, …, x_γ, each drawn from its row of draft_probs            (*batch, gamma)
    draft_probs    q₁, …, q_γ                                                    (*batch, gamma, v)
    target_probs   p₁, …, p_{γ+1}; row i follows the first i − 1 drafted tokens  (*batch, gamma + 1, v)
    uniforms       r₁, …, r_γ for the tests, and one for the token drawn last    (*batch, gamma + 1)
"""

from typing import Any, NamedTuple

from jaxtyping import Float, Int

from course_lib.arrays import arange_like, array_namespace, like, sample, take_last
from course_lib.speculation.settings import SamplingSettings
from course_lib.speculation.theory import distribution, positive_part

PADDING = -1


class Emitted(NamedTuple):
    """What a round gives to each sequence of a batch."""

    tokens: Int[Any, "*batch gamma_plus_1"]
    """The accepted drafts, then the token drawn last, then PADDING."""
    accepted: Int[Any, "*batch"]
    """How many drafted tokens stand, 0 to γ; there is always one token more."""


def verify_and_emit(
    draft_tokens: Int[Any, "*batch gamma"],
    draft_probs: Float[Any, "*batch gamma v"],
    target_probs: Float[Any, "*batch gamma_plus_1 v"],
    uniforms: Float[Any, "*batch gamma_plus_1"],
    settings: SamplingSettings | None = None,
) -> Emitted:
    """Accepts or replaces drafted tokens, every sequence with draws and a length of its own (Leviathan et al., 2023, Alg. 1).

    A token is accepted if r·q(x) < p(x), so that p(x) = 0 never is and p(x) ≥ q(x) always is. Where p = q leaves no residual,
    a rejection, which only rounding can cause, draws from p.

    Args:
        uniforms: numbers in [0, 1), independent of each other: one for each test and one for the last token.
        settings: applied to both sides before they are compared; the drafted tokens must have been drawn under them. None:
            the rows are what was drawn from, as they are.

    Raises:
        ValueError: shapes disagree, a row is no distribution (cut down and not normalised again, say), a uniform lies outside
            [0, 1), a token is no index of its row, or has probability 0 there: it cannot have been drawn from that row, so
            the settings of draft and verification differ.
    """
    if draft_tokens.ndim == 0 or target_probs.ndim == 0:
        raise ValueError("draft_tokens and target_probs need a last axis: the positions of a round, the vocabulary")
    batch, gamma = tuple(draft_tokens.shape[:-1]), draft_tokens.shape[-1]
    needed = {
        "draft_probs": (draft_probs, (*batch, gamma, target_probs.shape[-1])),
        "target_probs": (target_probs, (*batch, gamma + 1, target_probs.shape[-1])),
        "uniforms": (uniforms, (*batch, gamma + 1)),
    }
    for name, (array, shape) in needed.items():
        if tuple(array.shape) != shape:
            raise ValueError(
                f"{name} has shape {tuple(array.shape)}, needs {shape}: draft_tokens has {(*batch, gamma)}"
            )
    xp = array_namespace(draft_tokens, draft_probs, target_probs, uniforms)
    if not bool(xp.all((uniforms >= 0) & (uniforms < 1))):
        raise ValueError("uniforms has entries outside [0, 1), needs all of them inside")
    q, p = (
        distribution(name, rows) if settings is None else settings.apply(distribution(name, rows))
        for name, rows in (("draft_probs", draft_probs), ("target_probs", target_probs))
    )
    if not xp.isdtype(draft_tokens.dtype, "integral") or not bool(
        xp.all((draft_tokens >= 0) & (draft_tokens < q.shape[-1]))
    ):
        raise ValueError(
            f"draft_tokens has dtype {draft_tokens.dtype}, needs integers in [0, {q.shape[-1]}) throughout"
        )
    q_drafted = take_last(q, draft_tokens)
    if not bool(xp.all(q_drafted > 0)):
        raise ValueError(
            "draft_tokens has a token of probability 0 in its row of draft_probs, needs tokens drawn from these rows: "
            "the sampling settings of the draft differ from those given here"
        )
    p_drafted = take_last(p[..., :gamma, :], draft_tokens)
    stands = uniforms[..., :gamma] * q_drafted < p_drafted
    accepted = xp.sum(xp.cumulative_prod(xp.astype(stands, xp.int64), axis=-1), axis=-1)

    # The row at which the walk ended. Beyond the last draft nothing was proposed: q = 0 there, and the "residual" is p.
    p_last = _row(p, accepted)
    if gamma:
        rejected = (accepted < gamma)[..., None]
        q_last = xp.where(rejected, _row(q, xp.where(rejected[..., 0], accepted, like(accepted, 0))), like(q, 0))
        p_last = positive_part(p_last, q_last)
    last = sample(p_last, uniforms[..., gamma])

    place = arange_like(draft_tokens, gamma + 1)
    drafted = xp.concat([draft_tokens, xp.zeros_like(last)[..., None]], axis=-1)
    tokens = xp.where(place == accepted[..., None], last[..., None], drafted)
    return Emitted(xp.where(place <= accepted[..., None], tokens, like(tokens, PADDING)), accepted)


def _row(rows: Float[Any, "*batch n v"], index: Int[Any, "*batch"]) -> Float[Any, "*batch v"]:
    """`rows[..., index, :]`, an index for each sequence."""
    xp = array_namespace(rows)
    index = xp.broadcast_to(index[..., None, None], (*rows.shape[:-2], 1, rows.shape[-1]))
    return xp.take_along_axis(rows, index, axis=-2)[..., 0, :]
