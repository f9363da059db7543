"""Submissions are found in nbgrader's tree and in folders, and names are data, whatever is in them."""

import os
import shutil
from datetime import UTC, datetime

import pytest

from autograder.intake import Unreadable
from autograder.intake.found import find
from tests.autograder.intake.trees import LAB, body, fill, only, packed, who

NAMES = ["O'Neil, Ann", 'Ada "Countess" King', "Zoë Đặng", "=HYPERLINK(1)", "+49", "-x", "@sum", "a;b c", "Smith, Jr."]


# nbgrader's tree


@pytest.fixture
def course(tmp_path):
    files = {f"submitted/{name}/{LAB}/{LAB}.ipynb": body(name) for name in ("ada", "ben")}
    files |= {f"submitted/ada/lab99/{LAB}.ipynb": body("another lab"), f"source/{LAB}/{LAB}.ipynb": body("the author")}
    files |= {f"submitted/ada/{LAB}/timestamp.txt": "2026-10-01 12:30:00.5 UTC"}
    files |= {f"{folder}/ada/{LAB}/{LAB}.ipynb": body("graded") for folder in ("autograded", "feedback")}
    files |= {f"release/{LAB}/{LAB}.ipynb": body("the release")}
    return fill(tmp_path / "course", files)


@pytest.mark.parametrize("path", [".", "submitted"])
def test_nbgraders_tree_is_found_from_its_top(course, path):
    found = find(LAB, [course / path])
    assert who(found) == {"ada": "ada", "ben": "ben"}
    assert {one.source for one in found} == {"nbgrader"}
    assert {one.name for one in found} == {f"{LAB}.ipynb"}


@pytest.mark.parametrize("path", ["", LAB, f"{LAB}/{LAB}.ipynb"])
def test_nbgraders_tree_is_found_from_within(course, path):
    assert who(find(LAB, [course / "submitted" / "ada" / path])) == {"ada": "ada"}


def test_paths_that_overlap_give_each_submission_once(course):
    found = find(LAB, [course / "submitted" / "ada", course, course / "submitted"])
    assert who(found) == {"ada": "ada", "ben": "ben"}
    assert not [one.notes for one in found if one.notes]


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2026-10-01 12:30:00.5 UTC", 12),
        ("2026-10-01 12:30:00.5 Europe/Berlin", 10),
        ("2026-10-01 12:30:00 +0200", 10),
        ("2026-10-01 12:30:00", 12),
        ("2026-10-01T12:30:00+02:00\n", 10),
    ],
)
def test_the_time_of_a_submission_is_nbgraders(course, text, hour):
    fill(course, {f"submitted/ada/{LAB}/timestamp.txt": text})
    times = {one.student: one.timestamp for one in find(LAB, [course])}
    assert times["ada"].replace(microsecond=0) == datetime(2026, 10, 1, hour, 30, tzinfo=UTC)
    assert times["ben"] is None


@pytest.mark.parametrize(
    "text", ["yesterday", "", "2026-13-45 12:00:00 UTC", "2026-10-01 12:30:00 Nowhere/Land", "\0\0"]
)
def test_a_time_that_cannot_be_read_is_said(course, text):
    fill(course, {f"submitted/ada/{LAB}/timestamp.txt": text})
    ada = find(LAB, [course])[0]
    assert ada.timestamp is None
    assert "timestamp.txt holds no time" in ada.notes[0]


def test_a_notebook_with_another_name_is_found(course):
    (course / "submitted" / "ada" / LAB / f"{LAB}.ipynb").rename(
        course / "submitted" / "ada" / LAB / "my work (1).ipynb"
    )
    assert find(LAB, [course])[0].name == "my work (1).ipynb"
    assert who(find(LAB, [course]))["ada"] == "ada"


def test_a_folder_without_a_notebook_is_a_submission_that_cannot_be_read(course):
    (course / "submitted" / "ada" / LAB / f"{LAB}.ipynb").unlink()
    ada = find(LAB, [course])[0]
    with pytest.raises(Unreadable, match=r"no notebook was handed in, only timestamp\.txt"):
        ada.read()


# Folders


def test_a_folder_holds_a_notebook_for_each_student(tmp_path):
    fill(tmp_path / "in", {f"{name}.ipynb": body(name) for name in NAMES})
    found = find(LAB, [tmp_path / "in"])
    assert who(found) == {name: name for name in NAMES}
    assert {one.source for one in found} == {"folder"}


