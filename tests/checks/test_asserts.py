"""Cells of asserts: what follows from one, what is refused, what is believed."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from course_lib.checks.definition import Lab
from course_lib.checks.frozen import dump, freeze, thaw
from course_lib.checks.judging import ASSERTS, CANARIES, PASSED, UNSHOWN, CheckResult, judge_asserts
from course_lib.checks.legacy.canaries import asserters, derived
from course_lib.checks.legacy.cell import MOST_DERIVED, Asserts
from course_lib.checks.legacy.trial import attempt
from course_lib.checks.notebook import Checker

CELL = """\
x = 3
assert double(x) == 6, "six"
### BEGIN HIDDEN TESTS
for n in range(4):
    assert double(n) == 2 * n
assert double(-4) == -8
### END HIDDEN TESTS
assert isinstance(double(1), int)"""


def result(answer, source: str = CELL, written: tuple[str, ...] = (), seed: int | None = None) -> CheckResult:
    lab = Lab("lab_small", "A small lab", minutes=5)
    lab.asserts("old", points=2)
    check = lab.checks["old"]
    check.asserts = Asserts(textwrap.dedent(source).strip("\n"), written)
    check.asserts.check()
    return judge_asserts(check, lambda text: attempt(text, {"double": answer, "np": np}), seed)


def said(found: CheckResult) -> dict[str, str]:
    return {case.name: case.difference.text if case.difference else "" for case in found.cases}


def right(x):
    return 2 * x


class Equal:
    """Equal to everything."""

    def __eq__(self, other):
        return True

    __hash__ = None  # type: ignore[assignment]


# What is shown


def test_students_get_the_cell_without_what_it_hides():
    cell = Asserts(CELL)
    assert cell.shown.splitlines() == ["x = 3", 'assert double(x) == 6, "six"', "assert isinstance(double(1), int)"]
    assert cell.not_shown.splitlines()[::2] == ["for n in range(4):", "assert double(-4) == -8"]
    assert [cell.hides(number) for number in range(1, 9)] == [False, False, *[True] * 5, False]
    assert Asserts("assert True").not_shown == ""


def test_what_is_shown_is_what_nbgrader_leaves():
    from nbformat.v4 import new_code_cell
    from nbgrader.preprocessors import ClearHiddenTests

    for source in (CELL, CELL.replace("###", "    ###"), "### BEGIN HIDDEN TESTS\n1\n### END HIDDEN TESTS", "a\n\n"):
        cell = new_code_cell(source)
        ClearHiddenTests()._remove_hidden_test_region(cell)
        assert Asserts(source).shown == cell.source


# Canaries


@pytest.mark.parametrize(
    ("line", "canary"),
    [
        ("assert f(2) == 4", "assert f(2) == 5004"),
        ("assert 4 == f(2), 'four'", "assert 5004 == f(2)"),
        ("assert f(2) == -1.5", "assert f(2) == 2498.5"),
        ("assert f(2) == 'two'", "assert f(2) == 'two?'"),
        ("assert f(2) == True", "assert f(2) == False"),
        ("assert f(2) == [1, 'a']", "assert f(2) == [2001, 'a?']"),
        ("assert f(2) == []", "assert f(2) == Ellipsis"),
        ("assert f(2) == None", "assert f(2) == Ellipsis"),
        ("assert (f(2) == np.array([1, 2])).all()", "assert (f(2) == np.array([2001, 3002])).all()"),
        ("assert np.all(f(2) == 1)", "assert np.all(f(2) == 2001)"),
        ("assert f(2) == 4 and f(3) == 6", "assert f(2) == 5004 and f(3) == 6"),
        ("assert abs(f(2) - 4.0) < 1e-6", "assert abs(f(2) - 5004.0) < 1e-06"),
        ("assert np.abs(f(x) - 1).max() <= 0.1", "assert np.abs(f(x) - 2001).max() <= 0.1"),
        ("assert np.allclose(f(2), [0.5], 1e-3)", "assert np.allclose(f(2), [1500.5], 0.001)"),
        ("np.testing.assert_allclose(f(2), 4, rtol=1e-3)", "np.testing.assert_allclose(f(2), 5004, rtol=0.001)"),
        # Where no expectation is stated, there is the negation.
        ("assert f(2)", "assert not f(2)"),
        ("assert f(2) == g(2)", "assert not f(2) == g(2)"),
        ("assert f(2) == 4 or f(3) == 6", "assert not (f(2) == 4 or f(3) == 6)"),
        ("assert f(2) in (1, 2)", "assert not f(2) in (1, 2)"),
    ],
)
def test_an_assert_gives_a_canary(line, canary):
    (found,) = derived(f"x = 1\n{line}\ny = 2")
    assert found.said == canary
    assert found.source == f"x = 1\n{canary}\ny = 2"


@pytest.mark.parametrize("value", [0, -1, 1e20, 1e308, float("inf"), 0.1, 10**30, "", (1, 2.5)])
def test_a_moved_expectation_is_never_the_old_one(value):
    (found,) = derived(f"assert f() == {value!r}" if value != float("inf") else "assert f() == 1e999")
    with pytest.raises(AssertionError):
        exec(found.source, {"f": lambda: value})


def test_asserts_that_may_not_be_reached_give_none():
    assert derived("if x:\n    assert f(2) == 4\nfor i in y:\n    assert f(i)\ndef g():\n    assert 1 == 1") == []
    assert len(derived("assert f(1) == 1; y = 2\nassert f(2) == 2")) == 1  # a changed line must be its own


def test_a_canary_keeps_the_numbers_of_the_lines_below():
    (first, second) = derived("assert f(\n    2\n) == 4\nassert f(3) == 6")
    assert first.source.split("\n") == ["assert f(2) == 5004", "", "", "assert f(3) == 6"]
    assert second.source.split("\n")[3] == "assert f(3) == 7006"


def test_of_many_derived_canaries_a_seed_draws_a_few_and_the_authors_are_always_there():
    cell = Asserts("\n".join(f"assert f({n}) == {n}" for n in range(40)), ("assert f(1) == 2", "assert f(2) == 3"))
    drawn = [[canary.said for canary in cell.canaries(seed)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {len(some) for some in drawn} == {2 + MOST_DERIVED}
    assert all(some[:2] == ["assert f(1) == 2", "assert f(2) == 3"] for some in drawn)
    assert len(cell.canaries()) == 42


def test_functions_that_assert_are_known_by_their_names():
    assert asserters(
        "np.testing.assert_allclose(a, b)\nwith assert_raises(E): f()\nt.assertEqual(1, 1)\nassert f()"
    ) == {
        "assert_allclose",
        "assert_raises",
        "assertEqual",
    }


@pytest.mark.parametrize(
    ("source", "written", "message"),
    [
        ("%matplotlib inline\nassert f() == 1", (), "the cell must be plain Python"),
        ("assert f() == 1", ("assert f( == 2",), "a canary must be plain Python"),
        ("for x in y:\n    assert f(x)", (), "it needs a canary"),
        ("f()", (), "it needs a canary"),
        ("np.testing.assert_allclose(f(1), g(1))\nassert f(2) == 4", (), "it calls assert_allclose, which no canary"),
        ("with np.testing.assert_raises(E):\n    f()", ("assert f(1) == 1",), "it calls assert_raises"),
    ],
)
def test_a_cell_that_nothing_vouches_for_is_refused(source, written, message):
    with pytest.raises(ValueError, match=message):
        Asserts(source, written).check()


# A run


def test_a_run_says_what_was_raised_and_in_which_line():
    space = {"double": right}
    tried = attempt("a = 1\nassert double(1) == 3, 'three'\n", space)
    assert (tried.kinds[0], tried.text, tried.line) == ("AssertionError", "three", 2)
    assert "Exception" in tried.kinds
    assert attempt("double(1)", space).kinds == ()
    assert attempt("def (", space).kinds[0] == "SyntaxError"
    assert attempt("raise SystemExit(3)", space).kinds[0] == "SystemExit"
    with pytest.raises(KeyboardInterrupt):
        attempt("raise KeyboardInterrupt", space)


def test_the_line_is_the_cells_own_even_where_the_answer_raised():
    def deep(x):
        raise RuntimeError("deep down")

    assert attempt("\n\nf(1)", {"f": deep}).line == 3


def test_a_text_that_cannot_be_read_is_said_so():
    class Odd(Exception):
        def __str__(self):
            raise ValueError

    assert attempt("raise Odd", {"Odd": Odd}).text == "(its text cannot be read)"


# What is believed


def test_right_answers_get_the_points_and_wrong_ones_say_where():
    assert said(result(right)) == {ASSERTS: "", UNSHOWN: "", CANARIES: ""}
    assert result(right).score == 2
    shown = result(lambda x: 0)
    assert said(shown) == {ASSERTS: 'line 2, assert double(x) == 6, "six": AssertionError: six'}
    hidden = result(lambda x: 2 * abs(x))
    assert said(hidden) == {ASSERTS: "", UNSHOWN: "line 6, assert double(-4) == -8: AssertionError"}
    assert shown.score == hidden.score == 0


def test_nothing_is_earned_by_halves():
    assert result(lambda x: 2 * abs(x)).score == 0
    assert result(lambda x: Equal()).score == 0


def test_an_answer_that_is_equal_to_everything_lets_a_canary_pass():
    found = result(lambda x: Equal(), "assert double(1) == 2")
    assert said(found)[ASSERTS] == ""
    assert said(found)[CANARIES] == f"{PASSED}: assert double(1) == 3002"


def test_asserts_that_say_nothing_any_more_let_a_canary_pass():
    lab = Lab("lab_small", "A small lab", minutes=5)
    lab.asserts("old", points=2)
    lab.checks["old"].asserts = Asserts("assert double(1)")
    silent = judge_asserts(
        lab.checks["old"], lambda text: attempt(text.replace("assert ", ""), {"double": lambda x: 0})
    )
    assert said(silent)[CANARIES] == f"{PASSED}: assert not double(1)"


def test_a_canary_that_fails_in_another_way_vouches_for_nothing():
    found = result(right, written=("assert no_such_name == 1",))
    assert said(found)[CANARIES] == "a canary raised NameError and not AssertionError: assert no_such_name == 1"
    assert found.score == 0


def test_a_canary_of_the_author_is_run_by_itself():
    assert result(right, written=("y = 4\nassert double(y) == 9",)).score == 2
    found = result(right, written=("y = 4\nassert double(y) == 8",))
    assert said(found)[CANARIES] == f"{PASSED}: assert double(y) == 8"


def test_a_seed_draws_the_order_of_the_runs():
    def order(seed):
        ran = []
        lab = Lab("lab_small", "A small lab", minutes=5)
        lab.asserts("old", points=2)
        lab.checks["old"].asserts = Asserts(CELL)
        judge_asserts(lab.checks["old"], lambda text: ran.append(text) or attempt(text, {"double": right}), seed)
        return [text == CELL for text in ran].index(True), len(ran)

    orders = [order(seed) for seed in range(30)]
    assert {place for place, _ in orders} == {0, 1, 2, 3}
    assert {count for _, count in orders} == {4}
    assert order(7) == order(7)


def test_of_asserts_that_failed_no_more_canaries_are_run():
    ran = []
    lab = Lab("lab_small", "A small lab", minutes=5)
    lab.asserts("old", points=2)
    lab.checks["old"].asserts = Asserts(CELL)
    judge_asserts(lab.checks["old"], lambda text: ran.append(text) or attempt(text, {"double": lambda x: 0}))
    assert ran == [CELL]


def test_asserts_stay_in_where_python_takes_them_out():
    code = "import sys\nfrom course_lib.checks.legacy.trial import attempt\nprint(attempt('assert 0', {}).kinds[:1])"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert "AssertionError" in done.stdout


# In a lab


def test_a_lab_with_asserts_counts_their_points_and_publishes_neither_canaries_nor_what_is_hidden():
    lab = Lab("lab_small", "A small lab", minutes=5)
    lab.asserts("old", points=2, canaries=["assert double(1) == 777"])
    lab.checks["old"].asserts = Asserts(CELL, lab.checks["old"].asserts.written)
    assert lab.points == 2
    assert lab.checks["old"].visible_cases() == lab.checks["old"].graded_cases(3) == []
    text = dump(freeze(lab, "1", []))
    assert "777" not in text
    assert "double" not in text
    assert thaw(freeze(lab, "1", [])).checks["old"].asserts == Asserts()


def test_the_notebooks_check_leaves_asserts_to_their_cell():
    lab = Lab("lab_small", "A small lab", minutes=5)
    lab.asserts("old", points=2)
    check = Checker(lab)
    assert "old" not in dir(check)
    with pytest.raises(ValueError, match="old is a cell of asserts"):
        check.old(1)
    assert "– / 2" in repr(check.progress())
    assert "0 / 2" in repr(check.progress())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "old", "points": 0}, "points above 0"),
        ({"name": "an old one", "points": 1}, "an identifier"),
        ({"name": "old", "points": 1, "canaries": "assert f() == 2"}, "must be a list of texts"),
        ({"name": "progress", "points": 1}, "cannot be called 'progress'"),
    ],
)
def test_asserts_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Lab("lab_small", "A small lab", minutes=5).asserts(**arguments)


def test_asserts_have_no_hidden_cases_and_no_variants():
    lab = Lab("lab_small", "A small lab", minutes=5)
    lab.asserts("old", points=1)
    with pytest.raises(ValueError, match="what it hides stands in the cell"):
        lab.hidden("old")(lambda draw: ())
    with pytest.raises(ValueError, match="no variants"):
        lab.variant("old", "other", target="f(x)")(lambda draw: ())
