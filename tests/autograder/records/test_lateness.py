"""Due dates, extensions and penalties, with nbgrader's own gradebook and plugins."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from nbgrader.api import Gradebook

from autograder.records.course import known_as
from autograder.records.gradebook import Book
from autograder.records.lateness import amount, extensions, grant, instant, stamp
from tests.autograder.records.made_up import by_hand, database, receipt, rows
from tests.autograder.submissions import LAB

DUE = "2026-11-30 18:00 Europe/Berlin"  # 17:00 UTC


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-11-30 18:00 Europe/Berlin", (17, 0)),
        ("2026-07-30 18:00 Europe/Berlin", (16, 0)),
        ("2026-11-30 18:00:00.5 UTC", (18, 0)),
        ("2026-11-30T18:00:00+05:30", (12, 30)),
        ("2026-11-30T18:00:00Z", (18, 0)),
        ("2026-11-30 18:00", (18, 0)),
        ("2026-11-30 06:00 PM", (18, 0)),
        (datetime(2026, 11, 30, 18, tzinfo=timezone(timedelta(hours=-8))), (2, 0)),
    ],
)
def test_a_moment_is_kept_in_utc(text, wanted):
    found = instant(text)
    assert (found.hour, found.minute) == wanted
    assert found.tzinfo is None
    assert instant(stamp(found)) == found


@pytest.mark.parametrize("text", ["2026-11-30 18:00 Europe/Belrin", "next week", "2026-13-30 18:00"])
def test_a_moment_that_cannot_be_understood_is_refused(text):
    with pytest.raises(ValueError, match="Europe/Berlin"):
        instant(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3 days", timedelta(3)),
        ("36 hours", timedelta(hours=36)),
        ("1 week, 2 days", timedelta(9)),
        ("1.5 hours", timedelta(minutes=90)),
        ("0 days", timedelta()),
    ],
)
def test_an_extension_is_read_from_words(text, wanted):
    assert amount(text) == wanted


@pytest.mark.parametrize("text", ["", "3", "tomorrow", "3 days or so", "-3 days"])
def test_an_extension_in_other_words_is_refused(text):
    with pytest.raises(ValueError, match="weeks, days, hours or minutes"):
        amount(text)


def test_extensions_are_granted_replaced_and_taken_back(tmp_path):
    assert extensions(tmp_path) == {}
    grant(tmp_path, LAB, "Smith, Jr", "3 days")
    grant(tmp_path, LAB, "=1+1", "90 minutes")
    grant(tmp_path, LAB, "Smith, Jr", "1 week")
    assert extensions(tmp_path) == {(LAB, "Smith, Jr"): timedelta(7), (LAB, "=1+1"): timedelta(minutes=90)}
    grant(tmp_path, LAB, "Smith, Jr", "")
    assert extensions(tmp_path) == {(LAB, "=1+1"): timedelta(minutes=90)}


def test_a_spoilt_table_is_refused_with_its_line(tmp_path):
    table = tmp_path / "extensions.csv"
    table.write_text("lab,student\n", encoding="utf-8")
    with pytest.raises(ValueError, match="it lacks extension"):
        extensions(tmp_path)
    table.write_text("\ufefflab,student,extension\nl,ada,2 days\nl,ben,soon\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 3: an extension is"):
        extensions(tmp_path)


def penalise_late(course, method: str = 'c.LateSubmissionPlugin.penalty_method = "zero"') -> None:
    with open(course / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write(method + "\n")


def test_a_late_submission_loses_what_nbgrader_s_plugin_says(course):
    penalise_late(course)
    with Book(course) as book:
        book.set_due(LAB, DUE)
        assert book.enter(receipt("ada"), submitted="2026-11-30 17:00 UTC").late is None
        assert book.enter(receipt("ben"), submitted="2026-11-30 17:01 UTC").late == 18
        assert book.enter(receipt("cleo")).late is None
    with Gradebook(database(course)) as gradebook:
        late = gradebook.find_submission(LAB, "ben")
        assert (late.score, late.late_submission_penalty, late.total_seconds_late) == (18, 18, 60)
        assert gradebook.find_submission(LAB, "ada").late_submission_penalty == 0


def test_without_a_penalty_in_the_configuration_lateness_is_noted_and_costs_nothing(course, book):
    book.set_due(LAB, DUE)
    assert book.enter(receipt(), submitted="2026-12-01 12:00 UTC").late == 0
    with Gradebook(database(course)) as gradebook:
        assert gradebook.find_submission(LAB, "ada").total_seconds_late == 19 * 3600


def test_an_extension_counts_whether_it_was_granted_before_or_after_the_grading(course):
    penalise_late(course)
    grant(course, LAB, "ada", "1 day")
    with Book(course) as book:
        book.set_due(LAB, DUE)
        for student in ("ada", "ben"):
            book.enter(receipt(student), submitted=datetime(2026, 12, 1, 12, tzinfo=UTC))
        assert penalties(course) == {"ada": 0, "ben": 18}
        grant(course, LAB, "ben", "1 day")
        book.penalise(LAB)
        assert penalties(course) == {"ada": 0, "ben": 0}
        grant(course, LAB, "ben", "0 days")
        book.penalise(LAB)
        assert penalties(course) == {"ada": 0, "ben": 18}


@pytest.mark.parametrize("student", ["a/b", "Smith, Jr", '"Smith"', ".hidden", "x" * 200, "a\nb", "<b>ada</b>"])
def test_an_extension_reaches_a_student_whom_nbgrader_knows_by_another_name(course, student):
    penalise_late(course)
    with Book(course) as book:
        book.set_due(LAB, DUE)
        grant(course, LAB, student, "1 day")
        for one in (student, "ben"):
            book.enter(receipt(one), submitted="2026-12-01 12:00 UTC")
        assert penalties(course) == {known_as(student): 0, "ben": 18}
        grant(course, LAB, "ben", "1 day")
        book.penalise(LAB)
    assert penalties(course)["ben"] == 0


def test_an_extension_that_nbgrader_granted_is_kept(course):
    penalise_late(course)
    with Book(course) as book:
        book.set_due(LAB, DUE)
        book.enter(receipt(), submitted="2026-12-01 12:00 UTC")
        with Gradebook(database(course)) as gradebook:
            gradebook.grant_extension(LAB, "ada", days=2)
        assert book.enter(receipt(), submitted="2026-12-01 12:00 UTC").late is None


def test_an_extension_of_a_lab_without_a_due_date_breaks_nothing(course, book):
    grant(course, LAB, "ada", "1 day")
    book.enter(receipt(), submitted="2026-12-01 12:00 UTC")
    with Gradebook(database(course)) as gradebook:
        assert gradebook.find_submission(LAB, "ada").total_seconds_late == 0


def test_a_penalty_follows_what_a_person_graded_since(course):
    penalise_late(course)
    with Book(course) as book:
        book.set_due(LAB, DUE)
        book.enter(receipt(), submitted="2026-12-01 12:00 UTC")
        by_hand(course, "which_wall", score=2)
        book.penalise(LAB)
    assert penalties(course) == {"ada": 20}


PLUGIN = """
from nbgrader.plugins import BasePlugin

