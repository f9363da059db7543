"""Gradescope: a student sees no hidden case, a zero is never invented, and the zip grades in a fresh folder."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.evidence import CaseEvidence, State, Verdict
from autograder.records.identity import SECRET, course_key
from autograder.reports.gradescope import handed_in, main, results, run
from autograder.reports.packing import make_zip, packed, requirements
from course_lib.checks import labs
from tests.autograder.records.made_up import HIDDEN, receipt, unreadable
from tests.autograder.reports.a_class import MISTAKE, the_receipts
from tests.autograder.submissions import LAB, RELEASE, ROOT, SOURCE

# What stands in for the grader in a test of everything around it: it reads what was handed in and makes up the rest.
STAND_IN = '''\
"""A grader that grades nothing."""

import hashlib
from autograder.evidence import CaseEvidence, CheckEvidence, Receipt, State
from autograder.records.identity import course_key


def grade(folder, submission, course):
    course_key(course)
    content = hashlib.sha256(submission.read()).hexdigest()
    cases = (CaseEvidence("rows of 3", True), CaseEvidence("HIDDEN", False, hidden=True))
    checks = (CheckEvidence("softmax", 5, 2.5, cases=cases),)
    return Receipt(folder.name, submission.student, "v", content, "e", 1, "C", State.GRADED, checks, {"which_wall": True})
'''
USER = {"id": 17, "email": "ada@example.org", "name": "Ada Lovelace", "sid": "s-101"}


@pytest.fixture(scope="module")
def lab():
    return labs.load(SOURCE)


def seen(made: dict) -> str:
    """What a student can see of the results."""
    tests = [test for test in made["tests"] if test["visibility"] != "hidden"]
    return json.dumps([made["output"], tests], ensure_ascii=False)


@pytest.fixture
def home(tmp_path) -> Path:
    """Gradescope's folders with a notebook in them, and the lab where the zip has it."""
    home = tmp_path / "autograder"
    for folder in ("source/course/solutions", "submission", "results"):
        (home / folder).mkdir(parents=True)
    shutil.copytree(SOURCE, home / "source" / "course" / "solutions" / LAB)
    shutil.copyfile(RELEASE, home / "submission" / "my answers (2).ipynb")
    hand_in(home, USER)
    return home


def hand_in(home: Path, *users: dict) -> None:
    (home / "submission_metadata.json").write_text(json.dumps({"id": 1, "users": users}), encoding="utf-8")


# A receipt as results


def test_each_check_has_its_points_and_their_sum_is_the_score(lab):
    made = results(receipt(scores={"softmax": 2.86}), lab, 1.23456)
    scored = [test for test in made["tests"] if "score" in test]
    assert {test["name"]: test["score"] for test in scored} == {
        **{"softmax": 2.86, "score_entries": 3, "cache_by_hand": 3, "generate": 2, "prediction": 2, "cache_bug": 3}
    }
    assert made["score"] == sum(test["score"] for test in scored) == 15.86
    assert made["execution_time"] == 1.235
    assert made["stdout_visibility"] == "hidden"
    assert made["extra_data"] == {
        **{"state": "graded", "version": "v1", "content": "c0", "environment": "e1", "seed": "7", "level": "A"}
    }
    json.dumps(made)


@pytest.mark.parametrize("one", the_receipts(), ids=lambda one: one.student)
def test_no_student_sees_a_hidden_case_a_known_mistake_or_a_note_for_instructors(lab, one):
    made = results(one, lab)
    assert HIDDEN not in seen(made)
    assert MISTAKE not in seen(made)
    assert "put back in order" not in seen(made)
    assert str(one.state) in made["output"]
    instructors = [test for test in made["tests"] if test["visibility"] == "hidden"]
    assert [set(test) for test in instructors] == [{"name", "output", "visibility"}]
    assert HIDDEN in instructors[0]["output"] or one.state is State.UNREADABLE


def test_a_visible_difference_that_names_a_hidden_case_is_left_out(lab):
    one = receipt(scores={"softmax": 0.0})
    cases = (CaseEvidence("the example", False, f"as in {HIDDEN}"), *one.checks[0].cases[1:])
    made = results(replace(one, checks=(replace(one.checks[0], cases=cases), *one.checks[1:])), lab)
    assert HIDDEN not in seen(made)
    assert "✗ the example" in seen(made)


