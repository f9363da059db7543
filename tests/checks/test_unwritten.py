"""No expectation is met by an exercise that nobody has written: an untouched release scores nothing."""

import math

import numpy as np
import pytest
import torch

from course_lib.checks.cases import (
    Between,
    Bound,
    Close,
    Raises,
    Register,
    call,
    case,
    many,
    put,
    read,
    rounding,
    script,
    typed,
)

NUMBERS = np.array([[0.5, -2, 7], [1, 0, 3]])
EXPECTATIONS = [
    case("an array", (NUMBERS,), expect=2 * NUMBERS),
    case("an array within a bound", (NUMBERS,), expect=2 * NUMBERS, bound=rounding(3)),
    case("an array without entries", (np.zeros((0, 3)),), expect=np.zeros((0, 3))),
    case("an array without axes", (np.array(3.0),), expect=np.array(6.0)),
    case("a tensor", (torch.ones(3),), expect=torch.full((3,), 2.0)),
    case("a dtype", (NUMBERS,), expect=Close(2 * NUMBERS, Bound(1.0), "float64")),
    case("nan", (math.nan,), expect=math.nan),
    case("zero", (0,), expect=0),
    case("zero within a bound", (0,), expect=0.0, bound=Bound(1.0)),
    case("False", (1,), expect=False),
    case("an empty text", ("",), expect=""),
    case("an empty list", ([],), expect=[]),
    case("an empty tuple", ((),), expect=()),
    case("an empty dict", ({},), expect={}),
    case("an empty set", (set(),), expect=set()),
    case("a pair", (1,), expect=(1, NUMBERS)),
    case("a number in a range", (1,), expect=Between(-1e9, 1e9)),
    case("an error", (-1,), raises="ValueError"),
    case("an error with words", (-1,), raises=Raises("ValueError", ("n", "-1"))),
    case("a general error", (-1,), raises="RuntimeError"),
    case("any error", (-1,), raises="Exception"),
    case("an error in abstract code", (-1,), raises="NotImplementedError"),
    many("many numbers", [[1, 2, 3]], expect=np.array([2, 4, 6])),
    many("many arrays", [NUMBERS], expect=2 * NUMBERS, bound=rounding(3)),
    script("a handle", call(0, keep="h"), call("h", 1, method="add", expect=1)),
    script("an attribute", call(0, keep="h"), read("h", "count", expect=0)),
    script("a value put before", put("x", NUMBERS), call(0, Register("x"), expect=2 * NUMBERS)),
    typed("a number typed", 16),
    typed("zero typed", 0),
    typed("rounded", 1.31e5, digits=3),
    typed("a text typed", "memory bandwidth"),
    typed("a truth typed", False),
    typed("a list typed", []),
]


class Unwritten:
    """A class whose methods are to be written."""

    def __init__(self, *args):
        pass

    def add(self, *args):
        pass


def raises_not_implemented(*args, **kwargs):
    raise NotImplementedError


def says_so(*args, **kwargs):
    raise NotImplementedError("n = -1 is not written yet")


ANSWERS = {
    "raises NotImplementedError": raises_not_implemented,
    "raises it with words": says_so,
    "returns None": lambda *args, **kwargs: None,
    "returns an ellipsis": lambda *args, **kwargs: ...,
    "returns NotImplemented": lambda *args, **kwargs: NotImplemented,
    "is None": None,
    "is an ellipsis": ...,
    "is a class with empty methods": Unwritten,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("ask", EXPECTATIONS, ids=lambda ask: ask.name)
def test_an_unwritten_answer_meets_no_expectation(judged, ask, answer):
    result = judged(ask, answer)
    assert not result.passed
    assert result.difference.text


@pytest.mark.parametrize("blank", [None, ...], ids=repr)
def test_a_blank_that_was_left_is_called_unanswered(judged, blank):
    assert judged(typed("a", 16), blank).difference.text == "not answered yet"


def test_a_stub_is_called_not_written_yet(judged):
    for ask in (
        EXPECTATIONS[0],
        many("many", [[1, 2]], expect=np.array([2, 4])),
        case("error", (1,), raises="ValueError"),
    ):
        assert judged(ask, raises_not_implemented).difference.text.startswith("not written yet")


def test_an_answer_that_returns_its_argument_is_told_from_one_that_answers(judged):
    asks = [
        ask for ask in EXPECTATIONS if ask.name in ("an array", "a tensor", "a pair", "many numbers", "many arrays")
    ]
    assert len(asks) == 5
    for ask in asks:
        assert not judged(ask, lambda x: x).passed, ask.name