class AnHour(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return {answer}
"""


@pytest.mark.parametrize(("answer", "wanted"), [("total_seconds_late / 3600", 2), ("99", 18), ("-1", 0), ("None", 0)])
def test_an_instructor_s_own_plugin_is_used_within_the_score(course, answer, wanted):
    name = f"late_{abs(hash(answer))}"
    (course / f"{name}.py").write_text(PLUGIN.format(answer=answer), encoding="utf-8")
    penalise_late(course, f'c.AssignLatePenalties.plugin_class = "{name}.AnHour"')
    with Book(course) as book:
        book.set_due(LAB, DUE)
        book.enter(receipt(), submitted="2026-11-30 19:00 UTC")
    assert penalties(course) == {"ada": wanted}


def test_a_plugin_that_fails_is_named_and_nothing_is_entered(course):
    (course / "late_broken.py").write_text(PLUGIN.format(answer="score / 0"), encoding="utf-8")
    penalise_late(course, 'c.AssignLatePenalties.plugin_class = "late_broken.AnHour"')
    with Book(course) as book:
        book.set_due(LAB, DUE)
        before = rows(course)
        with pytest.raises(ValueError, match="late penalty cannot be had: ZeroDivisionError"):
            book.enter(receipt(), submitted="2026-11-30 19:00 UTC")
    assert rows(course) == before


def penalties(course) -> dict[str, float]:
    with Gradebook(database(course)) as gradebook:
        return {one.student.id: one.late_submission_penalty for one in gradebook.assignment_submissions(LAB)}
