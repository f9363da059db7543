"""The student bundle holds what readers need, gives nothing away, and works by itself."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import nbformat
import pytest

from course_lib.house import bundle, sync

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(
    path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("lectures/*.ipynb"), *ROOT.glob("labs/*/*.ipynb")]
)
SOFTMAX_OVER_THE_FIRST_AXIS = """
import course_lib, numpy as np
from course_lib.checks import lab

def softmax(x):
    weights = np.exp(x - x.max(axis=0))
    return weights / weights.sum(axis=0)

check = lab("lab00_two_walls")
for attempt in range(3):
    print(check.softmax(softmax))
    print("-" * 9)
check.progress()
print(course_lib.__file__)
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """The bundle of this very course. No test may change it."""
    target = tmp_path_factory.mktemp("published") / "course"
    bundle.make(target, ROOT)
    return target


@pytest.fixture
def alone(published, monkeypatch) -> Path:
    """The bundle of this course as the only one that a new process finds."""
    monkeypatch.setenv("PYTHONPATH", str(published))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return published


def listed(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# Folder and archive


def test_the_archive_holds_the_folder_in_a_folder_of_its_own(course, tmp_path, contents):
    bundle.make(tmp_path / "small-1.0", course)
    bundle.make(tmp_path / "small-1.0.zip", course)
    with zipfile.ZipFile(tmp_path / "small-1.0.zip") as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {f"small-1.0/{name}": data for name, data in contents(tmp_path / "small-1.0").items()}


def test_the_same_course_gives_the_same_archive_at_another_time_in_another_place(course, tmp_path):
    bundle.make(tmp_path / "one/small.zip", course)
    moved = Path(shutil.copytree(course, tmp_path / "moved"))
    for path in moved.rglob("*"):
        os.utime(path, (1e9, 1e9))
    before = os.umask(0o077)
    try:
        bundle.make(tmp_path / "two/small.zip", moved)
    finally:
        os.umask(before)
    assert (tmp_path / "one/small.zip").read_bytes() == (tmp_path / "two/small.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one/small.zip") as archive:  # the copies in it are as old as this test
        assert {entry.date_time for entry in archive.infolist()} == {bundle.EARLIEST}


def test_what_can_be_executed_stays_so(course, tmp_path):
    (course / "binder").mkdir()
    (course / "binder/postBuild").write_text("#!/bin/bash\n")
    (course / "binder/postBuild").chmod(0o755)
    bundle.make(tmp_path / "small", course)
    bundle.make(tmp_path / "small.zip", course)
    assert (tmp_path / "small/binder/postBuild").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "small/README.md").stat().st_mode & 0o777 == 0o644
    with zipfile.ZipFile(tmp_path / "small.zip") as archive:
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}
    assert modes["small/binder/postBuild"] == 0o755
    assert modes["small/README.md"] == 0o644


def test_an_empty_folder_may_be_filled(course, tmp_path):
    (tmp_path / "small").mkdir()
    bundle.make(tmp_path / "small", course)
    assert (tmp_path / "small/README.md").is_file()


@pytest.mark.parametrize("target", ["taken", "taken.zip", "folder.zip"])
def test_a_target_that_is_taken_is_refused_and_left_as_it_was(course, tmp_path, contents, target):
    for folder in ("taken", "folder.zip"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.txt").write_text("mine")
    (tmp_path / "taken.zip").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=rf"^target must be new or an empty folder, and .*{target} is not$"):
        bundle.make(tmp_path / target, course)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("target", ["out/small", "out/small.zip"])
@pytest.mark.parametrize("step", ["shutil.copyfile", "os.replace", "pathlib.Path.write_text"])
def test_a_failure_half_way_leaves_nothing(course, tmp_path, monkeypatch, target, step):
    (tmp_path / "out").mkdir()

    def fail(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(step, fail)
    with pytest.raises(OSError, match="no space"):
        bundle.make(tmp_path / target, course)
    assert not list((tmp_path / "out").iterdir())


def test_what_is_out_of_date_is_not_published(course, tmp_path, edit):
    edit(course / "lectures/00_small.py", "Add $1 + 1$.", "Add $1 + 2$.")
    with pytest.raises(ValueError, match="1 generated file out of date: run `course sync` first"):
        bundle.make(tmp_path / "small", course)
    assert not (tmp_path / "small").exists()


def test_a_bundle_cannot_be_made_of_a_bundle(course, tmp_path):
    bundle.make(tmp_path / "small", course)
    with pytest.raises(ValueError, match=r"needs the course's own repository, with its solutions/"):
        bundle.make(tmp_path / "again", tmp_path / "small")


def test_a_reader_s_and_a_tool_s_leavings_stay_behind(course, tmp_path):
    bundle.make(tmp_path / "clean", course)
    for name in (
        "lectures/.ipynb_checkpoints/00_small-checkpoint.ipynb",
        "course_lib/__pycache__/arrays.cpython-311.pyc",
        "course_lib.egg-info/PKG-INFO",
        ".venv/bin/python",
        ".course/other.json",
        "labs/lab_small/.DS_Store",
        "figures/draft.png",
        "grading/gradebook.db",
        "tests/test_small.py",
        "autograder/cli.py",
        ".ci/run",
    ):
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        (course / name).write_text("x")
    bundle.make(tmp_path / "after", course)
    assert listed(tmp_path / "after") == listed(tmp_path / "clean")


# What is in it


def test_the_real_bundle_holds_what_readers_need_and_no_more(published):
    names = listed(published)
    rooms = {name.split("/")[0] for name in names}
    assert rooms == {
        *(".gitignore", "LICENSE", "Makefile", "README.md", "constraints.txt", "pyproject.toml"),
        *("binder", "course_lib", "figures", "labs", "lectures"),
    }
    assert not re.findall(r"lectures/\S+\.py|figures/\S+\.(?:py|md)|\S+\.pyc", "\n".join(names))
    library = {path.relative_to(ROOT).as_posix() for path in (ROOT / "course_lib").rglob("*.py")}
    assert library | set(NOTEBOOKS) | {"lectures/syllabus.toml"} <= set(names)


@pytest.mark.parametrize("pattern", ["labs/*/*.ipynb", "lectures/*.ipynb", "course_lib/checks/cases/*.json"])
def test_what_is_published_is_what_is_generated(published, pattern):
    there = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in ROOT.glob(pattern)}
    assert there
    assert {path.relative_to(published).as_posix(): path.read_bytes() for path in published.glob(pattern)} == there


