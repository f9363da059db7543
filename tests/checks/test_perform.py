"""A student's code gets what a case says, in copies of its own, and what it did comes back as data."""

import sys
import warnings

import numpy as np
import pytest
import torch

from course_lib.checks.cases import Given, Raises, Register, call, case, many, put, read, script
from course_lib.checks.perform import PRINTED_LIMIT, TEXT_LIMIT, ask_here

COUNTER = """
class Counter:
    def __init__(self, start=0):
        self.count, self.log = start, []

    def add(self, n=1):
        self.count += n
        self.log.append(n)
        return self

    @property
    def broken(self):
        raise LookupError("no such count")
"""


@pytest.fixture
def counter(cell):
    return cell(COUNTER)["Counter"]


def outcomes(targets, *steps):
    return ask_here([step.without_expectation() for step in steps], targets)


def test_a_register_keeps_an_object_for_later_steps(judged, counter):
    steps = [
        call(0, 5, keep="a"),
        call(0, keep="b"),
        call("a", 2, method="add", keep="same"),
        call("b", method="add"),
        read("a", "count", expect=7),
        read("same", "log", expect=[2]),
        read("b", "count", expect=1),
    ]
    assert judged(script("two counters", *steps), counter).passed
    assert not judged(script("two counters", *steps[:-1], read("b", "count", expect=2)), counter).passed


def test_a_register_may_stand_anywhere_in_the_arguments(judged, counter):
    def total(parts, **more):
        return sum(part.count for part in [*parts["all"], *more.values()])

    made = [call(0, 1, keep="a"), call(0, 20, keep="b")]
    where = call(1, {"all": (Register("a"), Register("b"))}, kwargs={"c": Register("a")}, expect=22)
    assert judged(script("in a tuple in a dict", *made, where), counter, total).passed


@pytest.mark.parametrize(
    "kept", [[1, 2], {"a": 1}, {1, 2}, np.arange(3), torch.arange(3)], ids=lambda kept: type(kept).__name__
)
def test_a_register_may_hold_data_and_is_not_taken_for_a_change_of_the_argument(judged, kept):
    steps = [call(0, keep="k"), call(1, Register("k"), expect=len(kept))]
    assert judged(script("data in a register", *steps), lambda: kept, len).passed


def test_a_list_may_hold_registers_and_functions(judged, counter):
    steps = [call(0, 4, keep="a"), call(1, [Register("a"), Given("f", "def f(x): return 2 * x")], expect=8)]
    assert judged(script("a list of both", *steps), counter, lambda pair: pair[1](pair[0].count)).passed


def test_a_value_that_is_put_in_a_register_is_shared_by_the_steps_that_name_it(judged):
    def add_to(total, n):
        total += n
        return float(total.sum())

    shared = [put("t", np.zeros(3)), *(call(0, Register("t"), n, expect=3.0 * want) for n, want in ((1, 1), (2, 3)))]
    ask = script("shared", *shared, read("t", expect=np.full(3, 3.0)))
    assert judged(ask, add_to).passed
    assert judged(ask, add_to).passed  # with zeros of its own
    assert not judged(ask, lambda total, n: add_to(total.copy(), n)).passed


def test_methods_and_attributes_are_looked_up_when_their_step_comes(judged, counter):
    steps = [call(0, keep="a"), read("a", "count", expect=0), call("a", 3, method="add"), read("a", "count", expect=3)]
    assert judged(script("before and after", *steps), counter).passed
    assert "raises AttributeError" in judged(script("none", read(0, "size", expect=1)), counter).difference.text
    steps = [call(0, keep="a"), read("a", "broken", expect=1)]
    assert "raises LookupError" in judged(script("broken", *steps), counter).difference.text


def test_a_read_step_looks_at_the_answer_itself(judged):
    assert judged(script("typed", read(1, expect=[1, 2])), None, [1, 2]).passed
    assert not judged(script("typed", read(1, expect=[1, 2])), [1, 2], None).passed


def test_keywords_arrive_as_keywords(judged):
    def spread(*args, **kwargs):
        return [list(args), kwargs]

    assert judged(case("k", (1,), {"b": 2, "a": [3]}, expect=[[1], {"b": 2, "a": [3]}]), spread).passed


