"""Cases that earn together: all of a group or nothing of it, each group its share, and a check line that says so."""

import json

import numpy as np
import pytest

from course_lib.checks.cases import RECORDS, Case, call, case, many, script, typed
from course_lib.checks.definition import Lab
from course_lib.checks.frozen import dump, freeze, thaw
from course_lib.checks.judging import CheckResult, judge
from course_lib.checks.perform import ask_here
from course_lib.checks.report import Report
from course_lib.checks.values import dumps, loads

TAILS = "ragged tails"


def lab_of(*cases: Case, points: float = 6, hidden: tuple[Case, ...] = (), **options) -> Lab:
    lab = Lab("lab_small", "A small lab", minutes=5)

    def double(draw):
        """Twice a number."""
        yield from cases

    def more(draw):
        yield from hidden

    lab.check(points=points, target="double(x) -> y", **options)(double)
    if hidden:
        lab.hidden("double")(more)
    return lab


def judged(answer, lab: Lab, cases: list[Case] | None = None) -> CheckResult:
    check = lab.checks["double"]
    return judge(check, cases or check.graded_cases(3), lambda steps: ask_here(steps, (answer,)))


CASES = (
    case("one", (1,), expect=2),
    case("five", (5,), expect=10, group=TAILS),
    case("seven", (7,), expect=14, group=TAILS),
    case("minus", (-2,), expect=-4, group="signs"),
)
UP_TO_SIX = lambda x: 2 * x if x < 6 else 0  # noqa: E731


def test_one_wrong_case_costs_its_group_and_nothing_else():
    assert judged(lambda x: 2 * x, lab_of(*CASES)).score == 6
    assert judged(UP_TO_SIX, lab_of(*CASES)).score == 4
    assert judged(lambda x: 2 * abs(x), lab_of(*CASES)).score == 4
    assert judged(lambda x: 2 * x if x in (5, -2) else 0, lab_of(*CASES)).score == 2
    assert judged(lambda x: None, lab_of(*CASES)).score == 0


def test_a_group_with_a_share_weighs_as_much_as_it_says():
    lab = lab_of(*CASES, groups={TAILS: 2.5, "signs": 0.5})
    assert judged(UP_TO_SIX, lab).score == 2.25
    assert judged(lambda x: 2 * abs(x), lab).score == 5.25
    assert judged(lambda x: 2 * x, lab).score == 6


def test_a_case_without_a_group_stands_for_itself_whatever_it_is_called():
    cases = (case(TAILS, (1,), expect=2), case("two", (2,), expect=4), case("five", (5,), expect=10, group=TAILS))
    assert [len(group.cases) for group in judged(UP_TO_SIX, lab_of(*cases)).groups] == [1, 1, 1]
    assert judged(lambda x: 2 * x if x != 1 else 0, lab_of(*cases, groups={TAILS: 4})).score == 5


@pytest.mark.parametrize("points", [1, 0.375, 2 / 3, 12_345.67])
def test_all_the_points_come_only_with_every_case(points):
    cases = [case(f"{n}", (n,), expect=2 * n, group="all but the last" if n < 400 else None) for n in range(401)]
    lab = lab_of(*cases, points=points, groups={"all but the last": 10_000})
    assert judged(lambda x: 2 * x, lab).score == points
    assert judged(lambda x: 2 * min(x, 399), lab).score < points


def test_a_hidden_case_may_join_the_group_of_a_visible_one():
    lab = lab_of(*CASES, hidden=(case("nine", (9,), expect=18, group=TAILS),))
    answer = lambda x: 2 * x if x < 9 else 0  # noqa: E731
    assert judged(answer, lab, lab.checks["double"].visible_cases()).score == 6
    assert judged(answer, lab).score == 4


def test_every_maker_of_cases_takes_a_group():
    made = [
        case("a", (1,), expect=2, group="g"),
        script("b", call(0, 1, expect=2), group="g"),
        many("c", [np.arange(3)], expect=np.arange(3) * 2, group="g"),
        typed("d", 5, group="g"),
    ]
    assert [one.group for one in made] == ["g"] * 4
    assert [loads(dumps(one, RECORDS), RECORDS).group for one in made] == ["g"] * 4


def test_a_case_without_a_group_travels_as_it_did_before_there_were_groups():
    one = CASES[0]
    assert loads(dumps(one, RECORDS), RECORDS) == one
    assert b'"$":"Case","v":["one",' in dumps(one, RECORDS)
    assert dumps(one, RECORDS).split(b'"Case"')[1].count(b"null") == dumps(CASES[1], RECORDS).count(b"null")
    assert TAILS.encode() in dumps(CASES[1], RECORDS)


def test_a_frozen_check_keeps_its_groups_and_one_without_says_nothing_of_them():
    lab = lab_of(*CASES, groups={TAILS: 3}, hidden=(case("nine", (9,), expect=18, group="a secret"),))
    text = dump(freeze(lab, "1", []))
    published = thaw(json.loads(text)).checks["double"]
    assert published.groups == {TAILS: 3}
    assert [one.group for one in published.visible_cases()] == [None, TAILS, TAILS, "signs"]
    assert "a secret" not in text
    plain = freeze(lab_of(CASES[0]), "1", [])
    assert not {"groups", "asserts"} & plain["checks"][0].keys()


@pytest.mark.parametrize("where", ["visible", "nowhere"])
def test_a_share_for_a_group_that_nobody_sees_is_refused_when_cases_are_drawn(where):
    hidden = (case("nine", (9,), expect=18, group="hidden"),) if where == "visible" else ()
    check = lab_of(*CASES, groups={"hidden": 2}, hidden=hidden).checks["double"]
    for draw in (check.visible_cases, lambda: check.graded_cases(3)):
        with pytest.raises(ValueError, match="a share to 'hidden', and no visible case"):
            draw()


@pytest.mark.parametrize("share", [0, -1, float("inf"), float("nan")])
def test_a_share_is_a_number_above_0(share):
    with pytest.raises(ValueError, match="needs shares above 0"):
        lab_of(*CASES, groups={TAILS: share})


def test_the_report_says_what_each_group_earned():
    report = Report(judged(UP_TO_SIX, lab_of(*CASES, groups={TAILS: 4})))
    for text in (report.text(), report.html()):
        assert "ragged tails" in text
        assert "0 / 4 points (1 of 2 cases; all or none)" in text
        assert "1 / 1 points (1 of 1 cases; all or none)" in text
    assert report._repr_mimebundle_()["text/plain"] == "2"  # from where plain nbgrader reads the points
    assert "together" not in Report(judged(UP_TO_SIX, lab_of(CASES[0]))).text().lower()


def test_a_groups_name_is_shown_as_text():
    lab = lab_of(case("one", (1,), expect=2, group="<b>x</b>"))
    assert "<b>x</b>" not in Report(judged(lambda x: 2 * x, lab)).html()
