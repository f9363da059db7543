"""Receipts in nbgrader's gradebook: what is entered, what a person gave and keeps, and what is mended after a crash."""

import pytest
from nbgrader.api import Gradebook

from autograder.evidence import CheckEvidence, State, Verdict
from autograder.records.course import known_as
from autograder.records.gradebook import Book, Person, reconcile
from autograder.records.receipts import Receipts
from tests.autograder.records.made_up import (
    HIDDEN,
    by_hand,
    comments,
    database,
    points,
    receipt,
    rows,
    unreadable,
    waiting,
)
from tests.autograder.submissions import FULL, LAB

# Entering


def test_each_check_gets_its_points_and_a_written_answer_waits_for_a_person(course, book):
    entered = book.enter(receipt(scores={"softmax": 2.86}))
    assert points(course) == FULL | {"check_softmax": 2.86, "which_wall": None}
    assert waiting(course) == {"which_wall"}
    assert entered.score == pytest.approx(15.86)
    assert not comments(course)


def test_an_empty_written_answer_gets_nothing_and_waits_for_nobody(course, book):
    book.enter(receipt(answered=False))
    assert points(course)["which_wall"] == 0
    assert not waiting(course)
    assert comments(course) == {"which_wall": "No response."}


def test_the_same_receipt_twice_changes_nothing(course, book):
    book.enter(receipt(), Person("Ada", "Lovelace"), "2026-11-30 12:00 Europe/Berlin", {"which_wall": "Both."})
    before = rows(course)
    book.enter(receipt(), Person("Ada", "Lovelace"), "2026-11-30 12:00 Europe/Berlin", {"which_wall": "Both."})
    assert rows(course) == before


def test_a_student_is_entered_with_what_is_known_and_a_person_s_correction_stays(course, book):
    book.introduce({"ada": Person("Ada", None, "ada@example.org")})
    with Gradebook(database(course)) as gradebook:
        gradebook.update_or_create_student("ada", first_name="Augusta")
    book.enter(receipt(), Person("Ada", "Lovelace"))
    with Gradebook(database(course)) as gradebook:
        student = gradebook.find_student("ada")
        assert (student.first_name, student.last_name, student.email) == ("Augusta", "Lovelace", "ada@example.org")


def test_who_handed_nothing_in_is_in_the_gradebook_without_a_submission(course, book):
    book.enter(receipt("max", State.NOT_SUBMITTED, checks=(), written={}))
    with Gradebook(database(course)) as gradebook:
        assert gradebook.find_student("max")
        assert not gradebook.assignment_submissions(LAB)
    assert book.pending([receipt("max", State.NOT_SUBMITTED, checks=(), written={})]) == []


@pytest.mark.parametrize(
    "student", ["Smith, Jr", "=HYPERLINK(1)", "Zoë O'Neil", "名前", "a/../b", "..", "100%", "x" * 129, "x" * 130]
)
def test_any_name_is_entered_and_none_is_taken_for_another(course, book, student):
    book.enter(receipt(student, scores={"softmax": 1}))
    book.enter(receipt("ada"))
    assert not book.pending([receipt(student, scores={"softmax": 1}), receipt("ada")])
    with Gradebook(database(course)) as gradebook:
        assert len(gradebook.assignment_submissions(LAB)) == 2


@pytest.mark.parametrize(
    ("student", "known"),
    [
        ("ada", "ada"),
        ("Zoë O'Neil, Jr", "Zoë O'Neil, Jr"),
        ("a/b", "a~2Fb"),
        ("a~2Fb", "a~7E2Fb"),
        (".a", "~2Ea"),
        ('<b>&"?#', "~3Cb~3E~26~22~3F~23"),
        ("x" * 200, "x" * 110 + "~~aa20c23e32018340"),
    ],
)
def test_nbgrader_knows_a_student_by_a_name_that_is_no_path_tag_or_query(student, known):
    assert known_as(student) == known


def test_names_from_a_download_are_entered_as_text(course, book):
    book.enter(receipt(), Person("<img src=x onerror=alert(1)>", "O'Neil & <3 Co", "<b>@example.org"))
    with Gradebook(database(course)) as gradebook:
        student = gradebook.find_student("ada")
        assert student.first_name == "<\u200bimg src=x onerror=alert(1)>"
        assert student.last_name == "O'Neil & <3 Co"
        assert student.email == "<\u200bb>@example.org"


# What is said


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.CRASHED, "crashed in check_generate"),
        (Verdict.TIMED_OUT, "timed out in check_generate"),
        (Verdict.TAMPERED, "tampered in check_generate"),
        (Verdict.NOT_REACHED, "check_generate was not reached"),
    ],
)
def test_a_check_that_was_not_judged_gets_nothing_and_its_answer_says_why(course, book, verdict, words):
    book.enter(receipt(state=State.CRASHED, verdicts={"generate": verdict}))
    assert points(course) == FULL | {"check_generate": 0, "which_wall": None}
    said = comments(course)
    assert list(said) == ["generate"]
    assert said["generate"].startswith(words)
    assert "2 points" in said["generate"]


def test_an_unreadable_file_gets_nothing_and_the_first_answer_says_so(course, book):
    book.enter(unreadable())
    assert set(points(course, "ira").values()) == {0}
    assert not waiting(course, "ira")
    assert comments(course, "ira") == {"softmax": "unreadable: it is empty"}


@pytest.mark.parametrize(
    ("state", "words"),
    [(State.TAMPERED, "tampered"), (State.CRASHED, "crashed outside"), (State.TIMED_OUT, "timed out outside")],
)
def test_a_state_that_no_check_explains_is_said_at_the_first_answer(course, book, state, words):
    book.enter(receipt(state=state))
    assert comments(course)["softmax"].startswith(words)