def test_a_folder_holds_a_folder_for_each_student(tmp_path):
    fill(tmp_path / "in", {f"{name}/work.ipynb": body(name) for name in NAMES})
    assert who(find(LAB, [tmp_path / "in"])) == {name: name for name in NAMES}


def test_of_several_notebooks_the_one_of_the_lab_counts_and_the_others_are_named(tmp_path):
    files = {"ada/scratch.ipynb": b"{}", "ada/final.ipynb": body("ada"), "ada/.ipynb_checkpoints/final.ipynb": b"{}"}
    one = only(find(LAB, [fill(tmp_path / "in", files)]))
    assert one.name == "final.ipynb"
    assert one.notes == ("ada/final.ipynb is graded, and not ada/scratch.ipynb",)


def test_what_is_no_submission_is_left_alone(tmp_path):
    files = {"ada.ipynb": body("ada"), "roster.csv": "x", "README.md": "x", "tool.py": "print(1)", ".DS_Store": "x"}
    assert who(find(LAB, [fill(tmp_path / "in", files)])) == {"ada": "ada"}


def test_a_script_of_the_lab_is_a_submission(tmp_path):
    files = {"ada.py": f'check = lab("{LAB}")\n', "ben.ipynb.txt": body("ben")}
    assert [one.student for one in find(LAB, [fill(tmp_path / "in", files)])] == ["ada", "ben"]


def test_a_single_notebook_is_its_students(tmp_path):
    fill(tmp_path / "ada", {f"{LAB}.ipynb": body("ada"), "ben.ipynb": body("ben")})
    assert who(find(LAB, [tmp_path / "ada" / f"{LAB}.ipynb"])) == {"ada": "ada"}
    assert who(find(LAB, [tmp_path / "ada" / "ben.ipynb"])) == {"ben": "ben"}


@pytest.mark.parametrize("name", ["ada.zip", "ada/work.zip", "ada/work.tar.gz"])
def test_a_notebook_in_an_archive_is_found(tmp_path, name):
    fill(tmp_path / "in", {name: packed({"deep/work.ipynb": body("ada")})})
    if name.endswith(".gz"):
        fill(tmp_path / "x", {"deep/work.ipynb": body("ada")})
        (tmp_path / "in" / name).unlink()
        shutil.make_archive(str(tmp_path / "in" / name.removesuffix(".tar.gz")), "gztar", tmp_path / "x")
    assert who(find(LAB, [tmp_path / "in"])) == {"ada": "ada"}


# Links


def test_a_link_to_the_notebook_of_another_is_not_followed(course):
    (course / "submitted" / "eve" / LAB).mkdir(parents=True)
    os.symlink(course / "submitted" / "ada" / LAB / f"{LAB}.ipynb", course / "submitted" / "eve" / LAB / f"{LAB}.ipynb")
    (course / "submitted" / "fay").mkdir()
    os.symlink(course / "submitted" / "ada" / LAB, course / "submitted" / "fay" / LAB)
    os.symlink(course / "submitted" / "ada", course / "submitted" / "gus")
    found = {one.student: one for one in find(LAB, [course])}
    assert set(found) == {"ada", "ben", "eve", "fay", "gus"}
    for student in ("eve", "fay", "gus"):
        with pytest.raises(Unreadable, match="symbolic link"):
            found[student].read()


@pytest.mark.parametrize("name", ["eve.ipynb", "eve/work.ipynb", "eve"])
def test_a_link_in_a_folder_is_a_submission_that_cannot_be_read(tmp_path, name):
    fill(tmp_path / "in", {"ada/work.ipynb": body("ada")})
    target = tmp_path / "in" / name
    target.parent.mkdir(exist_ok=True)
    os.symlink(tmp_path / "in" / "ada", target) if name == "eve" else os.symlink("/etc/passwd", target)
    eve = next(one for one in find(LAB, [tmp_path / "in"]) if one.student == "eve")
    with pytest.raises(Unreadable, match="symbolic link"):
        eve.read()


def test_a_link_that_appears_after_the_search_is_not_followed(course):
    ada, _ = find(LAB, [course])
    shutil.rmtree(course / "submitted" / "ada" / LAB)
    os.symlink(course / "submitted" / "ben" / LAB, course / "submitted" / "ada" / LAB)
    with pytest.raises(Unreadable, match="symbolic link"):
        ada.read()