def test_the_bundle_s_project_knows_no_grader_and_no_tests(published):
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    theirs = tomllib.loads((published / "pyproject.toml").read_text("utf-8"))
    project = theirs["project"]
    assert project["scripts"] == {"course": ours["project"]["scripts"]["course"]}
    assert project["optional-dependencies"] == {"lab": ours["project"]["optional-dependencies"]["lab"]}
    assert set(theirs["tool"]) == {"course", "hatch"}
    assert theirs["tool"]["course"] == ours["tool"]["course"]
    kept = set(ours["project"]) - {"scripts", "optional-dependencies"}
    assert {key: project[key] for key in kept} == {key: ours["project"][key] for key in kept}
    assert "autograder" not in (published / "pyproject.toml").read_text("utf-8")


def test_awkward_text_in_a_project_survives(course, tmp_path, edit):
    edit(course / "pyproject.toml", 'version = "0"', 'version = "0"\ndescription = \'½ "quoted" \\ #\'')
    edit(
        course / "pyproject.toml", "[tool.hatch", '[project.urls]\n"Bug reports" = "https://example.org"\n\n[tool.hatch'
    )
    bundle.make(tmp_path / "small", course)
    project = tomllib.loads((tmp_path / "small/pyproject.toml").read_text("utf-8"))["project"]
    assert project["description"] == '½ "quoted" \\ #'
    assert project["urls"] == {"Bug reports": "https://example.org"}


def test_the_readme_leaves_out_what_is_for_instructors(published, course, tmp_path):
    text = (published / "README.md").read_text("utf-8")
    assert not re.search(r"instructors -->|nbgrader|autograder|CONTRIBUTING|make test|bundle", text)
    assert {"## Open it", "## Work through it", "## Licence"} <= set(text.splitlines())
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert [link for link in links if not (published / link).exists()] == []
    bundle.make(tmp_path / "small", course)
    assert (tmp_path / "small/README.md").read_text("utf-8") == (
        "# A small course\n\n<!-- badges -->\n\nRead it.\n\n## Licence\n"
    )


def test_the_badges_of_the_readme_open_the_first_lecture(course, tmp_path, publish):
    publish(course, "owner/course")
    sync.run(course)
    bundle.make(tmp_path / "small", course)
    text = (tmp_path / "small/README.md").read_text("utf-8")
    assert "mybinder.org/v2/gh/owner/course/main?labpath=lectures%2F00_start.ipynb" in text
    assert "github/owner/course/blob/main/lectures/00_start.ipynb" in text


def test_the_bundle_s_makefile_offers_what_its_readme_shows(published):
    done = subprocess.run(["make", "help"], cwd=published, capture_output=True, text=True, check=True)
    offered = set(re.findall(r"make ([a-z-]+)", done.stdout))
    shown = set(re.findall(r"make ([a-z-]+)", (published / "README.md").read_text("utf-8")))
    assert {"start", "doctor"} <= shown <= offered
    assert not offered & {"sync", "test", "check-all", "figures", "bench"}


def test_the_real_bundle_gives_nothing_away(published):
    assert bundle.leaks(published, ROOT) == []


# It works by itself


def test_the_bundle_installs(published, tmp_path):
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(tmp_path / "wheels")]
    source = shutil.copytree(published, tmp_path / "source")
    subprocess.run([sys.executable, "-m", "pip", "wheel", str(source), *options], check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in listed(published) if name.startswith("course_lib/")} <= names
    assert "course_lib/house/syllabus.toml" in names


def test_a_check_works_and_names_a_known_mistake_at_the_third_attempt(alone, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SOFTMAX_OVER_THE_FIRST_AXIS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    *reports, rest = done.stdout.split("-" * 9)
    mistake = "along the first axis, where they should along the last"
    assert [mistake in report for report in reports] == [False, False, True]
    assert ["Hint" in report for report in reports] == [False, True, True]
    assert str(alone) in rest


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_of_the_bundle_runs_from_top_to_bottom(alone, tmp_path, monkeypatch, name):
    """A lecture without an error; a lab, in which nothing is answered yet, with what follows from that and nothing else."""
    from nbclient import NotebookClient

    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    notebook = nbformat.read(alone / name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("import course_lib; print(course_lib.__file__)"))
    is_lab = name.startswith("labs/")
    resources = {"metadata": {"path": str((alone / name).parent)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=is_lab, resources=resources).execute()
    errors = [output.ename for cell in notebook.cells for output in cell.get("outputs", []) if "ename" in output]
    assert set(errors) <= {"NotImplementedError", "NameError"}  # of what a cell with a gap would have defined
    assert str(alone) in notebook.cells[-1].outputs[0].text
    if is_lab:
        named = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
        checks = [cell for cell in named if cell.metadata["nbgrader"]["grade_id"].startswith("check_")]
        scores = [output.data["text/plain"] for cell in checks for output in cell.outputs if "data" in output]
        assert len(scores) > len(checks) / 2
        assert set(scores) == {"0"}
