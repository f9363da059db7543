"""How an author writes cases: what is said is what is judged, and a case that could not fail is refused."""

import functools

import numpy as np
import pytest

from course_lib.checks.cases import (
    Between,
    Bound,
    Close,
    Equal,
    Raises,
    Sealed,
    Step,
    call,
    case,
    given,
    many,
    read,
    rounding,
    script,
    seal,
    typed,
)

NAN = float("nan")


@pytest.mark.parametrize("numbers", [(-1.0, 0.0), (0.0, -1e-9), (NAN, 0.0), (0.0, NAN), (float("inf"), 0.0)])
def test_a_bound_is_finite_and_not_negative(numbers):
    with pytest.raises(ValueError, match="finite absolute, relative ≥ 0"):
        Bound(*numbers)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("terms", [1, 7, 1000])
def test_rounding_covers_the_sum_that_it_is_derived_for(dtype, terms):
    numbers = np.random.default_rng(5).uniform(-1, 1, terms).astype(dtype)
    total = functools.reduce(lambda a, b: np.add(a, b, dtype=dtype), numbers)
    bound = rounding(terms, dtype=dtype)
    assert abs(float(total) - numbers.astype("f8").sum()) <= bound.absolute
    assert bound.absolute == 4 * np.finfo(dtype).eps * terms**0.5
    assert rounding(terms, 30.0, dtype).absolute == pytest.approx(30 * bound.absolute)
    assert str(terms) in bound.why
    assert dtype in bound.why


def test_rounding_needs_a_term():
    with pytest.raises(ValueError, match="terms must be at least 1, got 0"):
        rounding(0)


@pytest.mark.parametrize(
    ("said", "expectation"),
    [
        ({"expect": 3}, Equal(3)),
        ({"expect": None}, Equal(None)),
        ({"expect": 3.0, "bound": Bound(0.1)}, Close(3.0, Bound(0.1))),
        ({"expect": Between(1, 2)}, Between(1, 2)),
        ({"expect": Close(1.0, Bound(), "float32")}, Close(1.0, Bound(), "float32")),
        ({"raises": "KeyError"}, Raises("KeyError")),
        ({"raises": Raises("ValueError", ("n",))}, Raises("ValueError", ("n",))),
    ],
)
def test_what_is_said_of_a_case_is_what_is_expected_of_it(said, expectation):
    assert case("c", (1,), **said).steps[0].expect == expectation
    assert call(0, 1, **said).expect == expectation


def test_a_case_that_expects_nothing_could_not_fail_and_is_refused():
    with pytest.raises(ValueError, match="'idle' expects nothing"):
        script("idle", call(0, 1), read(0))
    with pytest.raises(ValueError, match="'idle' expects nothing"):
        script("idle")
    with pytest.raises(ValueError, match="idle"):
        case("idle", (1,))


def test_a_case_of_no_calls_could_not_fail_and_is_refused():
    with pytest.raises(ValueError, match="stacked"):
        many("none", [[]], expect=np.zeros(0))


def test_stacked_arguments_have_one_length():
    with pytest.raises(ValueError, match=r"one length, got \[2, 3\]"):
        many("ragged", [[1, 2], [1, 2, 3]], expect=np.zeros(2))
    with pytest.raises(ValueError, match="one length"):
        many("nothing", [], expect=np.zeros(2))


@pytest.mark.parametrize(
    "step",
    [
        call(0, 1, expect=3),
        call(0, 1, expect=Close(3, Bound())),
        call(0, 1, expect=Between(1, 2)),
        call(0, 1, raises="ValueError"),
        typed("t", 7).steps[0],
    ],
    ids=lambda step: type(step.expect).__name__,
)
def test_the_step_that_is_sent_holds_no_expectation(step):
    sent = step.without_expectation()
    assert sent.expect is None
    assert sent.wanted is not isinstance(step.expect, Raises)
    assert (sent.kind, sent.target, sent.args) == (step.kind, step.target, step.args)
    assert not Step("call", 0).without_expectation().wanted


def passes(value, *wanted, **options):
    expect = typed("salt", *wanted, **options).steps[0].expect
    assert isinstance(expect, Sealed)
    return seal(value, expect.digits, expect.salt) in expect.digests


@pytest.mark.parametrize(
    ("value", "wanted", "digits"),
    [
        (16, 16, None),
        (16.0, 16, None),
        (16, 16.0, None),
        (-0.0, 0, None),
        (0.1, 0.1, None),
        (2**70, 2**70, None),
        (131_072.4, 131_072, 3),
        (131_499, 131_072, 3),
        (1.3149e-7, 1.31e-7, 3),
        (-2.04, -2, 2),
        (9.996, 10, 3),
        (float("inf"), float("inf"), 3),
        ("Memory  bandwidth ", "memory bandwidth", None),
        (True, True, None),
        ([1, "a"], [1, "a"], None),
    ],
)
def test_a_typed_answer_is_right_to_its_digits(value, wanted, digits):
    assert passes(value, wanted, digits=digits)


@pytest.mark.parametrize(
    ("value", "wanted", "digits"),
    [
        (17, 16, None),
        (16 + 1e-9, 16, None),
        (131_501, 131_072, 3),
        (130_499, 131_072, 3),
        (131_072, -131_072, 3),
        (1.31e-7, 1.31e-6, 3),
        (NAN, 16, 3),
        (NAN, 16, None),
        (float("inf"), 16, 3),
        (True, 1, None),
        (1, True, None),
        (True, 1, 2),
        ("true", True, None),
        (None, 0, None),
        ("", 0, None),
        ([16], 16, None),
        (16 + 0j, 16, None),
        ("memorybandwidth", "memory bandwidth", None),
    ],
)
def test_a_typed_answer_that_is_wrong_is_wrong(value, wanted, digits):
    assert not passes(value, wanted, digits=digits)


def test_several_typed_answers_may_be_right():
    assert [passes(value, 10, also=(10.7, "ten")) for value in (10, 10.7, "Ten", 11)] == [True, True, True, False]


def test_the_same_number_in_two_cases_has_two_digests():
    assert typed("a", 7).steps[0].expect.digests != typed("b", 7).steps[0].expect.digests


def twice(f, x):
    import math

    return math.floor(f(f(x)))


def test_a_given_function_works_from_its_source_alone():
    sent = given(twice)
    assert sent.compile()(lambda x: x + 0.75, 1) == 2

    def halve(x):
        return x / 2

    assert given(halve).compile()(3) == 1.5


def test_a_given_function_with_a_closure_is_refused():
    factor = 3

    def scale(x):
        return factor * x

    with pytest.raises(ValueError, match=r"'scale' uses .*factor.*stand alone"):
        given(scale)


def test_a_given_function_that_has_no_name_is_refused():
    with pytest.raises(ValueError, match="lambda"):
        given(lambda x: x + 1)
