"""What a step gave beside what it should give: equal or not, and if not, the most telling difference in one line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.checks.cases import (
    EXACT,
    Between,
    Bound,
    Close,
    Expectation,
    Frequencies,
    Given,
    Raises,
    Register,
    Sealed,
)
from course_lib.checks.frequencies import as_draws, p_value, tally
from course_lib.checks.perform import Outcome
from course_lib.checks.sealing import LARGEST_BITS, seal
from course_lib.checks.values import Tensor

SHOWN = 60
UNWRITTEN, BLANK = "not written yet", "not answered yet"


@dataclass(frozen=True)
class Difference:
    """Why a result is not what was expected. `wrong` marks the wrong entries of an array: NaN where it is NaN, else the error."""

    text: str
    wrong: np.ndarray | None = None
    allowed: float = 0.0


def difference(outcome: Outcome, expect: Expectation | None) -> Difference | None:
    """None when the outcome meets the expectation. No expectation is met by anything that did not go wrong."""
    if outcome.refused:
        return Difference(f"calls {outcome.refused}, which this exercise asks you to write yourself")
    if isinstance(expect, Raises):
        return _raises_difference(outcome, expect)
    if outcome.raised:
        return Difference(_raised_text(outcome.raised))
    if outcome.unsendable:
        return Difference(outcome.unsendable)
    if expect is None:
        return None
    if isinstance(expect, Sealed):
        return _sealed_difference(outcome.value, expect)
    if isinstance(expect, Between):
        return _between_difference(outcome.value, expect)
    if isinstance(expect, Frequencies):
        return _frequencies_difference(outcome.value, expect)
    if isinstance(expect, Close):
        found = value_difference(outcome.value, expect.value, expect.bound)
        return found or _dtype_difference(outcome.value, expect.dtype)
    return value_difference(outcome.value, expect.value, EXACT)


def value_difference(got: Any, want: Any, bound: Bound = EXACT, path: str = "") -> Difference | None:
    """Compares plain data. A list may stand for a tuple, and a list of numbers for an array; a bool is not a number."""
    where = f"at {path}: " if path else ""
    if got is None and want is not None:
        return Difference(f"{where}got {describe(got)}, expected {describe(want)}")
    if isinstance(want, np.ndarray | Tensor):
        return _array_difference(got, want, bound, where)
    if isinstance(got, Tensor):
        got = got.array
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got.item()
    if isinstance(want, list | tuple):
        if isinstance(got, np.ndarray):
            got = got.tolist()
        if not isinstance(got, list | tuple):
            return Difference(f"{where}got {describe(got)}, expected {describe(want)}")
        if len(got) != len(want):
            return Difference(f"{where}{len(got)} items, expected {len(want)}: got {show(got)}, expected {show(want)}")
        pairs = ((f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(got, want, strict=True)))
        return next((found for at, a, b in pairs if (found := value_difference(a, b, bound, at))), None)
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            return Difference(f"{where}got {show(got)}, expected {show(want)}")
        pairs = ((f"{path}[{key!r}]", got[key], want[key]) for key in want)
        return next((found for at, a, b in pairs if (found := value_difference(a, b, bound, at))), None)
    if _is_number(want) and _is_number(got):
        return _number_difference(got, want, bound, where)
    if type(got) is type(want) and got == want:
        return None
    return Difference(f"{where}got {show(got)}, expected {show(want)}")


def unchanged(before: tuple, after: tuple | None, names: Sequence = ()) -> Difference | None:
    """Whether arguments are what they were before a call; `names` says what to call each, by default its number."""
    for i, (old, new) in enumerate(zip(before, after or (), strict=False)):
        if new is not None and not _same(old, new):
            name = names[i] if names else i + 1
            return Difference(f"changes its argument {name}, which belongs to the caller: work on a copy")
    return None


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, Register | Given):
        return True  # an object of the student's own, or a function
    if isinstance(old, list | tuple):
        return type(old) is type(new) and len(old) == len(new) and all(map(_same, old, new))
    if isinstance(old, dict):
        return isinstance(new, dict) and old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    return value_difference(new, old) is None


def show(value: Any) -> str:
    """A value in at most one short line."""
    if isinstance(value, Tensor):
        value = value.array
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        return f"a whole number of {value.bit_length():,} bits"
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=4, threshold=6, edgeitems=2, separator=" ").replace("\n", "")
    elif isinstance(value, float):
        text = f"{value:.6g}"
    else:
        try:
            text = repr(value)
        except ValueError:  # a list that holds a whole number too long to print
            text = f"a {type(value).__name__} of {len(value)} items"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def describe(value: Any) -> str:
    """What kind of thing a value is."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {value.array.shape}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if value is None:
        return "None (is a `return` missing?)"
    article = "an" if type(value).__name__[0] in "aeiou" else "a"
    size = f" of {len(value)} items" if isinstance(value, list | tuple) else ""
    return f"{article} {type(value).__name__}{size}" if size or isinstance(value, dict | set) else show(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _number_difference(got: Any, want: Any, bound: Bound, where: str) -> Difference | None:
    if got == want or (got != got and want != want):
        return None
    try:
        error = abs(got - want)
        allowed = bound.absolute + (bound.relative * abs(want) if abs(want) < math.inf else 0.0)
    except OverflowError:  # beyond a float, where only equality is close
        error, allowed = math.inf, 0.0
    if not bound.exact and error <= allowed:
        return None
    return Difference(f"{where}got {show(got)}, expected {show(want)}{_limit_text(allowed, bound)}")


def _array_difference(got: Any, want: Any, bound: Bound, where: str) -> Difference | None:
    reference = want.array if isinstance(want, Tensor) else want
    if isinstance(want, Tensor) and not isinstance(got, Tensor):
        return Difference(f"{where}got {describe(got)}, expected a torch tensor")
    array = got.array if isinstance(got, Tensor) else _as_array(got)
    if array is None:
        return Difference(f"{where}got {describe(got)}, expected an array of shape {reference.shape}")
    if (array.dtype == bool) != (reference.dtype == bool):
        return Difference(f"{where}got entries of type {array.dtype}, expected {reference.dtype}")
    if array.shape != reference.shape:
        return Difference(f"{where}shape {array.shape}, expected {reference.shape}")
    if reference.dtype == bool or (bound.exact and reference.dtype.kind in "iu" and array.dtype.kind in "iu"):
        return _entry_difference(array, reference, np.where(array == reference, 0.0, np.inf), bound, where)
    wide = complex if "c" in (array.dtype.kind, reference.dtype.kind) else float
    a, b = array.astype(wide), reference.astype(wide)
    with np.errstate(invalid="ignore"):
        error = np.abs(a - b)
    error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, error)
    return _entry_difference(array, reference, error, bound, where)


