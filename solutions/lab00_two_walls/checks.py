"""The checks of lab 00: what a token costs, in seven small answers that meet every kind of check once.

Arrays within a bound, exact counts, errors, numbers worked out by hand, functions as arguments, an object with state, a
prediction locked before its measurement, and an answer in words. Each case looks at one mistake, so that a slip costs its
own cases and no others.
"""

from collections.abc import Iterator

import numpy as np

from course_lib.checks import (
    Close,
    Draw,
    Lab,
    Raises,
    Register,
    call,
    case,
    given,
    many,
    put,
    read,
    rounding,
    script,
    typed,
)
from course_lib.checks.cases import Case, Step

lab = Lab("lab00_two_walls", "The two walls", minutes=20, provides=["course_lib.explore.prediction"])


def reference_softmax(x: np.ndarray) -> np.ndarray:
    """The softmax along the last axis in float64; zeros for a row of −∞."""
    x = x.astype(np.float64)
    top = np.max(x, axis=-1, keepdims=True)
    weights = np.exp(x - np.where(np.isneginf(top), 0.0, top))
    total = np.sum(weights, axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1.0, total)


def softmax_case(name: str, x: np.ndarray, *, dtype: str | None = None, unchanged: bool = False, hint: str) -> Case:
    """One softmax. Only the cases that are about it look at `x` afterwards, so that writing into it costs them alone."""
    expect = Close(reference_softmax(x), rounding(x.shape[-1], dtype=str(x.dtype)), dtype)
    return case(name, (x,), expect=expect, unchanged=unchanged, hint=hint)


def masked(x: np.ndarray, *places: tuple) -> np.ndarray:
    """`x` with −∞, "may not be read", at each of the places."""
    for place in places:
        x[place] = -np.inf
    return x


@lab.check(
    points=5,
    target="softmax(x) -> p",
    refuses=["torch.softmax", "torch.Tensor.softmax", "torch.nn.functional.softmax", "scipy.special.softmax"],
    minutes=4,
)
def softmax(draw: Draw) -> Iterator[Case]:
    """Scores become weights: the softmax along the last axis."""
    axis = "Which numbers must add up to 1? Give both the maximum and the sum `axis=-1, keepdims=True`."
    large = "exp(10,000) is too large for any float. What may be subtracted from a row without changing its softmax?"
    yield softmax_case("one axis", draw.normal(6), hint="Divide the exponentials by their sum.")
    yield softmax_case("two axes: each row by itself", draw.normal(3, 5), hint=axis)
    yield softmax_case(
        "three axes, float32 stays float32",
        draw.normal(2, 3, 7),
        dtype="float32",
        hint="Name the last axis as -1, and let nothing but `x` decide the dtype: NumPy keeps float32 by itself.",
    )
    yield softmax_case("scores near 10,000", draw.normal(4, 9) + np.float32(1e4), hint=large)
    yield softmax_case(
        "one row near 10,000, the next near −10,000",
        draw.normal(2, 5) + np.float32([[1e4], [-1e4]]),
        hint="Each row needs its own maximum: the largest of all scores may be far above a whole row.",
    )
    yield softmax_case(
        "a row that sees nothing",
        masked(draw.normal(3, 6), (1,), (2, slice(4, 6))),
        hint="In a row of −∞ the maximum is −∞, and −∞ − (−∞) is nan. What could be subtracted there, and divided by?",
    )
    yield softmax_case(
        "the caller's array stays as it was",
        draw.normal(3, 4),
        unchanged=True,
        hint="`x -= …` and `x[…] = …` write into the array of whoever called you; `x - …` makes a new one.",
    )