def test_a_pipe_is_not_waited_for(tmp_path):
    fill(tmp_path / "in", {"ada.ipynb": body("ada")})
    os.mkfifo(tmp_path / "in" / "eve.ipynb")
    eve = find(LAB, [tmp_path / "in"])[1]
    with pytest.raises(Unreadable, match="a device or the like"):
        eve.read()


# Whose is it?


def test_of_several_attempts_in_several_places_the_latest_counts(tmp_path):
    for folder, time, number in (("a", "2026-09-10", 1), ("b", "2026-09-12", 2), ("c", "2026-09-11", 3)):
        files = {
            f"submitted/ada/{LAB}/{LAB}.ipynb": body(number),
            f"submitted/ada/{LAB}/timestamp.txt": f"{time} 10:00:00 UTC",
        }
        fill(tmp_path / folder, files)
    one = only(find(LAB, [tmp_path / "a", tmp_path / "b", tmp_path / "c"]))
    assert who([one]) == {"ada": 2}
    assert "3 attempts were handed in; the latest is graded" in one.notes[-1]


def test_accents_are_spelt_in_one_way(tmp_path):
    fill(tmp_path / "in", {"Zoe\u0308.ipynb": body("zoë")})
    assert [one.student for one in find(LAB, [tmp_path / "in"])] == ["Zoë"]


def test_a_name_that_is_no_text_is_still_a_name(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / os.fsdecode(b"J\xf6rg.ipynb")).write_bytes(body("jörg"))
    found = only(find(LAB, [tmp_path / "in"]))
    assert found.student.encode()
    assert who([found])


# Nothing there


def test_nothing_handed_in_is_an_error_that_says_what_was_looked_for(tmp_path):
    with pytest.raises(
        ValueError, match=rf"nothing was handed in for {LAB} at .*Looked for: nbgrader's submitted/STUDENT/{LAB}"
    ):
        find(LAB, [tmp_path])


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no .*nowhere"):
        find(LAB, [tmp_path / "nowhere"])


def test_a_download_that_is_no_archive_is_named(tmp_path):
    (tmp_path / "all.zip").write_bytes(b"PK kaputt")
    with pytest.raises(ValueError, match=r"all\.zip: no archive that can be opened"):
        find(LAB, [tmp_path / "all.zip"])


def test_a_broken_archive_of_one_student_costs_that_student_alone(tmp_path):
    fill(tmp_path / "in", {"ada.zip": b"PK kaputt", "ben/work.zip": packed({"w.ipynb": body("ben")})})
    ada, ben = find(LAB, [tmp_path / "in"])
    assert who([ben]) == {"ben": "ben"}
    with pytest.raises(Unreadable, match=r"the archive ada\.zip: no archive that can be opened"):
        ada.read()


@pytest.mark.parametrize("path", [".", "submitted", "submitted/ada"])
def test_in_nbgraders_tree_another_lab_is_not_taken_for_this_one(course, path):
    with pytest.raises(ValueError, match="nothing was handed in for lab42"):
        find("lab42", [course / path])


def test_a_course_to_which_nothing_was_handed_in_has_no_students(course):
    shutil.rmtree(course / "submitted")
    with pytest.raises(ValueError, match="nothing was handed in"):
        find(LAB, [course])


def test_a_plain_folder_may_be_called_submitted(tmp_path):
    fill(tmp_path / "submitted", {"ada.ipynb": body("ada"), "ben/work.ipynb": body("ben")})
    assert who(find(LAB, [tmp_path / "submitted"])) == {"ada": "ada", "ben": "ben"}


@pytest.mark.parametrize("name", ["ada.ipynb", "ada.zip"])
def test_a_file_that_may_not_be_read_costs_that_student_alone(tmp_path, monkeypatch, name):
    fill(tmp_path / "in", {name: packed({"w.ipynb": body("ada")}), "ben.ipynb": body("ben")})

    def refusing(opens):
        def opened(path, *arguments, **options):
            if str(path).endswith(name):
                raise PermissionError(13, "Permission denied", str(path))
            return opens(path, *arguments, **options)

        return opened

    monkeypatch.setattr(os, "open", refusing(os.open))  # root may read everything, so the mode of a file is no test
    monkeypatch.setattr("builtins.open", refusing(open))
    ada, ben = find(LAB, [tmp_path / "in"])
    assert who([ben]) == {"ben": "ben"}
    with pytest.raises(Unreadable, match=r"cannot be read \(Permission denied\)"):
        ada.read()
