"""A cell of asserts on its way to students: locked, worth its points, and without what it hides."""

import json
from pathlib import Path

import pytest

from autograder.selfcheck import selfcheck
from autograder.versions import current, keep
from course_lib.checks import labs
from course_lib.house import bundle, notebooks, sync
from tests.house.test_release_form import cell_of, graded, released

CHECKS = '\nlab.asserts("old", points=2, canaries=["assert double(7) == 700"])\n'
CELL = """
# %% asserts="old"
assert double(2) == 4
### BEGIN HIDDEN TESTS
assert double(-40) == -80
### END HIDDEN TESTS

# %%
check.progress()
"""
LOSES = 'loses = {"double": 2.67}'


@pytest.fixture
def legacy(course) -> Path:
    """The small course, with a cell of asserts in its lab. Not generated yet."""
    folder = course / "solutions/lab_small"
    for name, old, new in (
        ("checks.py", "\nlab.written(", CHECKS + "\nlab.written("),
        ("lab_small.py", "\n# %%\ncheck.progress()\n", CELL),
        ("known_wrong/forgets_the_sign.py", LOSES, 'loses = {"double": 2.67, "old": 2}'),
    ):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
    return course


def test_students_get_a_locked_test_cell_with_its_points_and_without_what_it_hides(legacy):
    sync.run(legacy)
    cell = cell_of(released(legacy), "check_old")
    assert cell.source.strip() == "assert double(2) == 4"
    about = graded(released(legacy))["check_old"]
    assert (about["grade"], about["solution"], about["locked"], about["points"]) == (True, False, True, 2)
    assert "asserts" not in cell.metadata
    assert released(legacy).metadata["course"]["points"] == 4 + 2.5 + 2 + 3


def test_what_graders_run_is_the_authors_cell(legacy):
    asserts = labs.load(legacy / "solutions/lab_small").checks["old"].asserts
    assert "double(-40)" in asserts.source
    assert asserts.written == ("assert double(7) == 700",)
    sync.run(legacy)
    assert cell_of(released(legacy), "check_old").source.strip() == asserts.shown.strip()


def test_the_published_cases_hold_neither_canaries_nor_hidden_asserts(legacy):
    sync.run(legacy)
    for product in ("labs/lab_small/lab_small.ipynb", "course_lib/checks/cases/lab_small.json"):
        text = (legacy / product).read_text(encoding="utf-8")
        assert "-40" not in text
        assert "700" not in text
    (entry,) = [one for one in json.loads(text)["checks"] if one["name"] == "old"]
    assert (entry["points"], entry["cases"], entry["asserts"]) == (2, {}, True)
    (mistake,) = json.loads(text)["mistakes"]
    assert '"old"' not in json.dumps(mistake)  # that asserts failed says too little to know a mistake by


def test_a_changed_assert_is_another_version_of_the_lab_and_other_text_is_not(legacy, edit):
    folder = legacy / "solutions/lab_small"
    before = labs.version(folder)
    edit(folder / "lab_small.py", "# A small lab", "# A little lab")
    assert labs.version(folder) == before
    edit(folder / "lab_small.py", "double(-40)", "double(-41)")
    assert labs.version(folder) != before


def test_a_course_keeps_the_cell_with_the_version_that_it_belongs_to(legacy, tmp_path):
    sync.run(legacy)
    folder = legacy / "solutions/lab_small"
    kept = keep(folder, tmp_path / "kept")
    assert labs.load(kept.folder).checks["old"].asserts == labs.load(folder).checks["old"].asserts
    assert kept.version == labs.version(kept.folder) == current(folder).version


def test_the_self_check_treats_asserts_as_it_does_a_check_line(legacy):
    folder = legacy / "solutions/lab_small"
    sync.run(legacy)
    rows = {row.name: row for row in selfcheck(folder, legacy / "labs/lab_small/lab_small.ipynb", [5, 6])}
    assert [fault for row in rows.values() for fault in row.faults if fault.startswith("old")] == []
    old = {name: row.scores["old"] for name, row in rows.items()}
    assert old == {
        "solution": 2,
        "release": 0,
        "syntax error: double": 0,
        "syntax error: total": 2,
        "syntax errors elsewhere": 2,
        "forgets_the_sign": 0,
    }


def test_a_known_wrong_answer_that_asserts_do_not_catch_is_a_fault(legacy, edit):
    folder = legacy / "solutions/lab_small"
    edit(folder / "lab_small.py", "assert double(-40) == -80", "assert double(40) == 80")
    sync.run(legacy)
    rows = {row.name: row for row in selfcheck(folder, legacy / "labs/lab_small/lab_small.ipynb", [5])}
    assert "old scores 2, must score 0" in rows["forgets_the_sign"].faults[0]


def test_a_hidden_assert_is_found_in_a_bundle_and_a_shown_one_is_none(legacy, tmp_path):
    sync.run(legacy)
    bundle.make(tmp_path / "small", legacy)
    page = tmp_path / "small/README.md"
    page.write_text("assert double(2) == 4, as students see\nassert double(-40) == -80\n", encoding="utf-8")
    assert bundle.leaks(tmp_path / "small", legacy) == [
        "README.md: hidden asserts of lab_small: assert double(-40) == -80"
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('# %% asserts="old"', "# %%", 'needs a code cell marked asserts="old"'),
        ('# %% asserts="old"', '# %% asserts="older"', 'needs a code cell marked asserts="old"'),
        ('# %% asserts="old"', '# %% asserts="old"\ncheck.old(1)\n\n# %% asserts="double"', "has asserts 'double'"),
        ("# %%\ncheck.double(double)", "# %%\ncheck.old(double)", "has check 'old'"),
        ("### END HIDDEN TESTS\n", "", "in pairs"),
        ("### BEGIN HIDDEN TESTS", "# begin hidden tests", "in pairs"),
        ("assert double(2) == 4", "%matplotlib inline\nassert double(2) == 4", "plain Python"),
        ("assert double(2) == 4", "import numpy as np\nnp.testing.assert_equal(double(2), double(2))", "assert_equal"),
        ("assert double(2) == 4", "### BEGIN SOLUTION\nassert double(2) == 4\n### END SOLUTION", "holds no answer"),
        ("# ## 3. In words", "# BEGIN HIDDEN TESTS", "whole lines"),
        ("# ## 3. In words", "# ### BEGIN HIDDEN TESTS\n# ### END HIDDEN TESTS", "mark it asserts"),
    ],
)
def test_a_cell_that_cannot_be_is_refused_by_name(legacy, edit, old, new, message):
    edit(legacy / "solutions/lab_small/lab_small.py", old, new)
    with pytest.raises(ValueError, match=message):
        sync.run(legacy)


def test_a_misspelt_mark_is_not_lost_without_a_word(legacy, edit):
    edit(legacy / "solutions/lab_small/lab_small.py", 'asserts="old"', 'assert="old"')
    with pytest.raises(ValueError, match="unknown cell metadata 'assert'"):
        notebooks.read(legacy / "solutions/lab_small/lab_small.py")
