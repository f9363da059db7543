"""Receipts: equal ones are equal bytes, they come back as they were, and what is none is refused."""

from dataclasses import replace

import pytest

from autograder.evidence import CaseEvidence, CheckEvidence, Receipt, State, Verdict

RECEIPT = Receipt(
    lab="lab00",
    student="Smith, Jr",
    version="abc",
    content="00ff",
    environment="e",
    seed=2**62,
    level="A",
    state=State.NEEDS_A_PERSON,
    checks=(
        CheckEvidence("softmax", 5, 2.86, cases=(CaseEvidence("one axis", False, "largest error 0.7", hidden=True),)),
        CheckEvidence("loops", 3, 0.0, Verdict.TIMED_OUT, mistake="divides twice"),
    ),
    written={"why": True},
    notes=("a cell was moved",),
)


def test_a_receipt_comes_back_as_it_was_and_writes_the_same_bytes_again():
    back = Receipt.from_json(RECEIPT.to_json())
    assert back == RECEIPT
    assert back.to_json() == RECEIPT.to_json()
    assert back.checks[1].verdict is Verdict.TIMED_OUT


def test_groups_and_shared_processes_come_back_and_others_say_nothing_of_them():
    assert "group" not in RECEIPT.to_json()
    assert "shared" not in RECEIPT.to_json()
    case = CaseEvidence("one axis", False, group="ragged tails")
    one = replace(RECEIPT, checks=(CheckEvidence("old", 5, 0, cases=(case,), shared=True),))
    assert Receipt.from_json(one.to_json()) == one
    assert Receipt.from_json(RECEIPT.to_json()).checks[0].shared is False


def test_the_score_is_the_sum_of_the_checks_to_a_hundredth():
    assert RECEIPT.score == 2.86


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"checks": 3}', RECEIPT.to_json().replace("crashed", "x")[:-9]])
def test_what_is_no_receipt_is_refused(text):
    with pytest.raises(ValueError, match="not a receipt"):
        Receipt.from_json(text)


def test_a_state_or_a_verdict_that_there_is_not_is_refused():
    for wrong in ("needs a person", "timed out"):
        with pytest.raises(ValueError, match="not a receipt"):
            Receipt.from_json(RECEIPT.to_json().replace(wrong, "fine"))
