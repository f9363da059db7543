"""A class in numbers: counts that add up, known mistakes by name, and a picture that says the same."""

from xml.etree import ElementTree

import pytest

from autograder.evidence import State, Verdict
from autograder.records.receipts import Receipts
from autograder.reports.picture import draw
from autograder.reports.stats import of_receipts, stats
from tests.autograder.records.made_up import HIDDEN, receipt
from tests.autograder.reports.a_class import MISTAKE, STATES, the_receipts
from tests.autograder.submissions import LAB


def test_the_numbers_of_a_class_add_up(graded):
    found = stats(graded, LAB)
    assert sum(found.histogram) == len(found.scores) == 6  # the unreadable one and who handed in nothing have no score
    assert sum(found.states.values()) == len(STATES)
    assert (
        found.states[State.NOT_SUBMITTED] == found.states[State.UNREADABLE] == found.states[State.NEEDS_A_PERSON] == 1
    )
    softmax = next(check for check in found.checks if check.name == "softmax")
    assert softmax.passed == pytest.approx(4 / 6)
    assert softmax.mean == pytest.approx((4 + 2.86 / 5) / 6)
    assert softmax.unjudged == {Verdict.TIMED_OUT: 1}
    assert found.mistakes == {("softmax", MISTAKE): 1}


def test_the_table_says_it(graded):
    said = stats(graded, LAB).text()
    assert "6 submissions judged, mean 15.98, median 15.93 of 18 automatic points" in said
    assert "14 to below 16  " in said
    assert "16 to 18  " in said
    assert f"   1  softmax: {MISTAKE}" in said
    assert "   1  not submitted" in said
    assert "1 timed out" in said
    assert HIDDEN not in said


def test_the_commonest_mistake_comes_first():
    rare, common = "One reads its own draft.", "The last row is dropped."
    made = []
    for number, text in enumerate([rare, common, common]):
        one = receipt(f"s{number}")
        softmax = type(one.checks[0])(**vars(one.checks[0]) | {"mistake": text})
        made.append(type(one)(**vars(one) | {"checks": (softmax,)}))
    assert list(of_receipts(LAB, made, []).mistakes.items()) == [(("softmax", common), 2), (("softmax", rare), 1)]


def test_every_score_is_in_one_bar_and_the_full_score_in_the_last():
    made = [receipt(f"s{number}", scores={"softmax": number / 10}) for number in range(51)]
    found = of_receipts(LAB, made, [])
    assert sum(found.histogram) == 51
    assert found.edges[-1] == found.most == 18
    assert found.histogram[-1] == sum(score >= found.edges[-2] for score in found.scores)


def test_a_class_that_handed_in_nothing_readable_has_states_and_no_scores(tmp_path):
    found = of_receipts(LAB, [one for one in the_receipts() if one.state is State.UNREADABLE], [State.UNREADABLE])
    assert found.histogram == []
    assert "no submission was judged" in found.text()
    draw(found, tmp_path / "stats.svg")
    assert (tmp_path / "stats.svg").exists()


def test_nothing_graded_is_refused(course):
    with pytest.raises(ValueError, match="nothing was graded for lab00_two_walls"):
        stats(course, LAB)


def test_without_a_gradebook_the_states_are_those_of_the_receipts(tmp_path):
    Receipts(tmp_path).write(receipt())
    found = stats(tmp_path, LAB)
    assert found.states == {State.GRADED: 1}
    assert "of the receipts alone" in found.text()


def test_a_torn_receipt_is_left_out_and_named(graded):
    Receipts(graded).path(LAB, "ada").write_text("{", encoding="utf-8")
    found = stats(graded, LAB)
    assert len(found.scores) == 5
    assert any("ada" in fault for fault in found.faults)


def test_the_picture_says_in_words_what_it_shows_and_keeps_its_bytes(graded, tmp_path):
    stats(graded, LAB, tmp_path / "one.svg")
    stats(graded, LAB, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    words = ElementTree.parse(tmp_path / "one.svg").getroot().findtext("{http://www.w3.org/2000/svg}desc") or ""
    assert "softmax passed by 67%" in words
    assert MISTAKE in words
    assert "1 not submitted" in words


def test_a_picture_may_be_a_png_and_nothing_else(graded, tmp_path):
    stats(graded, LAB, tmp_path / "stats.png")
    assert (tmp_path / "stats.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"ends in \.svg or \.png"):
        stats(graded, LAB, tmp_path / "stats.pdf")
