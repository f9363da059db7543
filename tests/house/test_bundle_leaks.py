"""The student bundle is searched before it is published: for answers, hidden cases, known-wrong answers and rubrics."""

import nbformat
import pytest

from course_lib.house import bundle, sync

LIBRARY = "def double(x):\n    magnitude_only = abs(2 * x)\n    return magnitude_only\n"
PLANTED = {
    "a line of an answer": ("lectures/notes.md", "It is twice_as_much = x + x, you see.", "answer of lab_small: twice"),
    "an answer in words": ("README.md", "The last block is shorter than the others.", "answer of lab_small: The last"),
    "a hidden case's name": ("lectures/notes.md", "a ragged tail", "name of a hidden case of lab_small: a ragged tail"),
    "a hidden case": (
        "figures/a.svg",
        'yield case("a ragged tail", (x,), expect=2 * x, bound=rounding(1))',
        "hidden cases",
    ),
    "a known-wrong answer": ("binder/start", "magnitude_only = abs(2 * x)", "known-wrong answer of lab_small: magn"),
    "a known-wrong answer in the library": ("course_lib/double.py", LIBRARY, "known-wrong answer of lab_small"),
    "a rubric": (
        "lectures/notes.md",
        "- names the ragged tail (1 point)",
        "rubric of lab_small: names the ragged tail",
    ),
    "markers": ("lectures/notes.md", "### BEGIN SOLUTION", "a solution's markers"),
    "a folder of answers": ("solutions/lab_small/notes.md", "nothing", "a private file"),
    "a file of hidden cases": ("labs/lab_small/hidden.py", "nothing = 0", "a private file"),
    "a file of checks": ("labs/lab_small/checks.py", "nothing = 0", "a private file"),
    "a known-wrong file": ("labs/lab_small/known_wrong/mistake.py", "nothing = 0", "a private file"),
    "a test": ("tests/test_small.py", "nothing = 0", "a private file"),
}


@pytest.mark.parametrize(("name", "text", "words"), PLANTED.values(), ids=PLANTED)
def test_a_planted_secret_is_found(course, tmp_path, name, text, words):
    bundle.make(tmp_path / "small", course)
    path = tmp_path / "small" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text("utf-8") if path.is_file() else ""
    path.write_text(f"{before}\n{text}\n", encoding="utf-8")
    found = bundle.leaks(tmp_path / "small", course)
    assert any(line.startswith(f"{name}: ") and words in line for line in found), found


@pytest.mark.parametrize("where", ["source", "outputs", "metadata"])
def test_a_secret_is_found_wherever_in_a_notebook_it_stands(course, tmp_path, where):
    bundle.make(tmp_path / "small", course)
    path = tmp_path / "small/labs/lab_small/lab_small.ipynb"
    notebook = nbformat.read(path, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    secret = 'yield case("a ragged tail", (x,), expect=2 * x, bound=rounding(1))'  # JSON escapes its quotes
    if where == "source":
        cell.source += f"\n\t{secret}"
    elif where == "outputs":
        cell.outputs = [nbformat.v4.new_output("stream", text=secret)]
    else:
        notebook.metadata["notes"] = {"answers": [secret]}
    nbformat.write(notebook, path)
    (found,) = bundle.leaks(tmp_path / "small", course)
    assert found == f"labs/lab_small/lab_small.ipynb: hidden cases of lab_small: {secret}"


def test_a_solved_copy_among_the_labs_is_not_published(course, tmp_path):
    _, solved = sync.marked_notebook(course, course / "solutions/lab_small")
    nbformat.write(solved, course / "labs/lab_small/solved.ipynb")
    with pytest.raises(ValueError, match=r"give something away:\nlabs/lab_small/solved.ipynb: "):
        bundle.make(tmp_path / "small", course)
    assert not (tmp_path / "small").exists()


def test_what_students_see_anyway_is_no_secret(course, tmp_path, edit):
    """A known-wrong answer repeats what surrounds the gap, and the lines of a bug hunt."""
    wrong = course / "solutions/lab_small/known_wrong/forgets_the_sign.py"
    edit(wrong, "    magnitude_only", '    """Twice x, as an array."""\n    first, *rest = numbers\n    magnitude_only')
    edit(course / "solutions/lab_small/lab_small.py", '"""Twice x."""', '"""Twice x, as an array."""')
    sync.run(course)
    bundle.make(tmp_path / "small", course)
    assert "Twice x, as an array." in (tmp_path / "small/labs/lab_small/lab_small.ipynb").read_text("utf-8")
