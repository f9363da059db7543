"""One submission kept as a grader keeps it, and each way in which that can be cut short."""

from types import MappingProxyType

import pytest
from nbgrader.api import Gradebook

from autograder.records import notebooks
from autograder.records.gradebook import Book, Person, reconcile
from autograder.records.receipts import Receipts
from tests.autograder.records.made_up import HIDDEN, at, database, notebook, points, receipt, rows, unreadable
from tests.autograder.submissions import FULL, LAB

ADA = Person("Ada", "Lovelace")


def record(book, receipt, made, outputs=MappingProxyType({}), submitted="2026-11-30 12:00 UTC", person=ADA):
    """Keeps what was graded, in the order that loses nothing."""
    notes = notebooks.write(book.course, receipt, made, outputs, submitted)
    Receipts(book.course.folder).write(receipt)
    entered = book.enter(receipt, person, submitted, notebooks.answers_of(made) if made else {})
    return [*notes, *entered.notes]


def test_what_was_graded_is_all_there_and_once_more_changes_nothing(course, book):
    made = notebook()
    outputs = {at(made, "softmax"): [{"output_type": "stream", "name": "stdout", "text": HIDDEN}]}
    notes = record(book, receipt(), made, outputs)
    assert notes == ["softmax: an output that names a hidden case was left out"]
    assert points(course) == FULL | {"which_wall": None}
    assert Receipts(course).read(LAB, "ada") == receipt()
    assert (course / "autograded" / "ada" / LAB / f"{LAB}.ipynb").exists()
    record(book, unreadable(), None)
    assert reconcile(course, LAB).entered == []
    before = rows(course)
    record(book, receipt(), made, outputs)
    assert rows(course) == before


@pytest.mark.parametrize("step", ["Receipts.write", "Book.enter"])
def test_what_is_cut_short_is_made_whole_by_the_next_run(course, step, monkeypatch):
    place, name = {"Receipts.write": (Receipts, "write"), "Book.enter": (Book, "enter")}[step]

    def dies(*args, **kwargs):
        raise KeyboardInterrupt

    with Book(course) as book:
        monkeypatch.setattr(place, name, dies)
        with pytest.raises(KeyboardInterrupt):
            record(book, receipt(), notebook())
        monkeypatch.undo()
        mended = reconcile(course, LAB)
        if step == "Receipts.write":  # it is graded again
            assert mended.entered == []
            record(book, receipt(), notebook())
    assert points(course) == FULL | {"which_wall": None}
    with Gradebook(database(course)) as gradebook:
        assert gradebook.find_submission(LAB, "ada").timestamp.hour == 12


def test_a_receipt_that_cannot_be_entered_costs_nobody_else_anything(course):
    (course / "late_for_ada.py").write_text(NOT_FOR_ADA, encoding="utf-8")
    with open(course / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write('c.AssignLatePenalties.plugin_class = "late_for_ada.Late"\n')
    with Book(course) as book:
        book.set_due(LAB, "2026-11-30 12:00 UTC")
    receipts = Receipts(course)
    for student in ("ada", "x" * 300, "zoe"):
        receipts.write(receipt(student))
        notebooks.write(course, receipt(student), notebook(), submitted="2026-12-01 12:00 UTC")
    mended = reconcile(course, LAB)
    assert mended.entered == ["x" * 300, "zoe"]
    assert len(mended.faults) == 1
    assert "ada: the course's late penalty cannot be had" in mended.faults[0]


NOT_FOR_ADA = """
from nbgrader.plugins import BasePlugin

class Late(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return {}[student_id] if student_id == "ada" else 1
"""


def test_what_a_grade_needs_to_be_written_again_is_all_in_the_course(course, book, monkeypatch):
    """The gradebook's answers come from the autograded notebook, made safe; they count as the same text."""
    made = notebook("<i>Both</i> & <blink>all</blink> [x](javascript:y)")
    record(book, receipt(), made)
    kept = notebooks.kept(book.course, LAB, "ada").answers
    before = rows(course)
    book.enter(receipt(), answers=kept)
    assert rows(course) == before