def _entry_difference(
    got: np.ndarray, want: np.ndarray, error: np.ndarray, bound: Bound, where: str
) -> Difference | None:
    magnitude = np.abs(want.astype(complex))  # not of the integers themselves: −(−128) is no int8
    allowed = bound.absolute + bound.relative * np.where(np.isfinite(magnitude), magnitude, 0.0)
    with np.errstate(invalid="ignore"):
        fine = error <= allowed
    if np.all(fine):
        return None
    wrong = np.where(fine, 0.0, error)
    limit = float(np.max(allowed))
    if want.ndim == 0:
        return Difference(f"{where}got {show(got.item())}, expected {show(want.item())}{_limit_text(limit, bound)}")
    missing = np.isnan(wrong)
    if np.any(missing):
        got_missing = np.isnan(got.astype(complex)) & missing
        one_nan, finite = (got_missing, "a number") if np.any(got_missing) else (missing, "nan")
        at = tuple(int(i) for i in np.argwhere(one_nan)[0])
        got_name = "nan" if np.any(got_missing) else show(got[at].item())
        text = (
            f"{where}{got_name} in {int(np.sum(one_nan))} of {got.size} entries, first at {list(at)}; expected {finite}"
        )
        return Difference(f"{text} ({show(want[at].item())})" if finite == "a number" else text, wrong, limit)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    count = int(np.sum(wrong > 0))
    largest = f"largest error {np.max(wrong):.2g}" if np.isfinite(np.max(wrong)) else "wrong"
    text = f"{where}{largest} at {list(at)}: got {show(got[at].item())}, expected {show(want[at].item())}"
    return Difference(f"{text}; {count} of {got.size} entries wrong{_limit_text(limit, bound)}", wrong, limit)


