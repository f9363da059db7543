"""A zip for Gradescope takes the overlay and the older versions along, and draws there what was drawn here."""

import json
import shutil
import zipfile
from pathlib import Path

import nbformat
import pytest

from autograder import versions
from autograder.overlay.handouts import hand_out
from autograder.records.identity import course_key, seed_for
from autograder.reports.gradescope import main
from autograder.reports.packing import make_zip, requirements
from tests.autograder.small import LAB, solved

PINS = "".join(f"{name}==1\n" for name in ("numpy", "nbgrader"))
STUDENT = "s-101"


@pytest.fixture
def repository(lab_folder, tmp_path) -> Path:
    root = Path(shutil.copytree(lab_folder.parents[1], tmp_path / "repository"))
    (root / "constraints.txt").write_text(PINS, "utf-8")
    assert len(requirements(root)) == 2
    return root


def test_a_students_own_notebook_is_graded_there_against_their_own_numbers(
    repository, overlaid, instructor, tmp_path, monkeypatch, capsys
):
    course, folder = tmp_path / "course", repository / "solutions" / LAB
    list(hand_out(overlaid, course, [STUDENT]))
    versions.keep(folder, course)
    with pytest.raises(ValueError, match="name it by --instructor DIR"):
        make_zip(LAB, tmp_path / "a.zip", course, repository)
    archive = make_zip(LAB, tmp_path / "a.zip", course, repository, instructor)
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
        opened.extractall(tmp_path / "home" / "source")
    assert {f"overlay/{LAB}/overlay.py", f"overlay/{LAB}/variants/total/times.py"} <= names
    assert f"versions/{LAB}/{overlaid.edition.version}/{LAB}/hidden.py" in names
    assert not [name for name in names if "handouts" in name or STUDENT in name]
    drawn = overlaid.drawn(seed_for(course_key(course), LAB, STUDENT, ""))
    (tmp_path / "home" / "submission").mkdir()
    nbformat.write(overlaid.solved(solved(folder), drawn), tmp_path / "home" / "submission" / "answers.ipynb")
    users = {"users": [{"id": 17, "sid": STUDENT, "email": "ada@example.org"}]}
    (tmp_path / "home" / "submission_metadata.json").write_text(json.dumps(users), "utf-8")
    monkeypatch.setenv("AUTOGRADER_HOME", str(tmp_path / "home"))
    assert main([LAB]) == 0, capsys.readouterr().err
    made = json.loads((tmp_path / "home" / "results" / "results.json").read_text("utf-8"))
    assert made["score"] == 6.5
    assert made["extra_data"]["version"] == overlaid.version


def test_an_overlay_without_a_course_has_no_key_to_draw_by(repository, instructor, tmp_path):
    with pytest.raises(ValueError, match="an overlay draws by the course's key"):
        make_zip(LAB, tmp_path / "a.zip", None, repository, instructor)
