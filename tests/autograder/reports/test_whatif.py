"""Grading again: who would gain or lose is said and nothing recorded; a receipt that holds is told from one that does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.evidence import Receipt, State, Verdict
from autograder.records.receipts import Receipts
from autograder.reports.whatif import first_difference, verify, whatif
from tests.autograder.records.made_up import receipt, rows
from tests.autograder.reports.a_class import the_receipts
from tests.autograder.submissions import LAB

KEPT = {one.student: one for one in the_receipts()}


def changed(student: str) -> Receipt:
    """A stricter softmax and a kinder generate: Ada loses two points, Ben gains two and no longer crashes."""
    if student == "ada":
        return receipt("ada", scores={"softmax": 3.0})
    return receipt("ben", answered=False) if student == "ben" else KEPT[student]


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_who_would_gain_or_lose_is_said_by_check_and_by_student(graded):
    found = whatif(graded, LAB, changed)
    assert {change.before.student: change.points for change in found.changes} == {"ada": -2, "ben": 2}
    assert found.same == 5
    said = found.text()
    assert "1 would gain, 1 would lose, 5 would keep what they have; nothing is recorded" in said
    assert "ada: -2 (softmax -2)" in said
    assert "ben: +2 (generate +2, crashed → graded)" in said
    assert [line.split() for line in said.splitlines() if line.startswith("  softmax")] == [["softmax", "0", "1", "-2"]]


def test_nothing_is_recorded(graded):
    before, entries = files(graded / "receipts"), rows(graded)
    whatif(graded, LAB, changed)
    verify(graded, LAB, changed)
    assert files(graded / "receipts") == before
    assert rows(graded) == entries


def test_points_that_move_between_checks_are_no_gain_and_are_shown(tmp_path):
    Receipts(tmp_path).write(receipt(scores={"softmax": 3.0}))
    said = whatif(tmp_path, LAB, lambda student: receipt(scores={"score_entries": 1.0})).text()
    assert "0 would gain, 0 would lose, 0 would keep" in said
    assert "1 would have the same points with other evidence" in said
    assert "ada: 0 (score_entries -2, softmax +2)" in said


def test_a_check_that_is_new_or_gone_counts_whole(tmp_path):
    Receipts(tmp_path).write(receipt())
    one = receipt()
    renamed = replace(one, checks=(replace(one.checks[0], name="stable_softmax"), *one.checks[1:]))
    (change,) = whatif(tmp_path, LAB, lambda student: renamed).changes
    assert change.by_check == {"softmax": -5, "stable_softmax": 5}


def test_a_submission_that_cannot_be_graded_again_stops_nobody_else(graded):
    def regrade(student: str) -> Receipt:
        if student == "cleo":
            raise ValueError("its file is gone")
        return KEPT["ada"] if student == "dan" else KEPT[student]

    found = whatif(graded, LAB, regrade)
    assert found.same == 5
    assert "cleo cannot be graded again: its file is gone" in found.text()
    assert "dan cannot be graded again: what came back is the receipt of 'ada'" in found.text()


def test_nothing_graded_is_refused(tmp_path):
    for compare in (whatif, verify):
        with pytest.raises(ValueError, match="nothing was graded"):
            compare(tmp_path, LAB, changed)


def test_a_receipt_that_is_reproduced_byte_for_byte_holds(graded):
    found = verify(graded, LAB, KEPT.__getitem__)
    assert found.holds
    assert found.text() == "lab00_two_walls: 7 of 7 receipts reproduced byte for byte\n"


def test_the_first_difference_is_named(graded):
    found = verify(graded, LAB, changed)
    assert not found.holds
    assert found.differences == {
        "ada": "checks[softmax].cases[rows of −1e4 in float16].passed: true, now false",
        "ben": "checks[generate].cases[the example]: not there, now there",
    }
    assert "5 of 7 receipts reproduced" in found.text()


def test_one_student_may_be_verified_alone_and_must_have_a_receipt(graded):
    assert verify(graded, LAB, changed, ["cleo"]).same == ["cleo"]
    with pytest.raises(ValueError, match="no receipt of zoe"):
        verify(graded, LAB, changed, ["zoe"])


def test_a_difference_names_what_else_was_another(tmp_path):
    kept = receipt()
    after = replace(receipt(scores={"generate": 0.0}), environment="e2", level="B")
    said = first_difference(kept.to_json().encode(), after)
    assert said.startswith("checks[generate].cases[")
    assert said.endswith("(graded with another environment, another sandbox level)")


def test_the_same_content_in_another_spelling_is_a_difference(tmp_path):
    path = Receipts(tmp_path).write(receipt())
    path.write_bytes(path.read_bytes() + b"\n")
    found = verify(tmp_path, LAB, lambda student: receipt())
    assert found.differences == {"ada": "its file is spelt otherwise, with the same content"}


def test_a_torn_receipt_does_not_hold(graded):
    Receipts(graded).path(LAB, "ada").write_text("{", encoding="utf-8")
    found = verify(graded, LAB, KEPT.__getitem__)
    assert not found.holds
    assert len(found.same) == 6


def test_who_handed_in_nothing_is_not_graded_again(tmp_path):
    Receipts(tmp_path).write(receipt())
    Receipts(tmp_path).write(replace(receipt("nora", State.NOT_SUBMITTED), checks=(), written={}))
    assert verify(tmp_path, LAB, lambda student: receipt(student)).same == ["ada"]
    assert whatif(tmp_path, LAB, lambda student: receipt(student)).same == 1


def test_a_verdict_that_changes_without_points_is_a_difference():
    kept = receipt(scores={"softmax": 0.0})
    assert first_difference(kept.to_json().encode(), receipt(verdicts={"softmax": Verdict.CRASHED}))
