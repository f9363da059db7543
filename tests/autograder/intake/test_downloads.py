"""Downloads of Canvas, Moodle and Gradescope are recognised, zipped or unpacked; a student is known by the platform's number."""

import json
from datetime import UTC, datetime

import pytest

from autograder.intake import Unreadable
from autograder.intake.found import find, look
from tests.autograder.intake.trees import LAB, body, fill, only, pack, packed, who

CANVAS = {
    f"lovelaceada_12_900_{LAB}.ipynb": body("ada"),
    f"babbageben_LATE_34_901_{LAB}-1.ipynb": body("ben"),
    f"leeann_56_902_{LAB}.ipynb": body("one Ann"),
    f"leeann_57_903_{LAB}.ipynb": body("the other Ann"),
}
MOODLE = {
    "Ada Lovelace_12_assignsubmission_file/work.ipynb": body("ada"),
    "O'Neil, Ann_34_assignsubmission_file/work.ipynb": body("ann"),
    "O'Neil, Ann_34_assignsubmission_onlinetext/onlinetext.html": "<p>hello</p>",
    "Zoë Đặng_56_assignsubmission_file/work.zip": packed({"work.ipynb": body("zoë")}),
    "No File_78_assignsubmission_onlinetext/onlinetext.html": "<p>hello</p>",
}
YAML = """\
---
submission_100:
  :submitters:
  - :name: "O'Neil, Ann"
    :sid: '0017'
    :email: ann@example.edu
  :created_at: 2026-09-10 17:23:01.123456789 Z
  :score: 0.0
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests: []
submission_101:
  :submitters:
  - :name: Ada
    :email: ada@example.edu
  - :name: Ben
    :email: ben@example.edu
  :created_at: 2026-09-11 10:00:00.000000000 +02:00
"""
GRADESCOPE = {
    "assignment_1_export/submission_metadata.yml": YAML,
    "assignment_1_export/submission_100/work.ipynb": body("ann"),
    "assignment_1_export/submission_101/work.ipynb": body("ada and ben"),
    "assignment_1_export/submission_102/work.ipynb": body("nobody"),
}


@pytest.fixture(params=["zip", "folder"])
def download(request, tmp_path):
    return lambda files: (
        pack(tmp_path / "submissions.zip", files) if request.param == "zip" else fill(tmp_path / "in", files)
    )


def test_a_download_of_canvas_is_recognised(download):
    found = look(LAB, [download(CANVAS)])
    assert who(found.submissions) == {"12": "ada", "34": "ben", "56": "one Ann", "57": "the other Ann"}
    assert {one.student: one.student_name for one in found.submissions}["12"] == "lovelaceada"
    assert {one.student for one in found.submissions if one.late} == {"34"}
    assert found.submissions[0].identifiers == {"canvas_id": "12"}
    assert "a download of Canvas, 4 submissions" in found.notes[0]


def test_of_several_attempts_on_canvas_the_latest_counts(download):
    files = {f"ada_12_900_{LAB}.ipynb": body("first"), f"ada_12_950_{LAB}-1.ipynb": body("second")}
    one = only(find(LAB, [download(files)]))
    assert who([one]) == {"12": "second"}
    assert f"ada_12_950_{LAB}-1.ipynb is graded, and not ada_12_900_{LAB}.ipynb" in one.notes[0]


def test_a_download_of_moodle_is_recognised(download):
    found = {one.student: one for one in find(LAB, [download(MOODLE)])}
    assert who(found[key] for key in ("12", "34", "56")) == {"12": "ada", "34": "ann", "56": "zoë"}
    assert [found[key].student_name for key in ("34", "56")] == ["O'Neil, Ann", "Zoë Đặng"]
    assert {one.source for one in found.values()} == {"moodle"}
    with pytest.raises(Unreadable, match=r"no notebook was handed in, only onlinetext\.html"):
        found["78"].read()


