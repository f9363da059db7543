"""Functions that stay with the judge: each call is made there, and the student's side never sees their source."""

import numpy as np

from course_lib.checks.cases import call, case, kept
from course_lib.checks.judging import judge_case
from course_lib.checks.perform import ask_here


def counts_its_calls(x, add=0):
    """Kept: what it holds and how often it was called is the judge's affair."""
    counts_its_calls.calls = getattr(counts_its_calls, "calls", 0) + 1
    return x * counts_its_calls.calls + add


def test_a_kept_function_is_called_with_the_judge_and_its_source_never_travels():
    step = call(0, kept(counts_its_calls), expect=[2, 5, 6])
    sent = step.without_expectation().without_sources()
    assert "def counts" not in repr(sent)
    assert sent.without_expectation().without_sources() == sent
    outcome = ask_here([step.without_expectation()], (lambda f: [f(2), f(2, add=1), f(np.float64(2))],))[0]
    assert outcome.value == [2, 5, 6]


def test_a_kept_function_sees_plain_data_and_what_it_raises_is_raised_here():
    def tries(f):
        try:
            return f([1, "a"])
        except TypeError as error:
            return f"refused: {type(error).__name__}"

    step = call(0, kept(counts_its_calls), expect="").without_expectation()
    assert ask_here([step], (tries,))[0].value == "refused: TypeError"
    unsendable = ask_here([call(0, kept(counts_its_calls), expect=1)], (lambda f: f(object()),))[0]
    assert unsendable.raised["kinds"][0] == "Unsendable"


def test_a_case_with_a_kept_function_is_judged_in_the_notebook_as_when_it_is_graded():
    one = case("three calls", (kept(counts_its_calls),), expect=[1, 2, 3])
    assert judge_case(one, lambda steps: ask_here(steps, (lambda f: [f(1), f(1), f(1)],))).passed