def test_many_calls_stack_what_comes_back(judged):
    stacked = [[1, 2, 3], np.array([[1.0, 2], [3, 4], [5, 6]])]
    ask = many("m", stacked, [10], expect=np.array([[11.0, 12], [16, 18], [25, 28]]))
    assert judged(ask, lambda n, row, shift: n * row + shift).passed
    assert "shape (3,), expected (3, 2)" in judged(ask, lambda n, row, shift: row.sum()).difference.text
    assert "raises ValueError" in judged(ask, lambda n, row, shift: row[: int(n)]).difference.text
    assert "None" in judged(ask, lambda n, row, shift: None).difference.text
    assert "raises ZeroDivisionError" in judged(ask, lambda n, row, shift: n // (n - 3)).difference.text


def test_a_function_that_the_check_gives_is_called_by_the_answer(judged):
    f = Given("f", "def f(x, _seen=[]):\n    _seen.append(x)\n    return len(_seen)")
    ask = case("three calls", (f,), expect=[1, 2, 3])
    answer = lambda f: [f("a"), f("b"), f("c")]  # noqa: E731
    assert judged(ask, answer).passed
    assert judged(ask, answer).passed  # a fresh function every time
    assert not judged(ask, lambda f: [f("a"), 2, 2]).passed


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "def f(x):\n    y = x + 1\n    return y / 0",
            "raises ZeroDivisionError in line 3 of f: division by zero  ← return",
        ),
        (
            "def g(x):\n    return [][x]\ndef f(x):\n    return g(x)",
            "raises IndexError in line 2 of g: list index out of range",
        ),
        ("import json\ndef f(x):\n\n    return json.loads('{')", "raises JSONDecodeError in line 3 of f: "),
        (
            "class f:\n    def __init__(self, x):\n        raise KeyError(x)",
            "raises KeyError in line 2 of __init__: 1  ← raise",
        ),
        ("f = lambda x, y: 1", "raises TypeError: "),
    ],
    ids=["own line", "deepest own line", "line that called the library", "method", "no line of the student's"],
)
def test_an_exception_is_reported_with_the_students_own_line(judged, cell, code, text):
    assert text in judged(case("c", (1,), expect=1), cell(code)["f"]).difference.text


@pytest.mark.parametrize("kind", ["SystemExit", "RecursionError", "GeneratorExit", "MemoryError", "BaseException"])
def test_an_exception_of_any_kind_costs_its_case_alone(judged, cell, kind):
    f = cell(f"def f(x):\n    if x: raise {kind}('stop')\n    return 0")["f"]
    assert f"raises {kind}" in judged(case("c", (1,), expect=0), f).difference.text
    assert judged(case("c", (0,), expect=0), f).passed


@pytest.mark.parametrize("text", ["return None", "raise KeyError('again')", "return 5"])
def test_an_exception_that_cannot_say_what_it_is_costs_its_case_alone(judged, cell, text):
    names = cell(f"class Mute(Exception):\n    def __str__(self): {text}\ndef f(x): raise Mute")
    assert "raises Mute" in judged(case("c", (1,), expect=1), names["f"]).difference.text


def test_the_text_of_an_exception_is_cut_and_its_bases_are_named(cell):
    f = cell("def f(): raise UnicodeError('x' * 10**6)")["f"]
    (outcome,) = outcomes((f,), call(0, expect=1))
    assert outcome.raised["kinds"][:2] == ["UnicodeError", "ValueError"]
    assert len(outcome.raised["text"]) == TEXT_LIMIT


def test_a_keyboard_interrupt_passes_through_and_leaves_all_as_it_was(cell):
    f = cell("def f():\n    print('before')\n    raise KeyboardInterrupt")["f"]
    before = (sys.stdout, sys.stderr, sys.getprofile())
    with pytest.raises(KeyboardInterrupt):
        outcomes((f,), call(0, expect=1))
    assert (sys.stdout, sys.stderr, sys.getprofile()) == before


def test_prints_and_warnings_are_collected_and_nothing_reaches_the_notebook(capfd, monkeypatch):
    def show(message, category, filename, lineno, file=None, line=None):
        (file or sys.stderr).write(warnings.formatwarning(message, category, filename, lineno, line))

    def f(x):
        print("print", x)
        print("error", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        return np.array(1.0) / np.array(0.0)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)  # Python's own way; pytest has put another in its place
        (outcome,) = outcomes((f,), call(0, 7, expect=1))
    assert all(text in outcome.printed for text in ("print 7\n", "error\n", "careful", "divide by zero"))
    assert capfd.readouterr() == ("", "")


