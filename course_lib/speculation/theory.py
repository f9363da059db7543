"""What speculation gains, worked out before anything runs: how often a draft is accepted, and what a round is worth.

A cheap model drafts γ tokens, an expensive one looks at all of them in one pass. How much that helps depends on three
numbers: how far the two models agree (α), how far ahead one drafts (γ), and what a draft costs (c). Everything here follows
from them in closed form; the definitions take NumPy arrays and torch tensors of any shape, and plain numbers.

    p             the target's distribution of the next token                        (*batch, v)
    q             the draft's                                                        (*batch, v)
    alpha, α      probability that a drafted token is accepted, Σ min(p, q)          Leviathan et al., 2023, Thm. 3.5
    gamma, γ      drafted tokens a round
    n             accepted tokens of a round, 0 ≤ n ≤ γ
    N             emitted tokens of a round, n + 1
    c             what a draft run takes, where a target run takes 1                 Def. 3.7
    c_hat, ĉ      operations of the draft for a token, where the target's are 1      §3.4
    verification  time of the run that looks at γ + 1 positions, in units of a run over one; the paper takes it to be 1
"""

from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from jaxtyping import Float

from course_lib.arrays import arange_like, array_namespace, like

__all__ = [
    "acceptance_rate",
    "accepted_distribution",
    "best_gamma",
    "expected_tokens",
    "expected_tokens_by_position",
    "guaranteed_factor",
    "improvement_factor",
    "operation_factor",
    "residual",
    "token_ceiling",
    "total_variation",
]


