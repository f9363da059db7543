"""Exports: every state stays what it is, no name moves a column or becomes a formula, and no student is lost on the way."""

import csv
import io
from pathlib import Path

import pytest

from autograder.evidence import State
from autograder.records.gradebook import Book
from autograder.records.receipts import Receipts
from autograder.reports.export import export
from autograder.reports.filling.sheets import FORMULA
from tests.autograder.records.made_up import HIDDEN, by_hand, receipt
from tests.autograder.reports.a_class import FORMULA as NAME
from tests.autograder.reports.a_class import POINTS, STATES
from tests.autograder.submissions import LAB

CANVAS = [
    ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Quiz (7)", "Lab 00: Two walls (1234)", "Final Score"],
    ["", "", "", "", "", "", "Manual Posting", ""],
    ["    Points Possible", "", "", "", "", "10", "20", "(read only)"],
    ["Lovelace, Ada", "101", "s1", "ada", "A", "9", "", "90"],
    ["Smith, Jr, Ben", "102", "s2", "ben", "A", "9", "", "90"],
    ["Patra, Cleo", "103", "s3", "cleo", "B", "9", "", "90"],
    ["Dan", "104", "s4", "dan", "B", "9", "12", "90"],
    ["Eve", "105", "s5", "eve", "B", "9", "", "90"],
    [NAME, "106", "s6", "fay@example.org", "B", "9", "", "90"],
    ["Ira", "107", "s7", "ira", "B", "9", "", "90"],
    ["Nowhere, Nora", "108", "s8", "nora", "B", "9", "EX", "90"],
    ["Student, Test", "999", "", "abc", "B", "", "", ""],
]
MOODLE = [
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    "Maximum Grade",
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
]


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def sheet(path: Path, lines: list[list[str]], mark: str = "\ufeff") -> Path:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    path.write_text(mark + text.getvalue(), encoding="utf-8", newline="\n")
    return path


def worksheet(path: Path, students=tuple(STATES), most: str = "20.00", **changed: str) -> Path:
    """A Moodle worksheet; `changed` replaces cells of everybody, by the first word of their column."""
    lines = []
    for number, student in enumerate(students, 4711):
        row = [
            f"Participant {number}",
            student.title(),
            f"{student}@example.org",
            "Submitted",
            "",
            most,
            "Yes",
            "-",
            "-",
            "",
        ]
        for word, cell in changed.items():
            row[next(place for place, name in enumerate(MOODLE) if name.startswith(word))] = cell
        lines.append(row)
    return sheet(path, [MOODLE, *lines])


# nbgrader's columns


def test_the_csv_has_nbgraders_columns_and_the_state_behind(graded, tmp_path):
    done = export(graded, LAB, "csv", tmp_path / "grades.csv")
    header, *lines = rows(tmp_path / "grades.csv")
    assert ",".join(header) == (
        "assignment,duedate,timestamp,student_id,last_name,first_name,email,"
        "raw_score,late_submission_penalty,score,max_score,state"
    )
    assert {line[3]: line[11] for line in lines} == STATES
    assert {line[3]: float(line[9]) if line[9] else None for line in lines} == POINTS
    assert {line[10] for line in lines} == {"20.0"}
    assert done.states[State.GRADED] == 2
    assert done.paths == [tmp_path / "grades.csv"]


def test_what_is_not_final_has_no_points_in_any_column(graded, tmp_path):
    export(graded, LAB, "csv", tmp_path / "grades.csv")
    lines = {line[3]: line for line in rows(tmp_path / "grades.csv")}
    assert lines["nora"][7:10] == lines["dan"][7:10] == ["", "", ""]


def test_a_name_with_a_comma_moves_no_column_and_a_formula_is_quoted(graded, tmp_path):
    for format in ("csv", "gradescope"):
        export(graded, LAB, format, tmp_path / "grades.csv")
        header, *lines = rows(tmp_path / "grades.csv")
        assert {len(line) for line in lines} == {len(header)}
        assert not [cell for line in lines for cell in line if cell.startswith(FORMULA)]
        assert "'" + NAME in {cell for line in lines for cell in line}
        assert "Smith, Jr" in {cell for line in lines for cell in line}


def test_points_that_a_person_gave_and_a_late_penalty_are_in_the_sum(graded, tmp_path):
    config = graded / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8") + "c.LateSubmissionPlugin.penalty_method = 'zero'\n", encoding="utf-8")
    by_hand(graded, "check_generate", "ben", score=1.5)
    with Book(graded) as book:
        book.set_due(LAB, "2026-12-24 12:00 UTC")
    export(graded, LAB, "csv", tmp_path / "grades.csv")
    assert {line[3]: line[9] for line in rows(tmp_path / "grades.csv")}["ben"] == "17.5"
    with Book(graded) as book:
        book.set_due(LAB, "2026-11-01 12:00 UTC")
    export(graded, LAB, "csv", tmp_path / "grades.csv")
    line = next(line for line in rows(tmp_path / "grades.csv") if line[3] == "ben")
    assert line[7:10] == ["17.5", "17.5", "0.0"]
    assert line[11] == "crashed"