def test_what_was_printed_before_an_exception_is_kept_and_cut():
    def f():
        print("x" * 10**6)
        raise ValueError

    (outcome,) = outcomes((f,), call(0, raises="ValueError"))
    assert outcome.printed == "x" * PRINTED_LIMIT


def test_a_result_is_what_it_was_when_it_was_returned(judged):
    buffer = np.zeros(2)

    def step(x):
        buffer[:] = x
        return buffer

    assert judged(script("shared", call(0, 1, expect=np.ones(2)), call(0, 2, expect=np.full(2, 2))), step).passed


@pytest.mark.parametrize(
    ("argument", "spoil"),
    [
        (np.zeros(3), lambda x: x.__setitem__(0, 9)),
        (np.zeros((2, 3)).T, lambda x: x.__setitem__(0, 9)),
        (torch.zeros(3), lambda x: x.__setitem__(0, 9)),
        ([3, 1, 2], lambda x: x.sort()),
        ([[1], [2]], lambda x: x[1].append(9)),
        ({"a": 1}, lambda x: x.clear()),
        ({1, 2}, lambda x: x.add(3)),
        ((np.zeros(3), 1), lambda x: x[0].__setitem__(0, 9)),
        ((1, [2]), lambda x: x[1].append(9)),
    ],
    ids=[
        "array",
        "transposed",
        "tensor",
        "list",
        "list in a list",
        "dict",
        "set",
        "array in a tuple",
        "list in a tuple",
    ],
)
def test_an_argument_that_is_spoilt_is_noticed_and_the_next_case_is_unhurt(judged, argument, spoil):
    def spoils(x):
        spoil(x)
        return 1

    ask = case("c", (argument,), expect=1)
    assert "changes its argument" in judged(ask, spoils).difference.text
    assert judged(ask, lambda x: 1).passed
    assert judged(case("c", (argument,), expect=1, unchanged=False), spoils).passed


def test_an_argument_given_by_name_that_is_spoilt_is_noticed_too(judged):
    def spoils(x, more):
        more["parts"][1] = 9
        return 1

    ask = case("c", (1,), {"more": {"parts": np.zeros(3)}}, expect=1)
    assert "changes its argument" in judged(ask, spoils).difference.text
    assert judged(ask, lambda x, more: 1).passed


def test_what_one_case_was_given_is_not_what_another_is_given(judged):
    seen = []

    def keeps(x):
        seen.append(x)
        x[0] = 9
        return float(x[1])

    ask = case("c", (np.arange(3.0),), expect=1.0, unchanged=False)
    assert judged(ask, keeps).passed
    assert judged(ask, keeps).passed
    assert seen[0] is not seen[1]
    assert ask.steps[0].args[0].tolist() == [0, 1, 2]


def test_an_argument_that_becomes_undescribable_fails_the_case_alone(judged):
    assert judged(case("c", ([1],), expect=1), lambda x: x.append(object()) or 1).difference is not None


@pytest.mark.parametrize("answer", [None, ..., 5, "softmax", [abs]], ids=repr)
def test_an_answer_that_cannot_be_called_is_named(judged, answer):
    text = judged(case("c", (1,), expect=1), answer).difference.text
    assert type(answer).__name__ in text
    assert "function or class is needed" in text


@pytest.mark.parametrize(
    "answer",
    [lambda: (x for x in [1]), lambda: object(), lambda: np.array([None]), lambda: print, lambda: [{"a": object()}]],
)
def test_a_result_that_is_not_data_is_wrong_and_says_why(judged, answer):
    assert "cannot be checked" in judged(case("c", (), expect=1), answer).difference.text


def test_a_result_with_a_hostile_repr_costs_its_case_alone(judged, cell):
    f = cell("class Evil:\n    def __repr__(self): raise OSError\ndef f(): return {Evil()}")["f"]
    assert not judged(case("c", (), expect=1), f).passed


def test_a_tensor_goes_in_as_a_tensor_and_is_wanted_as_one(judged):
    ask = case("c", (torch.arange(3.0),), expect=torch.tensor([0.0, 2, 4]))
    assert judged(ask, lambda x: x.mul(2)).passed
    assert "expected a torch tensor" in judged(ask, lambda x: x.numpy() * 2).difference.text


def test_a_later_step_is_carried_out_after_an_earlier_one_raised(judged, counter):
    steps = [
        call(0, "a", keep="c"),
        call("c", 1, method="add", raises=Raises("TypeError")),
        read("c", "count", expect="a"),
    ]
    assert judged(script("mixed", *steps), counter).passed
