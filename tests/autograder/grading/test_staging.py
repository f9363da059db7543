"""What a student's code can import while it is graded: what the lab provides, and no expectation."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.grading.staging import stage
from course_lib.checks import labs
from course_lib.checks.definition import Lab

ROOT = Path(__file__).parents[3]
LABS = sorted(path.parent for path in (ROOT / "solutions").glob("*/checks.py"))


def run(staged: Path, code: str) -> subprocess.CompletedProcess:
    libraries = [path for path in sys.path if path and Path(path).resolve() != ROOT]
    start = f"import sys; sys.path[:] = {[str(staged), *libraries]!r}\n{code}"
    return subprocess.run([sys.executable, "-I", "-c", start], capture_output=True, text=True, cwd=staged)


@pytest.fixture(scope="module", params=LABS, ids=lambda path: path.name)
def lab_and_stage(request, tmp_path_factory):
    lab = labs.load(request.param)
    return lab, stage(lab, tmp_path_factory.mktemp("staged"))


def test_what_a_lab_provides_can_be_imported(lab_and_stage):
    lab, staged = lab_and_stage
    done = run(staged, "\n".join(f"import {name}" for name in lab.provides) + "\nfrom course_lib.checks import lab")
    assert done.returncode == 0, done.stderr


def test_no_expectation_no_reference_and_no_answer_is_there(lab_and_stage):
    _, staged = lab_and_stage
    names = {path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file()}
    forbidden = ("judging", "compare", "frozen", "cases/", "solutions", "records", "intake", "house")
    assert not [
        name for name in names if any(word in name for word in forbidden) and name != "course_lib/checks/cases.py"
    ]
    for module in ("course_lib.checks.judging", "course_lib.speculation.theory", "course_lib.speculation.verification"):
        assert "ModuleNotFoundError" in run(staged, f"import {module}").stderr


def test_a_package_gives_no_more_than_what_is_there(tmp_path):
    staged = stage(Lab("a", "A", 1, provides=["course_lib.speculation.ngrams"]), tmp_path)
    assert run(staged, "from course_lib.speculation.ngrams import NGramModel").returncode == 0
    assert "ImportError" in run(staged, "from course_lib.speculation import acceptance_rate").stderr


def test_a_lab_may_not_provide_what_brings_expectations(tmp_path):
    with pytest.raises(ValueError, match=r"course_lib\.checks\.judging"):
        stage(Lab("a", "A", 1, provides=["course_lib.checks.judging"]), tmp_path)
    with pytest.raises(ValueError, match="no such module"):
        stage(Lab("a", "A", 1, provides=["course_lib.nothing"]), tmp_path)