def test_a_second_export_has_the_same_bytes(graded, tmp_path):
    export(graded, LAB, "csv", tmp_path / "one.csv")
    export(graded, LAB, "csv", tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_a_receipt_that_the_gradebook_has_not_stops_the_export(graded, tmp_path):
    Receipts(graded).write(receipt("zoe"))
    with pytest.raises(ValueError, match=r"zoe: run `autograder grade"):
        export(graded, LAB, "csv", tmp_path / "grades.csv")
    assert not (tmp_path / "grades.csv").exists()


def test_a_torn_receipt_stops_the_export_and_is_named(graded, tmp_path):
    Receipts(graded).path(LAB, "ada").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="ada"):
        export(graded, LAB, "csv", tmp_path / "grades.csv")


# Gradescope


def test_gradescopes_columns_keep_missing_ungraded_and_graded_apart(graded, tmp_path):
    export(graded, LAB, "gradescope", tmp_path / "grades.csv")
    header, *lines = rows(tmp_path / "grades.csv")
    assert header[:9] == [
        *("First Name", "Last Name", "SID", "Email", "Total Score", "Max Points", "Status"),
        *("Submission Time", "Lateness (H:M:S)"),
    ]
    found = {line[2]: dict(zip(header, line, strict=True)) for line in lines}
    assert {student: line["State"] for student, line in found.items()} == STATES
    assert found["nora"]["Status"] == "Missing"
    assert found["dan"]["Status"] == "Ungraded"
    assert found["dan"]["Total Score"] == ""
    assert found["ben"]["Status"] == "Graded"
    assert "check_generate" in found["ben"]["Comment"]
    assert found["ada"][next(name for name in header if "which_wall (2 pts)" in name)] == "2"


def test_no_export_names_a_hidden_case(graded, tmp_path):
    canvas, moodle = sheet(tmp_path / "canvas.csv", CANVAS), worksheet(tmp_path / "moodle.csv")
    export(graded, LAB, "csv", tmp_path / "out.csv")
    export(graded, LAB, "gradescope", tmp_path / "out2.csv")
    export(graded, LAB, "canvas", tmp_path / "out3.csv", canvas)
    export(graded, LAB, "moodle", tmp_path / "out4.csv", moodle)
    assert len(list(tmp_path.glob("out*.csv"))) == 5
    assert not [path for path in tmp_path.glob("out*.csv") if HIDDEN in path.read_text("utf-8-sig")]


# Canvas


def test_canvas_gets_the_labs_column_alone_and_the_states_beside_it(graded, tmp_path):
    given = sheet(tmp_path / "fresh.csv", CANVAS)
    done = export(graded, LAB, "canvas", tmp_path / "upload.csv", given)
    header, posting, possible, *lines = rows(tmp_path / "upload.csv")
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 00: Two walls (1234)"]
    assert posting[-1] == "Manual Posting"
    assert possible == ["    Points Possible", "", "", "", "", "20"]
    grades = {line[1]: line[-1] for line in lines}
    assert list(grades.values()) == ["20", "16", "13", "", "15", "15.86", "0", "EX", ""]
    assert (tmp_path / "upload.csv").read_bytes().startswith(b"\xef\xbb\xbfStudent,ID")
    assert {line[0]: line[6] for line in rows(tmp_path / "upload.states.csv")[1:]} == STATES
    assert done.paths == [tmp_path / "upload.csv", tmp_path / "upload.states.csv"]
    assert any("Nora" in note and "excused" in note for note in done.notes)
    assert any("Dan" in note and "empties" in note for note in done.notes)
    assert rows(given) == CANVAS


def test_a_sheet_without_a_mark_gets_none(graded, tmp_path):
    export(graded, LAB, "canvas", tmp_path / "upload.csv", sheet(tmp_path / "fresh.csv", CANVAS, mark=""))
    assert (tmp_path / "upload.csv").read_bytes().startswith(b"Student,ID")


def test_a_canvas_sheet_without_a_student_who_handed_in_is_refused_with_the_name(graded, tmp_path):
    lines = [line for line in CANVAS if line[3] not in ("ben", "eve", "nora")]
    with pytest.raises(ValueError, match=r"2 students who handed in are not in the sheet: eve, ben"):
        export(graded, LAB, "canvas", tmp_path / "upload.csv", sheet(tmp_path / "fresh.csv", lines))
    assert not list(tmp_path.glob("upload*"))


def test_a_canvas_student_whom_the_gradebook_has_not_gets_no_grade_and_is_named(graded, tmp_path):
    given = sheet(tmp_path / "fresh.csv", [*CANVAS, ["Zed", "110", "s10", "zed", "A", "", "", ""]])
    done = export(graded, LAB, "canvas", tmp_path / "upload.csv", given)
    assert rows(tmp_path / "upload.csv")[-1][-1] == ""
    assert [note for note in done.notes if note.endswith("without a grade: Zed")]