def test_a_student_sees_visible_cases_and_how_many_others_passed(lab):
    softmax = results(receipt(scores={"softmax": 2.86}), lab)["tests"][0]
    assert softmax["output"] == "✓ the example\n0 of 1 cases that are not shown passed"
    assert softmax["status"] == "failed"


def test_a_crash_is_said_at_its_check(lab):
    made = results(receipt(state=State.CRASHED, verdicts={"generate": Verdict.CRASHED}), lab)
    generate = next(test for test in made["tests"] if test["name"] == "generate")
    assert generate["score"] == 0
    assert "crashed in check_generate" in generate["output"]
    assert made["output"].startswith("crashed: 16 of 18 automatic points")


def test_a_written_answer_has_no_points_until_a_person_gives_them(lab):
    written = next(test for test in results(receipt(), lab)["tests"] if test["name"] == "which_wall")
    assert written == {
        "name": "which_wall",
        "output": "A person grades this answer (2 points).",
        "visibility": "visible",
    }


def test_what_a_person_has_to_grade_as_a_whole_has_no_score_at_all(lab):
    made = results(replace(receipt(), state=State.NEEDS_A_PERSON, checks=(), written={}), lab)
    assert "score" not in made
    assert not [test for test in made["tests"] if "score" in test]


def test_an_unreadable_file_scores_nothing_and_says_why(lab):
    made = results(unreadable(), lab)
    assert made["score"] == 0
    assert made["output"] == "unreadable: 0 of 18 automatic points\nunreadable: it is empty"
    assert len([test for test in made["tests"] if test.get("max_score")]) == 6


def test_output_is_text_and_no_control_character_is_left(lab):
    one = receipt(scores={"softmax": 0.0})
    cases = (CaseEvidence("<b>case</b>", False, "\x1b[31mred <script>"),)
    made = results(replace(one, checks=(replace(one.checks[0], cases=cases), *one.checks[1:])), lab)
    assert made["output_format"] == made["test_output_format"] == made["test_name_format"] == "text"
    assert "\\u001b" not in json.dumps(made)


# A submission in Gradescope's folders


def test_a_submission_is_read_whatever_it_is_called_and_known_as_in_a_download(home):
    with handed_in(home, LAB) as one:
        assert (one.student, one.source) == ("s-101", "gradescope")
        assert one.read() == RELEASE.read_bytes()
    hand_in(home, {"id": 17, "email": "ada@example.org", "sid": None})
    with handed_in(home, LAB) as one:
        assert one.student == "ada@example.org"


def test_an_empty_submission_is_one_with_a_reason(home):
    next((home / "submission").iterdir()).unlink()
    with handed_in(home, LAB) as one:
        assert one.problem == "no notebook was handed in"


def test_a_link_in_a_submission_is_not_followed(home):
    next((home / "submission").iterdir()).unlink()
    (home / "submission" / f"{LAB}.ipynb").symlink_to(RELEASE)
    with handed_in(home, LAB) as one, pytest.raises(ValueError, match="link"):
        one.read()


def test_results_are_written_for_the_student_who_handed_in(home):
    made = run(home, LAB, lambda folder, one, course: replace(receipt(one.student), content=str(course)))
    assert json.loads((home / "results" / "results.json").read_text("utf-8")) == made
    assert made["extra_data"]["content"] == str(home / "source")


def test_where_grading_fails_no_results_are_left_from_an_earlier_run(home):
    run(home, LAB, lambda folder, one, course: receipt())
    hand_in(home)
    with pytest.raises(ValueError, match="does not say who handed in"):
        run(home, LAB, lambda folder, one, course: receipt())
    assert not list((home / "results").iterdir())
    hand_in(home, USER)
    whole = replace(receipt(), state=State.NEEDS_A_PERSON, checks=(), written={}, notes=("no level but D here",))
    with pytest.raises(ValueError, match="needs a person; no level but D here"):
        run(home, LAB, lambda folder, one, course: whole)
    assert not list((home / "results").iterdir())
    with pytest.raises(ValueError, match="does not hold the lab lab99"):
        run(home, "lab99", lambda folder, one, course: receipt())


# The zip


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("zip")
    course_key(folder / "course")
    return make_zip(LAB, folder / "autograder.zip", folder / "course", ROOT)