def test_a_download_of_moodle_in_one_folder_is_recognised(download):
    files = {
        "Ada Lovelace_12_assignsubmission_file_work.ipynb": body("ada"),
        "Ben_34_assignsubmission_file_x.ipynb": body("ben"),
    }
    assert who(find(LAB, [download(files)])) == {"12": "ada", "34": "ben"}


def test_an_export_of_gradescope_is_recognised(download):
    found = {one.student: one for one in find(LAB, [download(GRADESCOPE)])}
    assert who(found.values()) == {
        "0017": "ann",
        "ada@example.edu": "ada and ben",
        "ben@example.edu": "ada and ben",
        "submission_102": "nobody",
    }
    ann = found["0017"]
    assert (ann.student_name, ann.identifiers["email"]) == ("O'Neil, Ann", "ann@example.edu")
    assert ann.timestamp == datetime(2026, 9, 10, 17, 23, 1, 123456, tzinfo=UTC)
    assert found["ada@example.edu"].timestamp == datetime(2026, 9, 11, 8, tzinfo=UTC)
    assert found["ada@example.edu"].notes == ("handed in together with Ben",)
    assert "does not say whose it is" in found["submission_102"].notes[0]


@pytest.mark.parametrize("text", ["", "[]", "{a: ", "submission_100: 3", "submission_100: {':submitters': {a: 1}}"])
def test_a_table_of_gradescope_that_cannot_be_read_loses_no_submission(download, text):
    files = GRADESCOPE | {"assignment_1_export/submission_metadata.yml": text}
    found = find(LAB, [download(files)])
    assert [one.student for one in found] == ["submission_100", "submission_101", "submission_102"]


def test_a_zip_with_one_folder_around_all_is_as_good_as_the_folder(tmp_path):
    path = pack(tmp_path / "all.zip", {"all/ada.ipynb": body("ada"), "all/ben.ipynb": body("ben")})
    assert who(find(LAB, [path])) == {"ada": "ada", "ben": "ben"}
    path = pack(tmp_path / "all.zip", {"all/ada/w.ipynb": body("ada"), "all/ben/w.ipynb": body("ben")})
    assert who(find(LAB, [path])) == {"ada": "ada", "ben": "ben"}
    path = pack(tmp_path / "all.zip", {"ada/w.ipynb": body("ada"), "ben/w.ipynb": body("ben")})
    assert who(find(LAB, [path])) == {"ada": "ada", "ben": "ben"}


def test_nbgraders_tree_in_a_zip_is_recognised(tmp_path):
    files = {f"submitted/{name}/{LAB}/{LAB}.ipynb": body(name) for name in ("ada", "ben")}
    found = find(LAB, [pack(tmp_path / "all.zip", files)])
    assert who(found) == {"ada": "ada", "ben": "ben"}
    assert {one.source for one in found} == {"nbgrader"}


def test_two_students_with_one_id_are_refused_with_both_names(tmp_path):
    twice = YAML.replace("  :created_at: 2026-09-11", "    :sid: '0017'\n  :created_at: 2026-09-11")
    files = GRADESCOPE | {"assignment_1_export/submission_metadata.yml": twice}
    with pytest.raises(ValueError, match=r"two students have the id '0017': 'Ben' and \"O'Neil, Ann\""):
        find(LAB, [pack(tmp_path / "a.zip", files)])


@pytest.mark.parametrize("sid", ["../../etc/passwd", "a/b", "..", "x" * 500, "\x1b[2J"])
def test_an_id_from_a_table_leads_nowhere(tmp_path, sid):
    files = GRADESCOPE | {"assignment_1_export/submission_metadata.yml": YAML.replace("'0017'", json.dumps(sid))}
    for one in find(LAB, [pack(tmp_path / "a.zip", files)]):
        assert "/" not in one.student
        assert one.student not in ("", ".", "..")
        assert one.student.isprintable()
        assert len(one.student.encode()) < 200