def _limit_text(limit: float, bound: Bound) -> str:
    if limit == 0:
        return ""
    return f" (allowed {limit:.1g}" + (f": {bound.why})" if bound.why else ")")


def _as_array(value: Any) -> np.ndarray | None:
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        return None
    return array if array.dtype.kind in "biufc" and value is not None else None


def _dtype_difference(got: Any, dtype: str | None) -> Difference | None:
    name = got.dtype if isinstance(got, Tensor) else str(getattr(got, "dtype", dtype))
    return None if dtype is None or name == dtype else Difference(f"dtype {name}, expected {dtype}")


def _raises_difference(outcome: Outcome, expect: Raises) -> Difference | None:
    if outcome.unsendable:
        return Difference(outcome.unsendable)
    if outcome.raised is None:
        return Difference(f"raises nothing, expected a {expect.error}")
    if outcome.raised["kinds"][0] == "NotImplementedError":  # what a stub raises is never the answer
        return Difference(_raised_text(outcome.raised))
    if expect.error not in outcome.raised["kinds"]:
        return Difference(f"{_raised_text(outcome.raised)}; expected a {expect.error}")
    absent = [word for word in expect.mentions if word.casefold() not in outcome.raised["text"].casefold()]
    if absent:
        return Difference(
            f"raises {expect.error}, but its text {outcome.raised['text']!r} does not mention {', '.join(absent)}"
        )
    return None


def _raised_text(raised: dict) -> str:
    kind, line = raised["kinds"][0], raised["line"]
    if kind == "NotImplementedError":
        return UNWRITTEN
    at = f" in line {line['number']} of {line['function']}" if line else ""
    source = f": {line['source']}" if line and line["source"] else ""
    return f"raises {kind}{at}: {raised['text'] or '(no text)'}{source and '  ←' + source[1:]}"


def _sealed_difference(got: Any, expect: Sealed) -> Difference | None:
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got.item()
    if got is None or got is ...:
        return Difference(BLANK)
    if seal(got, expect.digits, expect.salt) in expect.digests:
        return None
    to = f" to {expect.digits} significant digits" if expect.digits else ""
    return Difference(f"{show(got)} is not it{to}")


def _between_difference(got: Any, expect: Between) -> Difference | None:
    array = got.array if isinstance(got, Tensor) else _as_array(got)
    if array is None or array.dtype.kind not in "iuf" or array.size == 0:
        return Difference(f"got {describe(got)}, expected a number from {expect.low:g} to {expect.high:g}")
    outside = ~((array >= expect.low) & (array <= expect.high))
    if not np.any(outside):
        return None
    return Difference(f"got {show(array[outside].flat[0].item())}, expected {expect.low:g} to {expect.high:g}")


def _frequencies_difference(got: Any, expect: Frequencies) -> Difference | None:
    array = as_draws(got, expect)
    shape = (expect.draws, *expect.outcomes.shape[1:])
    if array is None:
        kind = f" and type {got.dtype}" if isinstance(got, np.ndarray) else ""
        return Difference(f"got {describe(got)}{kind}, expected whole numbers of shape {shape}")
    counts, strange, strays = tally(array, expect)
    if strange is not None:
        name = strange if len(shape) > 1 else strange[0]
        return Difference(f"{name} came up in {strays:,} of {expect.draws:,} draws, expected never")
    if p_value(counts, expect.probabilities) >= expect.error:
        return None
    off = np.abs(counts - expect.draws * expect.probabilities) / np.sqrt(expect.probabilities + (counts == 0))
    worst = int(np.argmax(off))
    outcome = expect.outcomes[worst].tolist()
    share, want = counts[worst] / expect.draws, expect.probabilities[worst]
    return Difference(f"{outcome} in {share:.1%} of {expect.draws:,} draws, expected {want:.1%}")


__all__ = ["Difference", "describe", "difference", "show", "unchanged", "value_difference"]
