"""Notebooks have one form, a set-up cell that does no harm, badges that lead home, and an author's save is exact."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_lib.house import notebooks, sync
from course_lib.house.notebooks import Home

ROOT = Path(__file__).parents[2]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


REAL = sorted([*ROOT.glob("lectures/*.ipynb"), *ROOT.glob("labs/*/*.ipynb")])
SOURCES = sorted([*ROOT.glob("lectures/[0-9]*.py"), *ROOT.glob("solutions/*/lab*.py")])
# What an author opens: any source as it is, and a lecture's notebook in place of its source.
OPENED = [
    pytest.param(path, name, id=name)
    for path in SOURCES
    for name in (name_of(path), name_of(path.with_suffix(".ipynb")))
    if (ROOT / name).is_file()
]
SMALL = ["lectures/00_small.ipynb", "labs/lab_small/lab_small.ipynb"]


def notebook(*cells: str):
    """The settled notebook of a percent file with these cells."""
    return notebooks.settle(_read("\n\n".join(f"# %% {cell}" for cell in cells)))


def _read(text: str):
    import jupytext

    return jupytext.reads(text, fmt="py:percent")


# The form


@pytest.mark.parametrize("path", REAL, ids=name_of)
def test_a_generated_notebook_has_the_one_form(path):
    written = path.read_bytes()
    found = json.loads(written)
    assert b"\r" not in written
    assert written.endswith(b"}\n")
    assert not re.search(r"\\ud[89a-f]|\\u[0-9a-f]{4}", written.decode("utf-8")), "text is escaped, and hard to diff"
    assert set(found["metadata"]) - {"course"} == {"kernelspec", "language_info"}
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    for cell in found["cells"]:
        assert set(cell["metadata"]) <= notebooks.KEPT
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    nbformat.validate(nbformat.from_dict(found))


def test_a_header_or_layout_in_the_source_leaves_no_trace():
    bare = notebook("\n1 + 1\n", "[markdown]\n# # Text")
    header = (
        "# ---\n# jupyter:\n#   kernelspec:\n#     display_name: Mine\n#     name: mine\n#   title: Mine\n# ---\n\n"
    )
    loose = _read(header + "# %%\n1 + 1\n\n\n# %% [markdown]\n# # Text\n\n\n")
    assert notebooks.text(notebooks.settle(loose)) == notebooks.text(bare)
    assert "jupytext" not in notebooks.text(bare)


def test_ids_stay_when_other_cells_come_and_go():
    cells = ["[markdown]\n# ## A", "\na = 1", "\nb = 2", "[markdown]\n# ## A longer one"]
    before = {cell.source: cell.id for cell in notebook(*cells).cells}
    after = {cell.source: cell.id for cell in notebook("\nnew = 0", *cells[:2], "\nb = 3", cells[3]).cells}
    same = [source for source in before if source in after]
    assert len(same) == 3
    assert all(before[source] == after[source] for source in same)


def test_cells_with_the_same_text_have_ids_of_their_own():
    ids = [cell.id for cell in notebook("\nx", "\nx", "[markdown]\n# x", "\nx").cells]
    assert len(set(ids)) == 4
    assert ids[1] == f"{ids[0]}-2"
    assert ids[3] == f"{ids[0]}-3"


def test_what_a_graded_cell_is_called_is_its_id():
    written = _read("# %%\nx = 1")
    written.cells[0].metadata["nbgrader"] = {"grade_id": "the_name"}
    assert notebooks.settle(written).cells[0].id == "the_name"


def test_outputs_are_cleared():
    run = _read("# %%\n1 + 1")
    run.cells[0].outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "2"}, execution_count=7)]
    run.cells[0].execution_count = 7
    assert notebooks.text(notebooks.settle(run)) == notebooks.text(notebook("\n1 + 1"))


@pytest.mark.parametrize("metadata", ['writen="why"', 'tag=["setup"]', "nbgraderr={}"])
def test_misspelt_cell_metadata_is_named(tmp_path, metadata):
    (tmp_path / "lecture.py").write_text(f"# %% [markdown] {metadata}\n# Some text\n")
    with pytest.raises(ValueError, match=rf"'{metadata.partition('=')[0]}' at the cell that begins 'Some text'"):
        notebooks.read(tmp_path / "lecture.py")


# The set-up cell


def setup_of(path: Path) -> str:
    (cell,) = [cell for cell in nbformat.read(path, 4).cells if "setup" in cell.metadata.get("tags", [])]
    return cell.source


def test_every_notebook_has_the_same_set_up_cell():
    assert {setup_of(path) for path in REAL} == {notebooks.SETUP.replace("{address}", notebooks.home(ROOT).archive)}
    assert all(nbformat.read(path, 4).cells[1].metadata.get("tags") == ["setup"] for path in REAL)


@pytest.mark.parametrize("surroundings", [{}, {"COLAB_RELEASE_TAG": "release"}])
def test_where_the_library_is_the_set_up_cell_does_nothing(tmp_path, surroundings):
    """Not even on Colab, where one runs it again; a pip that is called would leave its mark."""
    program = "import subprocess, sys; subprocess.run = None\n" + setup_of(REAL[0]) + "\nimport course_lib"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, **surroundings}, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def elsewhere(monkeypatch):
    """elsewhere(address, **environment): runs the set-up cell where course_lib is missing; what it would execute."""
    commands: list[list[str]] = []
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "course_lib" else find(name))
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    monkeypatch.delenv("COURSE_SOURCE", raising=False)

    def run(address: str = "", **environment: str) -> list[list[str]]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        exec(notebooks.SETUP.replace("{address}", address), {"__name__": "__main__"})
        return commands

    return run


def test_on_a_reader_s_own_machine_the_set_up_cell_says_what_to_run(elsewhere):
    with pytest.raises(ModuleNotFoundError, match="run `make start` in the course's folder"):
        elsewhere("https://example.org/course.zip")


def test_on_colab_a_copy_without_an_address_says_what_is_missing(elsewhere):
    with pytest.raises(ModuleNotFoundError, match="no public address yet: set COURSE_SOURCE"):
        elsewhere("", COLAB_RELEASE_TAG="release")


@pytest.mark.parametrize(
    ("sign", "source", "installed"),
    [
        ("environment", "", "https://example.org/course.zip"),
        ("environment", "/content/course", "/content/course"),
        ("module", "", "https://example.org/course.zip"),
    ],
)
def test_on_colab_the_library_is_installed_and_torch_and_numpy_are_pinned(
    elsewhere, monkeypatch, sign, source, installed
):
    import numpy
    import torch

    if sign == "module":
        monkeypatch.setitem(sys.modules, "google.colab", sys)
    release = {"COLAB_RELEASE_TAG": "release"} if sign == "environment" else {}
    (command,) = elsewhere("https://example.org/course.zip", COURSE_SOURCE=source, **release)
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert command[-3:] == [installed, f"numpy=={numpy.__version__}", f"torch=={torch.__version__}"]


# Where the course lives


@pytest.mark.parametrize("name", SMALL)
def test_without_an_address_a_notebook_keeps_the_place_of_its_badges(course, name):
    first = nbformat.read(course / name, 4).cells[0].source
    assert first.endswith("\n\n<!-- badges -->")
    assert "http" not in first
    assert 'COURSE_SOURCE") or ""\n' in setup_of(course / name)


@pytest.mark.parametrize("name", SMALL)
def test_badges_and_set_up_cell_lead_to_the_published_notebook(course, publish, name):
    publish(course, "some-one/tokens.course", "spring/2027")
    sync.run(course)
    first = nbformat.read(course / name, 4).cells[0].source
    assert re.findall(r"\]\(([^)]*)\)\]\(([^)]*)\)", first) == [
        (
            "https://mybinder.org/badge_logo.svg",
            "https://mybinder.org/v2/gh/some-one/tokens.course/spring%2F2027?labpath=" + name.replace("/", "%2F"),
        ),
        (
            "https://colab.research.google.com/assets/colab-badge.svg",
            f"https://colab.research.google.com/github/some-one/tokens.course/blob/spring/2027/{name}",
        ),
    ]
    assert first.endswith("<!-- /badges -->")
    assert '"https://github.com/some-one/tokens.course/archive/spring/2027.zip"' in setup_of(course / name)


def test_badges_move_with_the_course_and_go_when_it_has_no_home(course, publish, contents):
    before = contents(course, SMALL)
    for repository in ("owner/first", "owner/second", ""):
        publish(course, repository)
        assert sync.run(course) == 2
        text = (course / SMALL[0]).read_text("utf-8")
        assert set(re.findall(r"owner/\w+", text)) == ({repository} if repository else set())
    assert contents(course, SMALL) == before


def test_badges_that_stand_expanded_in_a_source_are_replaced():
    filled = _read("# %% [markdown]\n# # Title\n#\n# <!-- badges -->\n# [old](x)\n# <!-- /badges -->\n#\n# Text")
    notebooks.fill_in(filled, Home("owner/course"), "lectures/00_small.ipynb")
    text = filled.cells[0].source
    assert "old" not in text
    assert text.count("<!-- badges -->") == text.count("<!-- /badges -->") == 1
    assert text.endswith("<!-- /badges -->\n\nText")


@pytest.mark.parametrize(
    "repository", ["course", "a/b/c", "https://github.com/a/b", "a/", "/b", "a b/c", "a/b ", "a/b\n", 'a/b"']
)
def test_a_repository_of_another_form_is_refused(repository):
    with pytest.raises(ValueError, match=r'repository must be "owner/repository" or ""'):
        Home(repository)


def test_a_pyproject_without_the_setting_means_no_home(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert notebooks.home(tmp_path) == Home("", "main")


# An author's save in JupyterLab


@pytest.fixture
def lab_server(course):
    """What JupyterLab opens and saves files with when jupytext is installed, in a course with the real sources."""
    from jupytext import TextFileContentsManager

    shutil.copy(ROOT / "jupytext.toml", course)
    for path in SOURCES:
        (course / name_of(path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, course / name_of(path))
    for path in REAL:
        (course / name_of(path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, course / name_of(path))
    manager = TextFileContentsManager()
    manager.root_dir = str(course)
    return manager


@pytest.mark.parametrize(("path", "name"), OPENED)
def test_opening_and_saving_changes_nothing_in_a_source(lab_server, path, name):
    source = Path(lab_server.root_dir, name_of(path))
    os.utime(source, (1e9, 1e9))  # as always: `sync` wrote the notebook after its source
    lab_server.save(lab_server.get(name, type="notebook"), name)
    assert source.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("path", "name"), OPENED)
def test_a_save_changes_only_what_its_author_changed(lab_server, path, name):
    model = lab_server.get(name, type="notebook")
    cells = model["content"]["cells"]
    index = next(i for i, cell in enumerate(cells) if cell["cell_type"] == "code" and "import numpy" in cell["source"])
    cells[index]["source"] += "\n# a remark"
    cells[index]["outputs"] = [nbformat.v4.new_output("stream", text="some output")]
    cells[index]["metadata"] = {"trusted": True, "execution": {"started": "now"}}
    lab_server.save(model, name)
    after = Path(lab_server.root_dir, name_of(path)).read_text("utf-8").splitlines()
    before = path.read_text("utf-8").splitlines()
    assert [line for line in after if line != "# a remark"] == before
    assert len(after) == len(before) + 1


def test_what_an_author_saves_is_what_sync_generates(lab_server, contents):
    """The saved notebook has outputs and other ids; `sync` goes by the saved .py alone."""
    root, name = Path(lab_server.root_dir), "lectures/00_small.ipynb"
    before = contents(root, [name])
    model = lab_server.get(name, type="notebook")
    model["content"]["cells"][3]["outputs"] = [nbformat.v4.new_output("stream", text="2")]
    lab_server.save(model, name)
    assert contents(root, [name]) != before
    sync.run(root)
    assert contents(root, [name]) == before


def test_a_student_s_lab_is_paired_with_nothing(lab_server):
    root, name = Path(lab_server.root_dir), "labs/lab_small/lab_small.ipynb"
    model = lab_server.get(name, type="notebook")
    model["content"]["cells"][4]["source"] = "answer = 1"
    lab_server.save(model, name)
    there = {path.name for path in (root / name).parent.iterdir()}
    assert there - {".ipynb_checkpoints"} == {"lab_small.ipynb"}
    assert "jupytext" not in (root / name).read_text("utf-8")
