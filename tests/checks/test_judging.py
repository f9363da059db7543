"""A check's score, and the recognition of a known mistake."""

import numpy as np
import pytest

from course_lib.checks.cases import call, case, read, rounding, script, typed
from course_lib.checks.definition import Check, Mistake
from course_lib.checks.frozen import freeze, thaw
from course_lib.checks.judging import judge, judge_case, recognise
from course_lib.checks.perform import Outcome, ask_here

X = np.array([[0.5, -2, 7], [1, 0, -3]])


def check(*cases, points=4.0, name="double"):
    return Check(name, "Twice a number.", points, ("double(x) -> y",), lambda draw: cases)


def result(answer, *cases, points=4.0):
    made = check(*cases, points=points)
    return judge(made, made.visible_cases(), lambda steps: ask_here(steps, (answer,)))


CASES = [
    case("array", (X,), expect=2 * X, bound=rounding(1)),
    case("one", (3,), expect=6),
    case("two", (-4,), expect=-8),
]


def test_every_case_weighs_the_same():
    assert result(lambda x: 2 * x, *CASES).score == 4
    assert result(lambda x: 2 * abs(x), *CASES).score == 1.33
    assert result(lambda x: 6, *CASES).score == 1.33
    assert result(lambda x: None, *CASES).score == 0


@pytest.mark.parametrize("points", [1, 0.375, 2 / 3, 1.005, 12_345.67])
def test_a_right_answer_scores_all_the_points_and_never_more(points):
    assert result(lambda x: 2 * x, *CASES, points=points).score == points


def test_an_answer_that_misses_one_case_of_many_does_not_score_them_all():
    cases = [case(f"{n}", (n,), expect=2 * n) for n in range(401)]
    found = result(lambda x: 2 * min(x, 399), *cases, points=1.0)
    assert not found.passed
    assert 0 < found.score < 1


def test_the_first_step_that_goes_wrong_decides():
    steps = [call(0, 1, expect=1), call(0, 2, expect=5), call(0, 3, expect="c")]
    assert result(lambda x: x, script("s", *steps)).cases[0].difference.text == "got 2, expected 5"


def test_the_judge_sends_no_expectation_to_the_students_side():
    sent = []

    def ask(steps):
        sent.extend(steps)
        return [Outcome(value=None) for _ in steps]

    for one in (*CASES, typed("t", 918273), script("s", call(0, 1, expect=5), read(0, "a", expect=6))):
        judge_case(one, ask)
    assert len(sent) == 6
    assert all(step.expect is None for step in sent)
    assert "918273" not in repr(sent)


def test_a_side_that_answers_too_few_or_too_many_steps_is_no_answer():
    for count in (0, 2):
        with pytest.raises(ValueError, match="zip"):
            judge_case(CASES[0], lambda steps, count=count: [Outcome(value=1)] * count)


def mistakes_of(answers, cases=CASES):
    return [
        Mistake(text, {"double": {found.name: found.fingerprint for found in result(answer, *cases).cases}})
        for text, answer in answers.items()
    ]


KNOWN = {
    "forgets the sign": lambda x: abs(2 * x),
    "squares": lambda x: x**2,
    "divides by zero": lambda x: x // 0 if np.ndim(x) == 0 else x,
    "writes into its argument": lambda x: x.__imul__(2) if np.ndim(x) else 2 * x,
    "returns a generator": lambda x: (part for part in [x]),
    "not a number": lambda x: x * np.nan,
}


@pytest.mark.parametrize("text", KNOWN)
def test_a_known_mistake_is_recognised(text):
    mistakes = mistakes_of(KNOWN)
    assert recognise(result(KNOWN[text], *CASES), mistakes) == text


def test_a_known_mistake_is_recognised_up_to_rounding_and_from_a_file(small_lab):
    checks = small_lab.checks["double"]
    wrong = judge(checks, checks.visible_cases(), lambda steps: ask_here(steps, (lambda x: abs(2 * x),)))
    mistake = Mistake("forgets the sign", {"double": {found.name: found.fingerprint for found in wrong.cases}})
    published = thaw(freeze(small_lab, "1", [mistake])).mistakes
    near = judge(checks, checks.visible_cases(), lambda steps: ask_here(steps, (lambda x: np.sqrt(4.00001 * x * x),)))
    assert recognise(near, published) == "forgets the sign"


def test_an_answer_that_differs_from_a_known_mistake_on_one_case_is_not_it():
    mistakes = mistakes_of({"forgets the sign": lambda x: abs(2 * x)})
    assert recognise(result(lambda x: abs(2 * x) if np.ndim(x) else 2 * x, *CASES), mistakes) is None
    assert recognise(result(lambda x: abs(2.1 * x), *CASES), mistakes) is None
    assert recognise(result(lambda x: {}[0], *CASES), mistakes) is None
    assert recognise(result(lambda x: 10**400, *CASES), mistakes) is None


def test_a_mistake_that_is_known_of_another_check_or_of_too_few_cases_is_not_claimed():
    (mistake,) = mistakes_of({"squares": lambda x: x**2})
    found = result(lambda x: x**2, *CASES)
    assert recognise(found, [Mistake("squares", {"triple": mistake.outcomes["double"]})]) is None
    partly = {name: prints for name, prints in mistake.outcomes["double"].items() if name != "two"}
    assert recognise(found, [Mistake("squares", {"double": partly})]) is None


def test_a_fingerprint_does_not_give_a_typed_answer_away():
    ask = typed("total", 918273)
    right = judge_case(ask, lambda steps: ask_here(steps, (918273,)))
    near = judge_case(ask, lambda steps: ask_here(steps, (np.int64(918274),)))
    assert right.passed
    assert right.fingerprint != near.fingerprint
    assert "918273" not in repr(right.fingerprint)
    assert "918274" not in repr(near.fingerprint)