def reference_entries(n: int, n_heads: int, n_layers: int, causal: bool) -> int:
    """Score entries, counted exactly."""
    return n_layers * n_heads * (n * (n + 1) // 2 if causal else n * n)


def entries_case(draw: Draw, what: str, causal: bool, hint: str) -> Case:
    """Twelve calls in one; the place of a wrong entry is the n that gave it."""
    n_heads, n_layers = draw.integers(2, 7), draw.integers(7, 12)
    expect = np.array([reference_entries(n, n_heads, n_layers, causal) for n in range(12)])
    name = f"{what}: n = 0, 1, …, 11 with {n_heads} heads, {n_layers} layers"
    return many(name, [list(range(12))], [n_heads, n_layers, causal], expect=expect, hint=hint)


def whole_number_case(name: str, n: int, n_heads: int, n_layers: int) -> Case:
    """The digits themselves: a float would show its point or its exponent."""
    return script(
        name,
        call(0, n, n_heads, n_layers, True, keep="count"),
        call("count", method="__str__", expect=str(reference_entries(n, n_heads, n_layers, True))),
        hint="`/` gives a float. n(n + 1) is always even, so `//` loses nothing.",
    )


def negative_case(name: str, n: int) -> Case:
    """An impossible length: the error says which argument, and what it was."""
    return case(
        name,
        (n, 2, 3, False),
        raises=Raises("ValueError", ("n", str(n))),
        hint='raise ValueError(f"…"), and let the text name n and the value that it had.',
    )


@lab.check(points=3, target="score_entries(n, n_heads, n_layers, causal) -> int", minutes=3)
def score_entries(draw: Draw) -> Iterator[Case]:
    """How many scores attention computes over n tokens."""
    yield entries_case(draw, "all pairs", False, "A table of n rows and n columns, in each head of each layer.")
    yield entries_case(
        draw,
        "causal",
        True,
        "Row 1 has 1 entry, row 2 has 2, …, row n has n. Is the diagonal in your count, once?",
    )
    yield whole_number_case("131,072 tokens, as a whole number", 131_072, 32, 32)
    yield negative_case("a negative number of tokens", -3)


@lab.check(points=3, target=["bytes_per_token", "gib_at_full_window"], minutes=3)
def cache_by_hand(draw: Draw) -> Iterator[Case]:
    """Two numbers about the cache of Llama-3.1-8B, worked out by hand."""
    yield typed(
        "bytes a token",
        2 * 32 * 8 * 128 * 2,
        target=0,
        hint="Which two vectors does each key–value head keep of each token, and how many bytes is a bfloat16?",
    )
    yield typed(
        "GiB at 131,072 tokens",
        16,
        target=1,
        hint="131,072 is 2¹⁷, and one GiB is 2³⁰ bytes (a GB is 10⁹).",
    )


def weighs_all(ids):
    """Every token and its place count, and so does the length, or a token 0 could be followed by nothing but 0."""
    return (len(ids) + sum((place + 1) * token for place, token in enumerate(ids))) % 97


def allows_five_calls(ids):
    """Counts its calls and stops at the sixth."""
    allows_five_calls.calls = getattr(allows_five_calls, "calls", 0) + 1
    if allows_five_calls.calls > 5:
        raise RuntimeError("next_token was called a sixth time, for five new tokens")
    return 10 * allows_five_calls.calls


def reference_generate(next_token, prompt: list[int], n_new: int) -> list[int]:
    """The new tokens, one after another."""
    ids = list(prompt)
    for _ in range(n_new):
        ids.append(next_token(ids))
    return ids[len(prompt) :]


def whole_sequence_step(prompt: list[int], n_new: int) -> Step:
    """A generation in which each token depends on all before it, and on their order."""
    expect = reference_generate(weighs_all, prompt, n_new)
    return call(0, given(weighs_all), prompt, n_new, expect=expect, unchanged=False)


@lab.check(points=2, target="generate(next_token, prompt, n_new) -> list of the new tokens", minutes=2)
def generate(draw: Draw) -> Iterator[Case]:
    """Decoding, one token after another."""
    yield script(
        "each token depends on all before it",
        whole_sequence_step(draw.integers(1, 50, 5).tolist(), 6),
        hint="Keep one list of the whole sequence, and hand all of it to next_token each time. Return only what is new.",
    )
    prompt = draw.integers(1, 50, 3).tolist()
    yield case(
        "the prompt stays as it was",
        (given(weighs_all), prompt, 4),
        expect=reference_generate(weighs_all, prompt, 4),
        hint="`ids = prompt` is a second name for the caller's list; `list(prompt)` is a list of your own.",
    )
    yield case(
        "five new tokens take five calls",
        (given(allows_five_calls), [1, 2, 3], 5),
        expect=[10, 20, 30, 40, 50],
        unchanged=False,
        hint="A call costs a pass through the whole model: one for each token that you return, and none besides.",
    )


@lab.check(points=2, target=["prediction", "measured"], needs=["generate"], minutes=3)
def prediction(draw: Draw) -> Iterator[Case]:
    """A number locked before it was measured, and the measurement."""
    yield script(
        "a number was locked before measuring",
        read(0, "locked", expect=True),
        hint="Type a guess and a confidence in the cell above. A wrong guess costs nothing.",
    )
    # Without a cache Σ n(n + 1)/2 = 64·65·66/6, with one 64·65/2 = Σ n, n from 1 to 64: their ratio is 66/3.
    yield script(
        "the measured ratio",
        read(1, expect=22),
        hint="The measurement runs your `generate`: does it hand the whole sequence to next_token, once a token?",
    )


def appended(k: np.ndarray, v: np.ndarray) -> list[Step]:
    """A cache in the register "cache", to which the tokens of k and v were appended one by one."""
    return [call(0, keep="cache"), *(call("cache", k[i], v[i], method="append") for i in range(len(k)))]


def reused_buffer_case(name: str, k: np.ndarray, v: np.ndarray) -> Case:
    """Appends a token from two arrays that the caller then overwrites."""
    return script(
        name,
        *appended(k[:1], v[:1]),
        put("k", k[1]),
        put("v", v[1]),
        call("cache", Register("k"), Register("v"), method="append"),
        call("k", 0.0, method="fill"),
        call("v", 0.0, method="fill"),
        call("cache", method="stacked", expect=(k[:2], v[:2])),
        hint="Whoever calls `append` may write the next token into the same array. Whose array does the cache hold then?",
    )


def nbytes_case(name: str, k: np.ndarray, v: np.ndarray, dropped: int = 0) -> Case:
    """The bytes of all that is kept."""
    drop = [call("cache", dropped, method="drop")] if dropped else []
    kept = k[: len(k) - dropped].nbytes + v[: len(v) - dropped].nbytes
    return script(
        name,
        *appended(k, v),
        *drop,
        call("cache", method="nbytes", expect=kept),
        hint="What does the cache keep of each token, besides its key?",
    )


def drop_case(name: str, k: np.ndarray, v: np.ndarray, *dropped: int) -> Case:
    """Drops some tokens, and then none: those that are left must still be there."""
    left = len(k) - sum(dropped)
    return script(
        name,
        *appended(k, v),
        *(call("cache", n, method="drop") for n in dropped),
        call("cache", method="__len__", expect=left),
        call("cache", method="stacked", expect=(k[:left], v[:left])),
        hint="-0 is 0, so `[-0:]` is the whole list. Say where the cut is, counted from the front.",
    )


@lab.check(points=3, target="KVCache", minutes=3)
def cache_bug(draw: Draw) -> Iterator[Case]:
    """A small key–value cache with three wrong lines."""
    k, v = draw.normal(2, 4, 2, 3), draw.normal(2, 4, 2, 3)
    yield reused_buffer_case("the caller overwrites its arrays after append", k[0], v[0])
    yield nbytes_case("the bytes of three tokens", k[1, :3], v[1, :3])
    yield drop_case("dropping none of four tokens leaves four", k[1], v[1], 0)


lab.written(
    "which_wall",
    {
        "Names sequential decoding: for one user, every new token waits for all weights to be read again.": 0.5,
        "Two numbers bear it out: 16.1 GB of weights against 0.27 GB of cache, so about 205 tokens a second at most; "
        "or 4.9 ms to read against 0.02 ms to compute.": 0.5,
        "A remedy that fits: fewer bytes a token (quantised weights) or more tokens a read (speculation; batching, which "
        "helps the total and not this user).": 0.5,
        "Says which number the remedy changes, and by about how much.": 0.5,
    },
)