def acceptance_rate(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> Float[Any, "*batch"]:
    """α = Σ min(p, q): the mass that the two distributions share (Leviathan et al., 2023, Thm. 3.5).

    It is the probability that a token drawn from q is accepted against p, and it is symmetric in the two.

    Raises:
        ValueError: shapes differ, or a row is no distribution.
    """
    p, q, dtype = _rows(p, q)
    xp = array_namespace(p)
    return xp.astype(xp.sum(xp.minimum(p, q), axis=-1), dtype)


def total_variation(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> Float[Any, "*batch"]:
    """TV(p, q) = ½ Σ |p − q|: the most by which the two can disagree about the probability of any event; 1 − α.

    Raises:
        ValueError: shapes differ, or a row is no distribution.
    """
    p, q, dtype = _rows(p, q)
    xp = array_namespace(p)
    return xp.astype(xp.sum(xp.abs(p - q), axis=-1) / 2, dtype)


def residual(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> Float[Any, "*batch v"]:
    """norm((p − q)₊): where a token is drawn from after a rejection (Leviathan et al., 2023, §2.3; Chen et al., 2023, Alg. 2).

    It gives each token the mass that acceptance could not deliver. Where p = q nothing is missing, and nothing is ever
    rejected but by rounding: the row is then p itself.

    Raises:
        ValueError: shapes differ, or a row is no distribution.
    """
    p, q, dtype = _rows(p, q)
    xp = array_namespace(p)
    missing = positive_part(p, q)
    return xp.astype(missing / xp.sum(missing, axis=-1, keepdims=True), dtype)


def positive_part(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> Float[Any, "*batch v"]:
    """(p − q)₊ row by row, not normalised; p itself in a row where that would be zero throughout."""
    xp = array_namespace(p)
    missing = xp.where(p > q, p - q, like(p, 0))
    return xp.where(xp.any(missing > 0, axis=-1, keepdims=True), missing, p)


def accepted_distribution(alpha: Any, gamma: int) -> Float[Any, "*batch gamma_plus_1"]:
    """P(n = k) for k = 0, …, γ: αᵏ(1 − α), and α^γ for the round in which nothing is rejected.

    α is taken to be the same at each position and independent of the others (Leviathan et al., 2023, §3.1).

    Raises:
        ValueError: α lies outside [0, 1], or γ is not a whole number ≥ 0.
    """
    alpha = _numbers("alpha", alpha, 0, 1)
    xp = array_namespace(alpha)
    k = arange_like(alpha, _whole("gamma", gamma) + 1)
    reached = alpha[..., None] ** xp.astype(k, alpha.dtype)
    return xp.where(k < gamma, reached * (1 - alpha[..., None]), reached)


def expected_tokens(alpha: Any, gamma: Any) -> Any:
    """E[N] = 1 + α + … + α^γ = (1 − α^{γ+1}) / (1 − α): what a round emits on average (Leviathan et al., 2023, eq. 1).

    Token i + 1 is emitted if the first i drafts were all accepted, and the expectation adds these probabilities up. α and γ
    broadcast against each other; plain numbers give a plain number.

    Raises:
        ValueError: α lies outside [0, 1], or a γ is not a whole number ≥ 0.
    """
    alpha, gamma, plain = _pair(alpha, gamma)
    xp = array_namespace(alpha)
    i = arange_like(alpha, int(xp.max(gamma)) + 1 if _size(gamma) else 1)
    reached = alpha[..., None] ** xp.astype(i, alpha.dtype)
    return _plain(xp.sum(xp.where(i <= gamma[..., None], reached, like(alpha, 0)), axis=-1), plain)


def expected_tokens_by_position(alphas: Float[Any, "*batch gamma"]) -> Float[Any, "*batch"]:
    """E[N] of a round whose i-th drafted token is accepted with a probability of its own: 1 + Σᵢ α₁⋯αᵢ.

    Raises:
        ValueError: an entry lies outside [0, 1], or there is no axis of positions.
    """
    alphas = _numbers("alphas", alphas, 0, 1)
    if alphas.ndim == 0:
        raise ValueError("alphas has no axis, needs a last one: a probability for each position of a round")
    xp = array_namespace(alphas)
    reached = xp.ones(alphas.shape[:-1], dtype=alphas.dtype, device=alphas.device)
    total = reached
    for i in range(alphas.shape[-1]):
        reached = reached * alphas[..., i]
        total = total + reached
    return total


def improvement_factor(alpha: Any, gamma: Any, c: Any, verification: Any = 1.0) -> Any:
    """E[N] / (γc + 1): how many times faster speculation is than decoding token by token (Leviathan et al., 2023, Thm. 3.8).

    The paper's premise is that looking at γ + 1 positions takes as long as looking at one. Where it does not, `verification`
    says how many times as long it takes, and the factor is E[N] / (γc + verification). At γ = 0 nothing is drafted and the
    factor is 1, whatever the rest.

    Raises:
        ValueError: α lies outside [0, 1], a γ is no whole number ≥ 0, c is negative, or verification not above 0.
    """
    c, verification = _checked("c", c, 0), _checked("verification", verification, 0, above=True)
    tokens = expected_tokens(alpha, gamma)
    gamma = _as_floats(gamma, tokens)
    factor = tokens / (gamma * c + verification)
    if isinstance(gamma, Real):
        return factor if gamma else factor * 0 + 1
    return array_namespace(factor).where(gamma == 0, like(factor, 1), factor)


def operation_factor(alpha: Any, gamma: Any, c_hat: Any) -> Any:
    """(γĉ + γ + 1) / E[N]: how many times the arithmetic of token-by-token decoding (Leviathan et al., 2023, Thm. 3.11).

    A round computes γ draft tokens and γ + 1 target positions, whatever becomes of them. This is what is spent to read the
    weights less often.

    Raises:
        ValueError: α lies outside [0, 1], a γ is no whole number ≥ 0, or ĉ is negative.
    """
    c_hat = _checked("c_hat", c_hat, 0)
    tokens = expected_tokens(alpha, gamma)
    gamma = _as_floats(gamma, tokens)
    return (gamma * c_hat + gamma + 1) / tokens


def guaranteed_factor(alpha: float, c: float) -> float:
    """What the best γ gains at least: (1 + α) / (1 + c) if α > c, else 1 (Leviathan et al., 2023, Cor. 3.9).

    If α > c then γ = 1 already gains that much; if not, no γ gains anything, and one had better not draft.

    Raises:
        ValueError: α lies outside [0, 1], or c is negative.
    """
    alpha, c = _number("alpha", alpha, 0, 1), _number("c", c, 0)
    return (1 + alpha) / (1 + c) if alpha > c else 1.0


def token_ceiling(alpha: Any) -> Any:
    """1 / (1 − α): the tokens a round emits when drafting is free and has no end; ∞ for α = 1.

    The limit of the improvement factor for c → 0 and γ → ∞; a model that drafts for itself comes near it (Gloeckle et al., 2024).

    Raises:
        ValueError: α lies outside [0, 1].
    """
    plain = isinstance(alpha, Real)
    alpha = _numbers("alpha", alpha, 0, 1)
    xp = array_namespace(alpha)
    never = alpha == 1
    return _plain(xp.where(never, like(alpha, np.inf), 1 / xp.where(never, like(alpha, 1), 1 - alpha)), plain)


def best_gamma(alpha: float, c: float, gamma_max: int) -> int:
    """γ*: the γ in 0, …, gamma_max whose improvement factor is largest, the smallest of them where several are.

    One token more takes the factor from E/D to (E + α^{γ+1}) / (D + c), which is more exactly if α^{γ+1}·D > c·E. The left
    side gains less than the right one with each γ, so the first γ at which this fails is the best. Without `gamma_max` there
    need not be one: for c = 0, or α = 1 and c < 1, every further token gains. The search is exact: numbers are taken for the
    decimals that one typed, so that α = 0.5, c = 0.2 is the tie between γ = 1 and γ = 2 that it is on paper.

    Raises:
        ValueError: α lies outside [0, 1], c is negative, or gamma_max is not a whole number ≥ 0.
    """
    gamma_max = _whole("gamma_max", gamma_max)
    alpha, c = (Fraction(repr(value)) for value in (_number("alpha", alpha, 0, 1), _number("c", c, 0)))
    if c == 0 or (alpha == 1 and c < 1):
        return gamma_max if alpha > 0 else 0
    tokens, cost, reach = Fraction(1), Fraction(1), alpha
    for gamma in range(gamma_max):
        if reach * cost <= c * tokens:
            return gamma
        tokens, cost, reach = tokens + reach, cost + c, reach * alpha
    return gamma_max


def _rows(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Both as distributions of at least 32 bits, and the dtype in which to return what follows from them."""
    dtype = array_namespace(p, q).result_type(p.dtype, q.dtype)
    return *distributions(p, q), dtype


def distributions(p: Float[Any, "*batch v"], q: Float[Any, "*batch v"]) -> tuple[Any, Any]:
    """`p` and `q`, in at least 32 bits, if they have one shape and their rows are distributions.

    Raises:
        ValueError: shapes differ, or a row is no distribution.
    """
    if tuple(p.shape) != tuple(q.shape):
        raise ValueError(f"q has shape {tuple(q.shape)}, needs that of p: {tuple(p.shape)}")
    return distribution("p", p), distribution("q", q)


def distribution(name: str, p: Float[Any, "*batch v"]) -> Float[Any, "*batch v"]:
    """`p`, in at least 32 bits, if each of its rows is a distribution.

    The sum may miss 1 by the rounding of its entries, 4ε of their dtype, and of the sum that normalised them, 4ε·√v in 32
    bits or more. A row cut down by top-k or top-p and not normalised again misses it by far.

    Raises:
        ValueError: an entry is negative, infinite or NaN, or a row does not sum to 1; the text names the argument.
    """
    xp = array_namespace(p)
    if p.ndim == 0 or p.shape[-1] == 0 or not xp.isdtype(p.dtype, "real floating"):
        raise ValueError(f"{name} has shape {tuple(p.shape)} and dtype {p.dtype}, needs floating rows of ≥ 1 entries")
    wide = xp.astype(p, xp.float32) if xp.finfo(p.dtype).bits < 32 else p
    allowed = 4 * float(xp.finfo(p.dtype).eps) + 4 * float(xp.finfo(wide.dtype).eps) * p.shape[-1] ** 0.5
    total = xp.sum(wide, axis=-1)
    # `>=` and `<=` are False for NaN.
    if not bool(xp.all(wide >= 0)) or not bool(xp.all(xp.abs(total - 1) <= allowed)):
        raise ValueError(f"{name} has a row that is no distribution, needs entries ≥ 0 that sum to 1 in each row")
    return wide


def _pair(alpha: Any, gamma: Any) -> tuple[Any, Any, bool]:
    """Both as arrays of one library, γ of integers, and whether both were plain numbers."""
    plain = isinstance(alpha, Real) and isinstance(gamma, Real)
    if isinstance(alpha, Real) and not isinstance(gamma, Real):
        _number("alpha", alpha, 0, 1)
        xp = array_namespace(gamma)
        alpha = like(gamma, alpha, dtype=xp.float64)
    alpha = _numbers("alpha", alpha, 0, 1)
    if isinstance(gamma, Real):
        return alpha, like(alpha, _whole("gamma", gamma), dtype=array_namespace(alpha).int64), plain
    if not hasattr(gamma, "shape"):
        _whole("gamma", gamma)
    xp = array_namespace(alpha, gamma)
    if not xp.isdtype(gamma.dtype, "integral") or not bool(xp.all(gamma >= 0)):
        raise ValueError(f"gamma has dtype {gamma.dtype} and may have entries below 0, needs whole numbers ≥ 0")
    return alpha, gamma, plain


def _as_floats(gamma: Any, tokens: Any) -> Any:
    return gamma if isinstance(gamma, Real) else array_namespace(gamma).astype(gamma, tokens.dtype)


def _numbers(name: str, values: Any, low: float, high: float) -> Any:
    """A plain number as a NumPy scalar, an array as it is, if all lie in [low, high]."""
    if isinstance(values, Real):
        return np.asarray(_number(name, values, low, high))
    xp = array_namespace(values)
    if not xp.isdtype(values.dtype, "real floating") or not bool(xp.all((values >= low) & (values <= high))):
        raise ValueError(f"{name} has dtype {values.dtype}, needs floating numbers from {low} to {high} throughout")
    return values


def _checked(name: str, value: Any, low: float, above: bool = False) -> Any:
    """A number or an array of them, if none lies below `low`, or with `above` at it, and all are finite."""
    if isinstance(value, Real):
        return _number(name, value, low, above=above)
    xp = array_namespace(value)
    inside = (value > low if above else value >= low) & xp.isfinite(value)
    if not bool(xp.all(inside)):
        raise ValueError(f"{name} has entries outside the allowed, needs finite numbers {'>' if above else '≥'} {low}")
    return value


def _number(name: str, value: Any, low: float, high: float | None = None, above: bool = False) -> float:
    value = float(value) if isinstance(value, Real) else value
    fits = isinstance(value, float) and isfinite(value) and (value > low if above else value >= low)
    if not fits or (high is not None and value > high):
        need = f"a number from {low} to {high}" if high is not None else f"a number {'>' if above else '≥'} {low}"
        raise ValueError(f"{name} is {value!r}, needs {need}")
    return value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} is {value!r}, needs a whole number ≥ 0")
    return int(value)


def _size(x: Any) -> int:
    return int(np.prod(x.shape))


def _plain(x: Any, plain: bool) -> Any:
    return float(x) if plain else x
