"""Showing a grade: the evidence for every point, hidden cases marked, and nothing that a terminal would obey."""

from dataclasses import replace

import pytest

from autograder.evidence import CaseEvidence, CheckEvidence
from autograder.records.receipts import Receipts
from autograder.reports.show import evidence, show
from tests.autograder.records.made_up import HIDDEN, receipt
from tests.autograder.reports.a_class import MISTAKE
from tests.autograder.submissions import LAB


def test_every_point_has_its_evidence(graded):
    said = show(graded, "fay", LAB)
    assert "fay · lab00_two_walls · graded" in said
    assert "softmax: 2.86 of 5 points" in said
    assert "✓ the example\n" in said
    assert f"✗ {HIDDEN} (hidden)\n      nan in 3 places" in said
    assert f"a known mistake: {MISTAKE}" in said
    assert "2 cells were put back in order" in said
    for fact in ("seed              7", "sandbox level     A", "environment       e1", "lab version       v1"):
        assert fact in said
    assert "gradebook: 15.86 of 20 points · graded" in said


def test_what_could_not_be_judged_says_why(graded):
    assert "generate: 0 of 2 points · crashed" in show(graded, "ben", LAB)
    assert "unreadable" in show(graded, "ira", LAB)
    assert "it is empty" in show(graded, "ira", LAB)


def test_a_persons_points_and_a_person_who_is_waited_for_are_told_apart(graded):
    assert "which_wall: 2 of 2 points, by a person" in show(graded, "ada", LAB)
    assert "gradebook: 18 of 20 points so far · needs a person" in show(graded, "dan", LAB)
    assert "which_wall: waits for a person" in show(graded, "dan", LAB)


def test_a_student_without_a_receipt_is_refused_with_those_who_have_one(graded):
    with pytest.raises(ValueError, match="no receipt of 'zoe' for lab00_two_walls; there is of ada, ben"):
        show(graded, "zoe", LAB)


def test_a_receipt_is_shown_where_there_is_no_gradebook(tmp_path):
    Receipts(tmp_path).write(receipt())
    said = show(tmp_path, "ada", LAB)
    assert "softmax: 5 of 5 points" in said
    assert "gradebook: " in said
    assert "is no nbgrader course" in said


def test_cases_that_earn_together_are_shown_together():
    cases = (
        CaseEvidence("one", True),
        CaseEvidence("five", True, group="ragged tails"),
        CaseEvidence("seven", False, "got 0", hidden=True, group="ragged tails"),
        CaseEvidence("minus", True, group="signs"),
    )
    said = evidence(replace(receipt(), checks=(CheckEvidence("double", 6, 4, cases=cases),)))
    text = "\n".join(said)
    assert "  ✓ one\n" in text
    assert "  ✓ five · ragged tails\n" in text
    assert "  ✗ seven (hidden) · ragged tails\n      got 0" in text
    assert "  together, ragged tails: 1 of 2 cases; none of them counts" in said
    assert "  together, signs: 1 of 1 cases" in said


def test_what_was_judged_in_a_shared_process_says_so():
    checks = (CheckEvidence("old", 2, 2, cases=(CaseEvidence("asserts", True),), shared=True),)
    assert "old: 2 of 2 points · shared process" in evidence(replace(receipt(), checks=checks))


def test_no_terminal_obeys_what_a_student_wrote():
    said = "\x1b[2J\x1b]0;owned\x07 \u202egrades\r\x08 é α"
    one = receipt()
    case = CaseEvidence("case\x1b[31m\nsecond line", False, said)
    text = "\n".join(evidence(replace(one, checks=(replace(one.checks[0], cases=(case,)),), notes=(said,))))
    assert not set(text) & set("\x1b\x07\u202e\r\x08")
    assert "\\x1b[2J" in text
    assert "\\u202egrades" in text
    assert "é α" in text