def test_the_zip_has_its_scripts_at_the_root_and_the_one_lab(archive):
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in opened.infolist()}
    assert {"setup.sh", "run_autograder", "requirements.txt", "constraints.txt", SECRET} <= set(names)
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert modes[SECRET] == archive.stat().st_mode & 0o777 == 0o600
    assert {name.split("/")[2] for name in names if name.startswith("course/solutions/")} == {LAB}
    assert f"course/labs/{LAB}/{LAB}.ipynb" in names
    assert f"course/course_lib/checks/cases/{LAB}.json" in names
    assert "course/autograder/reports/gradescope.py" in names
    assert not [name for name in names if "tests/" in name or "__pycache__" in name or name.startswith(("/", "."))]


def test_the_zip_holds_nothing_of_students(tmp_path, archive):
    """Not even where an nbgrader course, links and hidden folders lie about in the repository."""
    root = tmp_path / "repository"
    with zipfile.ZipFile(archive) as opened:
        inside = {name.removeprefix("course/"): opened.read(name) for name in opened.namelist() if "course/" in name}
    for name, content in inside.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    before = packed(root, LAB)
    for name in ("nbgrader-course/submitted/ada/x.ipynb", "nbgrader-course/gradebook.db", "solutions/lab99/checks.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("Ada's", encoding="utf-8")
    (root / "solutions" / LAB / ".ipynb_checkpoints").mkdir()
    (root / "solutions" / LAB / ".ipynb_checkpoints" / "x.py").write_text("", encoding="utf-8")
    (root / "course_lib" / "linked.py").symlink_to(root / "nbgrader-course" / "gradebook.db")
    assert packed(root, LAB) == before


def test_the_same_course_gives_the_same_bytes_and_its_own_key(archive, tmp_path):
    again = make_zip(LAB, tmp_path / "again.zip", archive.parent / "course", ROOT)
    assert again.read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        assert bytes.fromhex(json.loads(opened.read(SECRET))["key"]) == course_key(archive.parent / "course")


def test_every_requirement_is_pinned(archive):
    with zipfile.ZipFile(archive) as opened:
        lines = opened.read("requirements.txt").decode().split()
    assert lines == requirements(ROOT)
    assert all(line.count("==") == 1 for line in lines)
    assert {"numpy", "torch", "nbgrader", "array-api-compat"} <= {line.split("==")[0] for line in lines}


def test_a_lab_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(ValueError, match=f"there is no lab lab99 in .*; there is {LAB}"):
        make_zip("lab99", tmp_path / "autograder.zip", tmp_path, ROOT)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("script", ["setup.sh", "run_autograder"])
def test_the_scripts_are_scripts_that_bash_can_read(archive, tmp_path, script):
    with zipfile.ZipFile(archive) as opened:
        text = opened.read(script)
    assert text.startswith(b"#!/usr/bin/env bash\n")
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def fresh(archive: Path, home: Path) -> None:
    """Lays the zip out as Gradescope does."""
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(archive), str(home / "source")], check=True)
    shutil.copyfile(home / "source" / "run_autograder", home / "run_autograder")
    (home / "run_autograder").chmod(0o755)
    (home / "submission").mkdir()
    (home / "results").mkdir()
    shutil.copyfile(RELEASE, home / "submission" / "answers.ipynb")
    hand_in(home, USER)
    single = home / "source" / "course" / "autograder" / "grading" / "single.py"
    single.write_text(STAND_IN, encoding="utf-8")


def graded_in(home: Path) -> subprocess.CompletedProcess:
    environment = {"PATH": os.environ["PATH"], "AUTOGRADER_HOME": str(home), "AUTOGRADER_PYTHON": sys.executable}
    return subprocess.run([home / "run_autograder"], cwd=home, env=environment, capture_output=True, text=True)


def test_run_autograder_grades_in_a_fresh_folder_with_the_code_of_the_zip(archive, tmp_path):
    fresh(archive, tmp_path)
    done = graded_in(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    made = json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))
    assert made["score"] == 2.5
    assert made["execution_time"] >= 0
    assert "HIDDEN" not in seen(made)
    assert "A person has still to grade which_wall." in made["output"]


def test_run_autograder_that_cannot_grade_says_so_and_leaves_no_results(archive, tmp_path):
    fresh(archive, tmp_path)
    (tmp_path / "submission_metadata.json").unlink()
    done = graded_in(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("the submission was not graded: ")
    assert len(done.stderr.splitlines()) == 1
    assert not list((tmp_path / "results").iterdir())


def test_the_program_needs_a_lab(capsys):
    assert main([]) == 2
    assert capsys.readouterr().err == "usage: python -m autograder.reports.gradescope LAB\n"
