"""What nbgrader has to know follows from a lab's cells and its definition; a lab whose two halves disagree is refused."""

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest

from course_lib.checks import labs
from course_lib.house import notebooks, sync
from course_lib.house.release import STUB, checked, show_given

ROOT = Path(__file__).parents[2]
LABS = sorted(path.parent.name for path in ROOT.glob("solutions/*/checks.py"))
SOURCE = "solutions/lab_small/lab_small.py"


def released(root: Path, name: str = "lab_small"):
    return nbformat.read(root / "labs" / name / f"{name}.ipynb", as_version=4)


def graded(notebook) -> dict[str, dict]:
    """nbgrader's metadata of the cells that have some, by grade_id."""
    cells = [cell.metadata["nbgrader"] for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len({cell["grade_id"] for cell in cells}) == len(cells)
    return {cell["grade_id"]: cell for cell in cells}


def cell_of(notebook, grade_id: str):
    (cell,) = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id]
    return cell


# The release


def test_each_kind_of_cell_is_what_nbgrader_calls_it(generated_course):
    kinds = {
        name: (cell["grade"], cell["solution"], cell["locked"], cell.get("points"))
        for name, cell in graded(released(generated_course)).items()
    }
    assert kinds == {
        "double": (False, True, False, None),
        "check_double": (True, False, True, 4),
        "total": (False, True, False, None),
        "check_total": (True, False, True, 2.5),
        "why": (True, True, False, 3),
    }


@pytest.mark.parametrize("name", LABS)
def test_the_points_of_a_real_lab_are_those_of_its_definition(name):
    lab, notebook = labs.load(ROOT / "solutions" / name), released(ROOT, name)
    points = {key: cell["points"] for key, cell in graded(notebook).items() if cell["grade"]}
    checks = {f"check_{check.name}": check.points for check in lab.checks.values()}
    assert points == checks | {item.name: item.points for item in lab.written_items.values()}
    assert notebook.metadata["course"] == {
        "lab": name,
        "points": sum(points.values()),
        "version": labs.version(ROOT / "solutions" / name),
    }


@pytest.mark.parametrize("name", LABS)
def test_nbgrader_s_own_validation_accepts_the_metadata_of_a_real_lab(name):
    from nbgrader import nbgraderformat

    nbgraderformat.read(ROOT / "labs" / name / f"{name}.ipynb", as_version=4)
    for cell in graded(released(ROOT, name)).values():
        assert cell["schema_version"] == nbgraderformat.SCHEMA_VERSION


def test_new_points_in_the_definition_reach_the_notebook(course, edit):
    edit(course / "solutions/lab_small/checks.py", "points=4", "points=7")
    sync.run(course)
    assert graded(released(course))["check_double"]["points"] == 7
    assert released(course).metadata["course"]["points"] == 7 + 2.5 + 3


def test_of_an_answer_nothing_is_left_but_a_stub(generated_course):
    notebook = released(generated_course)
    text = json.dumps(notebook)
    assert not re.search(r"BEGIN|END (SOLUTION|GIVEN)|twice_as_much|start=0|last block", text)
    assert cell_of(notebook, "double").source == (
        'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE\n    raise NotImplementedError'
    )
    assert STUB.splitlines()[0] not in cell_of(notebook, "total").source


def test_of_a_bug_hunt_students_get_the_faulty_lines(generated_course):
    namespace: dict = {}
    exec(cell_of(released(generated_course), "total").source, namespace)
    assert namespace["total"]([1, 2, 4]) == 7
    with pytest.raises(ValueError, match="not enough values"):
        namespace["total"]([])


def test_given_lines_keep_their_indentation_comments_and_blank_lines():
    given = "    ### BEGIN GIVEN\n    # if x:\n    #     y = 1  # one\n    #\n    # # why\n    ### END GIVEN"
    assert show_given(f"def f(x):\n{given}\n    return y") == (
        "def f(x):\n    if x:\n        y = 1  # one\n\n    # why\n    return y"
    )


def test_an_untouched_answer_is_known_by_its_checksum(generated_course):
    """From which nbgrader tells that nothing was written: it must be taken of the cell that students get."""
    from nbgrader.utils import compute_checksum

    notebook = released(generated_course)
    for name in graded(notebook):
        cell = cell_of(notebook, name)
        assert cell.metadata["nbgrader"]["checksum"] == compute_checksum(cell)


def test_the_solution_runs_to_its_end_with_the_answers_in_it(course):
    _, notebook = sync.marked_notebook(course, course / "solutions/lab_small")
    assert set(graded(notebook)) == {"double", "check_double", "total", "check_total", "why"}
    assert "twice_as_much" in cell_of(notebook, "double").source
    for cell in notebook.cells:
        if cell.cell_type == "code":
            ast.parse(cell.source)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("check.softmax(softmax)", "softmax"),
        ("# First this one.\ncheck.cache(Cache, n=3)  # three", "cache"),
        ("check.progress()", None),
        ("report = check.softmax(softmax)", None),
        ("check.softmax(softmax)\ncheck.generate(generate)", None),
        ("other.softmax(softmax)", None),
        ("check.softmax", None),
        ("check.softmax(", None),
        ("", None),
    ],
)
def test_a_check_line_stands_alone_in_its_cell(source, name):
    assert checked(source) == name


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("a, b = 3, 4", "a"),
        ("n: int = 3", "n"),
        ("class Cache:\n    size = 0", "Cache"),
        ("import math\n\nprint(math.pi)\nradius = 2\n\ndef area():\n    return 1", "radius"),
        ("async def stream():\n    pass", "stream"),
    ],
)
def test_a_solution_cell_is_called_after_the_first_name_it_defines(course, edit, source, name):
    edit(course / SOURCE, "# %%\ncheck.progress()", f"# %%\n{source}\n### BEGIN SOLUTION\n### END SOLUTION")
    sync.run(course)
    assert name in graded(released(course))


