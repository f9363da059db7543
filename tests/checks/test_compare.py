"""What is equal passes, what is not fails, and the evidence says why in one line."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.checks.cases import EXACT, Between, Bound, Close, Equal, Raises, rounding, typed
from course_lib.checks.compare import difference, show, unchanged, value_difference
from course_lib.checks.perform import Outcome
from course_lib.checks.values import Tensor

NAN, INF = math.nan, math.inf


def verdict(value, expect):
    return difference(Outcome(value=value), expect)


def evidence(got, want, bound=EXACT):
    return value_difference(got, want, bound).text


finite = st.floats(-1e3, 1e3)


@given(want=finite, absolute=st.floats(1e-6, 1), relative=st.floats(0, 1e-2), sign=st.sampled_from([-1, 1]))
def test_just_inside_a_bound_passes_and_just_outside_fails(want, absolute, relative, sign):
    bound = Bound(absolute, relative)
    allowed = sign * (absolute + relative * abs(want))
    inside, outside = want + allowed * (1 - 1e-6), want + allowed * (1 + 1e-6)
    for form in (
        float,
        np.float64,
        np.array,
        lambda number: np.array([want, number, want]),
        lambda number: [0, number],
    ):
        assert value_difference(form(inside), form(want), bound) is None
        assert value_difference(form(outside), form(want), bound) is not None
        assert value_difference([form(outside)], [form(want)], bound) is not None
        assert value_difference({"a": form(outside)}, {"a": form(want)}, bound) is not None


@given(want=st.integers(-(2**70), 2**70), step=st.sampled_from([-1, 1]))
def test_a_whole_number_of_any_size_is_equal_to_itself_and_to_no_neighbour(want, step):
    assert verdict(want, Equal(want)) is None
    assert verdict(want + step, Equal(want)) is not None


def test_entries_beyond_the_whole_numbers_of_a_float_are_told_apart():
    want = np.array([2**53, 2**63 - 1])
    assert verdict(want.copy(), Equal(want)) is None
    for wrong in (want + np.array([1, 0]), want - np.array([0, 1])):
        assert verdict(wrong, Equal(want)) is not None
        assert verdict(wrong, Close(want, Bound(why="a count is exact"))) is not None
    assert verdict(2**53 + 1, Close(2**53, Bound(why="a count is exact"))) is not None


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8"])
def test_the_extreme_entries_of_every_dtype_are_close_to_themselves(dtype):
    limits = np.finfo(dtype) if dtype[0] == "f" else np.iinfo(dtype)
    ends = np.array([limits.min, 0, limits.max], dtype)
    assert verdict(ends.copy(), Close(ends, Bound(relative=0.1))) is None
    assert verdict(ends.copy(), Close(ends, Bound(absolute=0.5))) is None


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**5000], ids=["1e400", "-1e400", "1e5000"])
@pytest.mark.parametrize(
    "expect",
    [
        Equal(5),
        Equal("five"),
        Equal([5]),
        Equal(np.array(5.0)),
        Close(5.0, rounding(3)),
        Between(0, 9),
        typed("n", 5).steps[0].expect,
        typed("x", 5, digits=2).steps[0].expect,
    ],
    ids=lambda expect: str(expect)[:24],
)
def test_a_number_too_large_for_a_float_is_wrong_and_stops_nobody(huge, expect):
    for got in (huge, [huge], {"a": huge}):
        assert len(verdict(got, expect).text) < 300


@pytest.mark.parametrize(("got", "want"), [(True, 1), (1, True), (0, False), (False, 0.0), (True, 1 + 0j)])
def test_a_bool_is_not_a_number(got, want):
    assert verdict(got, Equal(want)) is not None
    assert verdict([got], Equal([want])) is not None
    assert verdict(np.array([got, got]), Equal(np.array([want, want]))) is not None
    assert verdict([got, got], Equal(np.array([want, want]))) is not None


@pytest.mark.parametrize(
    ("got", "want"),
    [
        ([1, 2.5], (1, 2.5)),
        ((1, 2), [1, 2]),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
        ([0.5, 2], np.array([0.5, 2])),
        (np.array([1, 2]), [1, 2]),
        (np.array(3), 3),
        (3.0, 3),
        (3, np.array(3.0)),
        (Tensor(np.array(3.0, "f4"), "float32"), 3),
        (Tensor(np.array([1, 2]), "int64"), np.array([1.0, 2.0])),
        ([Tensor(np.array(1.0), "float64"), np.array(2)], [1, 2]),
        ({1, 2}, {2, 1}),
        ({"b": 1, "a": [2]}, {"a": (2,), "b": 1.0}),
        ([], ()),
        (1 + 0j, 1),
        (NAN, NAN),
        (np.array([NAN, INF, -INF, -0.0]), np.array([NAN, INF, -INF, 0.0])),
        (np.zeros((0, 3)), np.zeros((0, 3))),
    ],
    ids=lambda value: show(value),
)
def test_the_same_thing_in_another_honest_form_is_equal(got, want):
    assert verdict(got, Equal(want)) is None


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (NAN, 1.0),
        (1.0, NAN),
        (INF, 1.0),
        (1.0, INF),
        (-INF, INF),
        (NAN, INF),
        (INF, NAN),
        (1j * NAN, 1j),
        (1, "1"),
        ("a", "A"),
        ("", None),
        (None, 0),
        (0, None),
        ([], None),
        (b"a", "a"),
        ({1}, [1]),
        ([1], {1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": None}, {"b": None}),
        ([1, 2], [1]),
        ([1], [1, 2]),
        ([[1]], [1]),
        (5, [5]),
        ([5], 5),
        (np.array([5]), 5),
    ],
    ids=lambda value: show(value),
)
def test_what_differs_is_not_equal_under_any_bound(got, want):
    for bound in (EXACT, Bound(1e300, 1e300)):
        assert value_difference(got, want, bound) is not None
        assert value_difference([0, got], [0, want], bound) is not None


@pytest.mark.parametrize(
    ("got", "want", "text"),
    [
        (None, [1], "got None (is a `return` missing?), expected a list of 1 items"),
        (None, np.zeros(2), "got None (is a `return` missing?), expected an array of shape (2,)"),
        ([1, [2]], np.zeros((2, 2)), "got a list of 2 items, expected an array of shape (2, 2)"),
        ("ab", np.zeros(2), "got 'ab', expected an array of shape (2,)"),
        ({"a": 1}, np.zeros(2), "got a dict, expected an array of shape (2,)"),
        (np.zeros((3, 5)), np.zeros((5, 3)), "shape (3, 5), expected (5, 3)"),
        (np.zeros(2), np.array([True, False]), "got entries of type float64, expected bool"),
        (np.zeros(2), Tensor(np.zeros(2), "float64"), "got an array of shape (2,), expected a torch tensor"),
        ([1, 2], (1, 2, 3), "2 items, expected 3: got [1, 2], expected (1, 2, 3)"),
        ([1, [2, "b"]], [1, [2, "a"]], "at [1][1]: got 'b', expected 'a'"),
        ({"w": [0, 7]}, {"w": [0, 8]}, "at ['w'][1]: got 7, expected 8"),
        (1.25, 1.0, "got 1.25, expected 1"),
        (NAN, 1.0, "got nan, expected 1"),
        (True, 1, "got True, expected 1"),
    ],
)
def test_evidence_says_in_a_line_what_came_and_what_was_expected(got, want, text):
    assert evidence(got, want).startswith(text)


def test_a_missing_return_is_named_for_a_number_as_for_an_array():
    assert all("return" in evidence(None, want) for want in (3, 2.5, "text", True, {"a": 1}, {1}, np.array(3.0)))


def test_evidence_about_an_array_points_at_the_largest_error_and_counts():
    want = np.arange(6.0).reshape(2, 3)
    got = want + np.array([[0, 0.01, 0], [0, 0, -0.5]])
    found = value_difference(got, want, Bound(1e-3, why="4·ε"))
    text = "largest error 0.5 at [1, 2]: got 4.5, expected 5; 2 of 6 entries wrong (allowed 0.001: 4·ε)"
    assert found.text == text
    assert found.wrong.tolist() == [[0, pytest.approx(0.01), 0], [0, 0, 0.5]]


def test_evidence_about_nan_tells_whose_it_is():
    want = np.array([1.0, 2.0, NAN])
    assert evidence(np.array([NAN, 2.0, NAN]), want) == "nan in 1 of 3 entries, first at [0]; expected a number (1)"
    assert evidence(np.array([1.0, 2.0, 3.0]), want) == "3 in 1 of 3 entries, first at [2]; expected nan"
    assert np.isnan(value_difference(np.array([NAN, 2.0, NAN]), want).wrong).tolist() == [True, False, False]


def test_evidence_about_infinity_and_about_bools_claims_no_size_of_error():
    assert evidence(np.array([1.0, INF]), np.array([1.0, 2.0])).startswith("wrong at [1]: got inf, expected 2")
    assert evidence(np.array([True, True]), np.array([True, False])).startswith(
        "wrong at [1]: got True, expected False"
    )


def test_evidence_stays_short_however_long_the_values_are():
    assert len(evidence(list(range(10**5)), [1])) < 200
    assert len(evidence("x" * 10**5, "y" * 10**5)) < 200
    assert len(evidence(np.zeros((50, 60, 7)), np.ones((50, 60, 7)))) < 200


def test_close_with_a_dtype_wants_that_dtype_of_arrays_and_tensors():
    expect = Close(np.ones(3), rounding(3), "float32")
    assert verdict(np.ones(3, "f4"), expect) is None
    assert verdict(np.ones(3), expect).text == "dtype float64, expected float32"
    assert verdict(Tensor(np.ones(3, "f4"), "bfloat16"), expect).text == "dtype bfloat16, expected float32"
    assert verdict(np.ones(3), Close(np.ones(3), rounding(3))) is None
    assert verdict(np.zeros(3, "f4"), expect).text.startswith("largest error 1")


def raised(*kinds, text="", line=None):
    return Outcome(raised={"kinds": list(kinds), "text": text, "line": line})


def test_raises_is_met_by_the_error_or_a_subclass_that_mentions_the_words():
    expect = Raises("ValueError", ("n", "-3"))
    assert difference(raised("ValueError", text="N is -3"), expect) is None
    assert difference(raised("UnicodeError", "ValueError", "Exception", text="n = -3"), expect) is None
    assert "does not mention -3" in difference(raised("ValueError", text="n is negative"), expect).text
    assert "expected a ValueError" in difference(raised("TypeError", "Exception", text="n is -3"), expect).text
    assert verdict(-3, expect).text == "raises nothing, expected a ValueError"
    assert difference(Outcome(refused="torch.softmax"), expect) is not None
    assert difference(Outcome(unsendable="a generator"), expect) is not None


def test_an_exception_is_evidence_with_its_line():
    line = {"function": "softmax", "number": 3, "source": "return x / y"}
    text = difference(raised("ZeroDivisionError", text="division by zero", line=line), Equal(1)).text
    assert text == "raises ZeroDivisionError in line 3 of softmax: division by zero  ← return x / y"
    assert difference(raised("KeyError"), Equal(1)).text == "raises KeyError: (no text)"
    assert difference(raised("NotImplementedError", "RuntimeError"), Equal(1)).text == "not written yet"


def test_what_was_raised_refused_or_unsendable_fails_even_where_nothing_is_expected():
    assert difference(Outcome(), None) is None
    for outcome in (raised("KeyError"), Outcome(refused="torch.softmax"), Outcome(unsendable="a generator")):
        assert difference(outcome, None) is not None
        assert difference(outcome, Equal(None)) is not None


@pytest.mark.parametrize(
    "inside", [2, 5.0, 3.3, [2, 5], np.array([[2.5, 4]]), Tensor(np.array(3), "int64"), 2 + 2**-50]
)
def test_between_is_met_by_numbers_from_low_to_high(inside):
    assert verdict(inside, Between(2, 5)) is None


@pytest.mark.parametrize(
    "outside",
    [
        *(2 - 1e-9, 5 + 1e-9, NAN, INF, None, True, "3", 3 + 0j, {"a": 3}, {3}),
        *([], [3, 6], [3, None], [[3], [3, 4]]),
        *(np.zeros(0), np.array([3, NAN]), np.array([True]), Tensor(np.array([6]), "int64")),
    ],
    ids=repr,
)
def test_between_is_met_by_nothing_else(outside):
    assert verdict(outside, Between(2, 5)) is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (np.arange(3.0), np.array([0, 1, 2.5])),
        (np.array([NAN, 1]), np.array([NAN, 2])),
        (np.zeros(3), np.zeros((3, 1))),
        (np.array([2**60]), np.array([2**60 + 1])),
        (Tensor(np.zeros(2), "float64"), Tensor(np.ones(2), "float64")),
        ([1, 2], [1, 2, 3]),
        ([3, 1], [1, 3]),
        ([[1], [2]], [[1], [9]]),
        ({"a": [1]}, {"a": [2]}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({1, 2}, {1}),
        ([None], [0]),
    ],
    ids=lambda value: show(value),
)
def test_a_changed_argument_is_noticed_and_counted_from_one(before, after):
    assert unchanged((5, before), (None, before)) is None
    assert "argument 2" in unchanged((5, before), (None, after)).text