def test_no_comment_names_a_hidden_case(course, book):
    told = receipt("ira", State.UNREADABLE, notes=(f"it failed at {HIDDEN}",))
    book.enter(told)
    book.enter(receipt(state=State.NEEDS_A_PERSON, answered=False, notes=(HIDDEN, "two answers to one exercise")))
    assert comments(course, "ira")["softmax"] == "unreadable: the file is not a notebook"
    assert comments(course)["softmax"] == "needs a person: two answers to one exercise"


def test_a_comment_goes_when_its_reason_does(course, book):
    book.enter(receipt(state=State.CRASHED, verdicts={"generate": Verdict.CRASHED}))
    book.enter(receipt())
    assert not comments(course)


# What a person gave


def test_what_a_person_gave_stays_over_a_regrade(course, book):
    book.enter(receipt(), answers={"which_wall": "Both."})
    by_hand(course, "which_wall", score=1.5, extra=0.5, comment="Which one?")
    by_hand(course, "check_softmax", score=4)
    changed = receipt(environment="e2", scores={"generate": 1})
    entered = book.enter(changed, answers={"which_wall": "Both. "})
    assert entered.notes == ()
    assert not waiting(course)
    assert comments(course) == {"which_wall": "Which one?"}
    assert entered.score == 18 - 1 - 1 + 1.5 + 0.5


def test_a_written_answer_that_changed_is_looked_at_again_with_its_points_and_comment_kept(course, book):
    book.enter(receipt(), answers={"which_wall": "Both."})
    by_hand(course, "which_wall", score=1.5, comment="Which one?")
    entered = book.enter(receipt(content="c1"), answers={"which_wall": "The memory wall."})
    assert entered.notes == ("which_wall has changed since a person graded it",)
    assert waiting(course) == {"which_wall"}
    assert comments(course) == {"which_wall": "Which one?"}
    assert entered.score == 19.5
    by_hand(course, "which_wall", score=2)
    book.enter(receipt(content="c1"), answers={"which_wall": "The memory wall."})
    assert not waiting(course)


def test_an_answer_whose_text_is_not_known_counts_as_changed_with_its_file(course, book):
    book.enter(receipt())
    by_hand(course, "which_wall", score=1)
    book.enter(receipt(environment="e2"))
    assert not waiting(course)
    book.enter(receipt(content="c1"))
    assert waiting(course) == {"which_wall"}


def test_points_that_a_person_overruled_are_looked_at_again_when_the_automatic_ones_change(course, book):
    book.enter(receipt(scores={"softmax": 2}), answers={})
    by_hand(course, "check_softmax", score=5)
    book.enter(receipt(scores={"softmax": 3}), answers={})
    assert waiting(course) == {"check_softmax", "which_wall"}
    book.enter(receipt(scores={"softmax": 3}, environment="e2"), answers={})
    assert waiting(course) == {"check_softmax", "which_wall"}
    assert points(course)["check_softmax"] == 3


def test_what_a_person_has_settled_is_not_asked_again_by_the_same_receipt(course, book):
    told = receipt(state=State.NEEDS_A_PERSON)
    book.enter(told)
    by_hand(course, "which_wall", score=0)
    book.enter(told)
    assert not waiting(course)


# Another version of the lab


def test_a_check_that_the_graded_version_did_not_have_waits_for_a_person(course, book):
    old = receipt()
    old = receipt(checks=tuple(check for check in old.checks if check.name != "generate"))
    entered = book.enter(old)
    assert waiting(course) == {"check_generate", "which_wall"}
    assert entered.notes == ("check_generate is not in the version of the lab that was graded",)


def test_a_check_with_other_points_or_none_in_the_gradebook_is_reported(course, book):
    odd = [check for check in receipt().checks if check.name != "softmax"]
    odd += [CheckEvidence("softmax", 10, 10), CheckEvidence("tiling", 4, 4)]
    entered = book.enter(receipt(checks=tuple(odd)))
    assert waiting(course) == {"check_softmax", "which_wall"}
    assert sorted(entered.notes) == [
        "check_softmax is worth 5 points now and was graded out of 10",
        "check_tiling (4 points) is no longer in the gradebook",
    ]
    assert not book.pending([receipt(checks=tuple(odd))])


# Mending


def test_whatever_is_missing_or_differs_is_entered_by_the_next_run(course, book):
    receipts = Receipts(course)
    for student in ("ada", "ben", "cleo", "dan", "eve"):
        receipts.write(receipt(student))
        if student != "ben":  # a crash between the two
            book.enter(receipt(student))
    receipts.write(receipt("cleo", scores={"softmax": 1}))
    with Gradebook(database(course)) as gradebook:
        gradebook.find_grade("check_softmax", LAB, LAB, "dan").auto_score = 0
        gradebook.db.commit()
        gradebook.remove_student("eve")
    (receipts.folder / LAB / "finn.json").write_text('{"lab": ', encoding="utf-8")
    mended = reconcile(course, LAB)
    assert mended.entered == ["ben", "cleo", "dan", "eve"]
    assert [fault for fault in mended.faults if "finn" in fault and "not trusted" in fault]
    assert points(course, "cleo")["check_softmax"] == 1
    assert points(course, "dan") == points(course, "eve") == FULL | {"which_wall": None}
    assert reconcile(course, LAB).entered == []


def test_a_gradebook_that_was_lost_is_filled_again_from_the_receipts(course, released):
    receipts = Receipts(course)
    with Book(course) as book:
        book.enter(receipt())
    receipts.write(receipt())
    (course / "gradebook.db").write_bytes((released / "gradebook.db").read_bytes())
    assert reconcile(course, LAB).entered == ["ada"]
    assert points(course)["check_softmax"] == 5
