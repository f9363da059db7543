"""What an author may write as a lab, and what an author is told about one that cannot work."""

import numpy as np
import pytest

from course_lib.checks.cases import case
from course_lib.checks.definition import Lab
from course_lib.checks.draw import Draw


def small():
    lab = Lab("lab_small", "A small lab", minutes=5)

    @lab.check(points=4, target="double(x) -> y", refuses=["numpy.add"], hints=["Twice."], minutes=3)
    def double(draw):
        """Twice
        a number."""
        x = draw.normal(3)
        yield case("three", (x,), expect=2 * x)

    @lab.hidden("double")
    def more(draw):
        x = draw.normal(5)
        yield case("five", (x,), expect=2 * x)

    @lab.hidden("double")
    def still_more(draw):
        yield case("one", (1.0,), expect=2.0)

    return lab


def test_a_check_is_named_and_described_by_its_function():
    check = small().checks["double"]
    assert (check.name, check.doc, check.points, check.minutes) == ("double", "Twice a number.", 4, 3)
    assert (check.targets, check.refuses, check.hints) == (("double(x) -> y",), ("numpy.add",), ("Twice.",))


def test_a_lab_has_the_points_of_its_checks_and_of_its_rubrics():
    lab = small()
    lab.written("why", {"a": 1.5, "b": 1})
    assert lab.points == 6.5
    assert lab.written_items["why"].points == 2.5


def test_hidden_cases_are_those_of_every_maker_and_no_visible_one():
    check = small().checks["double"]
    assert [made.name for made in check.visible_cases()] == ["three"]
    assert [made.name for made in check.hidden_cases(7)] == ["five", "one"]


def test_cases_are_the_same_under_one_seed_and_others_under_another():
    check = small().checks["double"]
    first, again, other = (check.visible_cases(seed)[0].steps[0].args[0] for seed in (20, 20, 21))
    assert check.visible_cases()[0].steps[0].args[0].tolist() == first.tolist() == again.tolist()
    assert not np.any(first == other)
    assert not np.any(check.hidden_cases(1)[0].steps[0].args[0] == check.hidden_cases(2)[0].steps[0].args[0])


def test_a_checks_inputs_do_not_depend_on_the_checks_before_it():
    assert Draw(20, "a").normal(9).tolist() == Draw(20, "a").normal(9).tolist()
    assert not np.any(Draw(20, "a").normal(9) == Draw(20, "b").normal(9))


@pytest.mark.parametrize("name", ["", "Lab", "lab-00", "0lab", "lab 00", "../lab", "läb"])
def test_a_lab_is_named_as_a_file_can_be(name):
    with pytest.raises(ValueError, match="lower-case letters, digits and underscores"):
        Lab(name, "A lab", minutes=1)


def maker(doc="A check.", name="extra"):
    def made(draw):
        yield case("one", (1,), expect=1)

    made.__name__, made.__doc__ = name, doc
    return made


@pytest.mark.parametrize(
    ("options", "made", "message"),
    [
        ({"points": 0}, maker(), "'extra' needs points above 0, got 0"),
        ({"points": -1}, maker(), "'extra' needs points above 0, got -1"),
        ({"needs": ["later"]}, maker(), r"needs \['later'\], which no check before it is called"),
        ({}, maker(doc=None), "'extra' needs a docstring"),
        ({}, maker(name="double"), "two items called 'double'"),
        ({}, maker(name="progress"), "progress"),
    ],
    ids=[
        "no points",
        "negative points",
        "needs a later one",
        "no docstring",
        "name taken",
        "name of a method of check",
    ],
)
def test_a_check_that_cannot_work_is_refused_when_it_is_defined(options, made, message):
    with pytest.raises(ValueError, match=message):
        small().check(**{"points": 1, "target": "f(x)", **options})(made)


def test_hidden_cases_need_a_check_that_is_there():
    with pytest.raises(ValueError, match=r"hidden cases for 'dobule', but the checks are \['double'\]"):
        small().hidden("dobule")(maker())


def test_a_written_item_needs_a_name_of_its_own():
    with pytest.raises(ValueError, match="two items called 'double'"):
        small().written("double", {"a": 1})


@pytest.mark.parametrize(
    "cases", [[], [case("same", (1,), expect=1), case("same", (2,), expect=2)]], ids=["none", "two"]
)
def test_a_check_needs_cases_with_names_of_their_own(cases):
    lab = small()

    @lab.check(points=1, target="f(x)")
    def extra(draw):
        """Nothing."""
        yield from cases

    with pytest.raises(ValueError, match="'extra' needs cases with distinct names"):
        lab.checks["extra"].visible_cases()


def test_a_case_that_is_not_plain_data_is_refused_before_any_student_meets_it():
    lab = small()

    @lab.check(points=1, target="f(x)")
    def extra(draw):
        """A generator."""
        yield case("lazy", ((x for x in [1]),), expect=1)

    with pytest.raises(TypeError, match="a value of type generator"):
        lab.checks["extra"].visible_cases()


def test_a_drawn_case_belongs_to_who_drew_it():
    kept = np.arange(3.0)
    lab = small()

    @lab.check(points=1, target="f(x)")
    def extra(draw):
        """The same array every time."""
        yield case("kept", (kept,), expect=kept)

    lab.checks["extra"].visible_cases()[0].steps[0].args[0][:] = 9
    assert kept.tolist() == [0, 1, 2]
    assert lab.checks["extra"].visible_cases()[0].steps[0].args[0].tolist() == [0, 1, 2]