# What is refused

MALFORMED = {
    "no cell for a check": ("check.total(total)", "print(total)", "check 'total' is defined, and no cell"),
    "two checks in one cell": (
        "check.total(total)",
        "check.total(total)\ncheck.total(total)",
        "check 'total' is defined, and no cell",
    ),
    "a check that is not defined": (
        "check.total(total)",
        "check.totel(total)",
        "the notebook has check 'totel'; the lab has double, total",
    ),
    "a check twice": (
        "# %%\ncheck.progress()",
        "# %%\ncheck.double(double)",
        "two graded cells are called 'check_double'",
    ),
    "no cell for a written item": (
        ' written="why"',
        "",
        "written item 'why' is defined, and no cell",
    ),
    "a written item that is not defined": (
        'written="why"',
        'written="because"',
        "the notebook has written item 'because'; the lab has why",
    ),
    "a written item twice": (
        "# %%\ncheck.progress()",
        '# %% [markdown] written="why"\n# Again.',
        "two graded cells are called 'why'",
    ),
    "two answers of one name": (
        "# %%\ncheck.progress()",
        "# %%\ndouble = 3\n### BEGIN SOLUTION\n### END SOLUTION",
        "two graded cells are called 'double'",
    ),
    "an answer called as a written item": (
        "# %%\ncheck.progress()",
        "# %%\nwhy = 3\n### BEGIN SOLUTION\n### END SOLUTION",
        "two graded cells are called 'why'",
    ),
    "a misspelt key": ('written="why"', 'writen="why"', "unknown cell metadata 'writen'"),
    "an answer without its end": (
        "    return twice_as_much\n    ### END SOLUTION",
        "    return twice_as_much",
        "in pairs of ### BEGIN",
    ),
    "an answer without its beginning": (
        '"""Twice x."""\n    ### BEGIN SOLUTION',
        '"""Twice x."""',
        "in pairs of ### BEGIN",
    ),
    "a misspelt marker": (
        "    return twice_as_much\n    ### END SOLUTION",
        "    return twice_as_much\n    ## END SOLUTION",
        "markers must be whole lines",
    ),
    "a marker behind code": (
        "    return twice_as_much\n    ### END SOLUTION",
        "    return twice_as_much  ### END SOLUTION",
        "markers must be whole lines",
    ),
    "crossed markers": (
        "    ### END SOLUTION\n    ### BEGIN GIVEN",
        "    ### BEGIN GIVEN\n    ### END SOLUTION",
        "in pairs of ### BEGIN",
    ),
    "given code that is no comment": (
        "    # return sum(rest, start=first)",
        "    return sum(rest, start=first)",
        "must be a comment, got '    return sum",
    ),
    "an answer that defines nothing": (
        "# %%\ncheck.progress()",
        "# %%\n### BEGIN SOLUTION\nprint(3)\n### END SOLUTION",
        "must define a function or a value",
    ),
    "an answer that does not parse": (
        "    return twice_as_much",
        "    return twice as much",
        "does not parse",
    ),
    "markers in lower case": (
        "    ### BEGIN SOLUTION\n    twice_as_much",
        "    ### begin solution\n    twice_as_much",
        "in pairs of ### BEGIN",
    ),
}


@pytest.mark.parametrize(("old", "new", "words"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_lab_is_refused_by_name(course, edit, contents, old, new, words):
    before = contents(course, ["labs/lab_small/lab_small.ipynb"])
    edit(course / SOURCE, old, new)
    with pytest.raises(ValueError, match=f"^labs/lab_small: .*{re.escape(words)}"):
        sync.run(course)
    assert contents(course, before) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    ### BEGIN SOLUTION\n    twice_as_much", "    ### Begin Solution\n    twice_as_much"),
        ("    ### BEGIN SOLUTION\n    twice_as_much", "    ###BEGIN  SOLUTION\n    twice_as_much"),
    ],
)
@pytest.mark.parametrize("end", ["### END SOLUTION", "### End Solution", "###END  SOLUTION"])
def test_no_way_of_writing_markers_lets_an_answer_through(course, edit, old, new, end):
    edit(course / SOURCE, old, new)
    edit(course / SOURCE, "    return twice_as_much\n    ### END SOLUTION", f"    return twice_as_much\n    {end}")
    with pytest.raises(ValueError, match="labs/lab_small: "):
        sync.run(course)


def test_an_answer_in_a_text_cell_needs_a_name(course, edit):
    """A markdown cell with markers and without written="…" would reach students whole."""
    edit(course / SOURCE, "# ## 3. In words", "# ## 3. In words\n#\n# ### BEGIN SOLUTION\n# secret\n# ### END SOLUTION")
    with pytest.raises(ValueError, match="labs/lab_small: "):
        sync.run(course)


def test_a_check_line_with_an_answer_in_its_cell_is_refused(course, edit):
    """nbgrader would make it a test cell and clear nothing in it."""
    edit(course / SOURCE, "check.total(total)", "### BEGIN SOLUTION\n### END SOLUTION\ncheck.total(total)")
    with pytest.raises(ValueError, match="labs/lab_small: "):
        sync.run(course)


@pytest.mark.parametrize("name", LABS)
def test_the_answers_of_a_real_lab_are_gone_from_its_release(name):
    from course_lib.house.release import SOLUTION

    source = notebooks.read(ROOT / "solutions" / name / f"{name}.py")
    text = "\n".join(cell.source for cell in released(ROOT, name).cells)
    answers = [answer for cell in source.cells for answer in SOLUTION.findall(cell.source)]
    assert answers
    for answer in answers:
        assert answer.strip() not in text