def test_a_student_in_two_rows_is_refused(graded, tmp_path):
    given = sheet(tmp_path / "fresh.csv", [*CANVAS, ["Ben again", "111", "s11", "ben", "A", "", "", ""]])
    with pytest.raises(ValueError, match="2 rows that could be ben"):
        export(graded, LAB, "canvas", tmp_path / "upload.csv", given)


def test_a_column_that_is_not_called_like_the_lab_is_named(graded, tmp_path):
    given = sheet(
        tmp_path / "fresh.csv", [[cell.replace("Lab 00: Two walls", "Homework") for cell in line] for line in CANVAS]
    )
    with pytest.raises(ValueError, match="name one of Quiz, Homework"):
        export(graded, LAB, "canvas", tmp_path / "upload.csv", given)
    export(graded, LAB, "canvas", tmp_path / "upload.csv", given, column="Homework")
    assert rows(tmp_path / "upload.csv")[0][-1] == "Homework (1234)"


def test_a_sheet_that_grades_out_of_something_else_is_refused(graded, tmp_path):
    given = sheet(tmp_path / "fresh.csv", [[cell.replace("20", "100") for cell in line] for line in CANVAS])
    with pytest.raises(ValueError, match="Points Possible in the sheet is 100, and lab00_two_walls is worth 20"):
        export(graded, LAB, "canvas", tmp_path / "upload.csv", given)
    with pytest.raises(ValueError, match="Maximum Grade in the sheet is 100"):
        export(graded, LAB, "moodle", tmp_path / "upload.csv", worksheet(tmp_path / "m.csv", most="100,00"))


# Moodle


def test_moodle_gets_grades_and_states_in_its_own_columns(graded, tmp_path):
    given = worksheet(tmp_path / "worksheet.csv")
    export(graded, LAB, "moodle", tmp_path / "upload.csv", given)
    header, *lines = rows(tmp_path / "upload.csv")
    assert header == MOODLE
    found = dict(zip(STATES, lines, strict=True))
    assert {student: line[4] for student, line in found.items()} == {
        **{"ada": "20", "ben": "16", "cleo": "13", "dan": "", "eve": "15", "fay": "15.86", "ira": "0", "nora": ""}
    }
    said = {student: line[9] for student, line in found.items()}
    assert said["ada"] == ""
    assert said["nora"] == "autograder: not submitted"
    assert said["dan"] == "autograder: needs a person; a person has still to grade which_wall"
    assert said["ben"].startswith("autograder: crashed; crashed in check_generate")
    assert said["ira"] == "autograder: unreadable; it is empty"
    assert said["cleo"].startswith("autograder: timed out")
    assert said["eve"].startswith("autograder: tampered")
    assert (tmp_path / "upload.csv").read_bytes().startswith(b"\xef\xbb\xbfIdentifier")
    assert not (tmp_path / "upload.states.csv").exists()


def test_moodle_keeps_what_a_person_wrote_and_replaces_what_we_wrote(graded, tmp_path):
    given = worksheet(tmp_path / "worksheet.csv", Feedback="Well done.<br />autograder: old words")
    export(graded, LAB, "moodle", given, given)
    said = dict(zip(STATES, (line[9] for line in rows(given)[1:]), strict=True))
    assert said["ada"] == "Well done."
    assert said["nora"] == "Well done.<br />autograder: not submitted"
    export(graded, LAB, "moodle", tmp_path / "again.csv", given)
    assert (tmp_path / "again.csv").read_bytes() == given.read_bytes()


def test_moodle_without_comments_gets_the_states_in_a_file_beside(graded, tmp_path):
    lines = [line[:-1] for line in rows(worksheet(tmp_path / "worksheet.csv"))]
    done = export(graded, LAB, "moodle", tmp_path / "upload.csv", sheet(tmp_path / "short.csv", lines))
    assert done.paths[1] == tmp_path / "upload.states.csv"
    assert any("Feedback comments" in note for note in done.notes)


def test_moodle_students_are_found_by_the_number_that_a_download_names_them_by(course, tmp_path):
    with Book(course) as book:
        for one in (receipt("4711", answered=False), receipt("4712", scores={"softmax": 0.0}, answered=False)):
            Receipts(course).write(one)
            book.enter(one)
    export(course, LAB, "moodle", tmp_path / "upload.csv", worksheet(tmp_path / "worksheet.csv", ("b", "a")))
    assert [line[4] for line in rows(tmp_path / "upload.csv")[1:]] == ["18", "13"]


def test_moodle_students_who_cannot_be_changed_are_named(graded, tmp_path):
    students = list(STATES)
    done = export(
        graded, LAB, "moodle", tmp_path / "out.csv", worksheet(tmp_path / "w.csv", students, **{"Grade can": "No"})
    )
    assert any("cannot be changed: Ada, Ben" in note for note in done.notes)


def test_two_students_in_one_row_are_refused(graded, tmp_path):
    with Book(graded) as book:
        one = receipt("ada@example.org")
        Receipts(graded).write(one)
        book.enter(one)
    with pytest.raises(ValueError, match=r"could be any of ada@example\.org, ada"):
        export(graded, LAB, "moodle", tmp_path / "upload.csv", worksheet(tmp_path / "worksheet.csv"))
