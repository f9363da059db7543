"""A lab's notebook run as it is and with an answer replaced: what it scores, and that nothing but the answer decides."""

import nbformat.v4
import pytest

from course_lib.checks import notebook, variants
from course_lib.checks.judging import recognise
from course_lib.checks.labs import KnownWrong, known_wrong

WRONG = KnownWrong("wrong", "Squares.", "def double(x):\n    return x * x\n", ("double",), {"double": 4.0})


def visible(check):
    return check.visible_cases()


def all_cases(check):
    return check.visible_cases(3) + check.hidden_cases(3)


def scores(cells, lab, cases_of=all_cases):
    return {name: result.score for name, result in variants.run(cells, lab, cases_of).items()}


def test_the_solution_scores_everything_on_visible_and_hidden_cases(folder, small_lab):
    cells = variants.solution_cells(folder)
    assert len(cells) == 5
    assert scores(cells, small_lab) == {"double": 4, "by_hand": 2}
    assert len(variants.run(cells, small_lab, all_cases)["double"].cases) == 5


def test_an_untouched_release_scores_nothing(folder, small_lab, tmp_path):
    cells = variants.solution_cells(folder)
    cells[1], cells[3] = "def double(x):\n    raise NotImplementedError()", "total = ..."
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.cells.insert(0, nbformat.v4.new_markdown_cell("double = 5"))
    nbformat.write(made, tmp_path / "lab_small.ipynb")
    assert variants.release_cells(tmp_path / "lab_small.ipynb") == cells
    assert scores(cells, small_lab) == {"double": 0, "by_hand": 0}


def test_a_known_wrong_answer_loses_the_points_that_its_file_says(folder, small_lab):
    (wrong,) = known_wrong(folder)
    lost = scores(variants.replaced(variants.solution_cells(folder), wrong), small_lab)
    assert lost == {"double": pytest.approx(4 - wrong.loses["double"]), "by_hand": 2}


def test_a_replaced_answer_takes_the_place_of_each_cell_that_defines_it():
    cells = ["x = 1", "def double(x):\n    return 2 * x", "double(x)", "def double(x): return x + x"]
    laid = variants.replaced(cells, WRONG)
    assert [laid[0], laid[2]] == [cells[0], cells[2]]
    assert all(cell.startswith(cells[i]) and cell.endswith(WRONG.code) for i, cell in enumerate(laid) if i in (1, 3))


def test_an_answer_that_replaces_nothing_is_named():
    with pytest.raises(ValueError, match=r"'wrong' replaces \['double'\]; no cell of the solution defines them"):
        variants.replaced(["def triple(x): return 3 * x", "double(1)"], WRONG)


@pytest.mark.parametrize(
    ("spoilt", "reached"),
    [
        ({1: "def double(x: return x"}, {"by_hand": 2}),
        ({1: "raise KeyError"}, {"by_hand": 2}),
        ({1: "import sys\nsys.exit()"}, {"by_hand": 2}),
        ({1: "def double(x):\n    raise SystemExit"}, {"double": 0, "by_hand": 2}),
        ({2: "check.dobule(double)"}, {"by_hand": 2}),
        ({2: "1 / 0\ncheck.double(double)"}, {"by_hand": 2}),
        ({3: "total = 1 / 0"}, {"double": 4}),
        ({4: "check.progress()\ncheck.by_hand(total)"}, {"double": 4, "by_hand": 2}),
        ({0: "raise OSError"}, {}),
    ],
    ids=lambda part: str(part)[:40],
)
def test_a_cell_that_fails_costs_what_depends_on_it_and_nothing_else(folder, small_lab, spoilt, reached):
    cells = [spoilt.get(i, cell) for i, cell in enumerate(variants.solution_cells(folder))]
    assert scores(cells, small_lab) == reached


def test_the_last_call_of_a_check_line_counts(folder, small_lab):
    cells = variants.solution_cells(folder)
    assert scores([*cells, "check.double(abs)"], small_lab)["double"] < 4
    assert scores([cells[0], "check.double(abs)", *cells[1:]], small_lab)["double"] == 4


def test_a_run_prints_nothing_and_hands_the_notebooks_checks_back(folder, small_lab, capfd):
    cells = variants.solution_cells(folder)
    cells[1] = (
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndef double(x):\n    print('in')\n    return 2 * x"
    )
    assert scores(cells, small_lab) == {"double": 4, "by_hand": 2}
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ValueError, match="there is no lab 'lab_small'"):
        notebook.lab("lab_small")


def test_two_runs_do_not_share_their_names(folder, small_lab):
    cells = variants.solution_cells(folder)
    scores(cells, small_lab)
    assert scores([cells[0], *cells[2:]], small_lab) == {"by_hand": 2}


def test_mistakes_are_what_known_wrong_answers_give_where_it_is_wrong(folder, small_lab):
    (mistake,) = variants.mistakes(small_lab, folder)
    assert mistake.text == "Doubles the size and forgets the sign."
    assert list(mistake.outcomes) == ["double"]
    assert list(mistake.outcomes["double"]) == [made.name for made in small_lab.checks["double"].visible_cases()]
    (wrong,) = known_wrong(folder)
    cells = variants.replaced(variants.solution_cells(folder), wrong)
    results = variants.run(cells, small_lab, visible)
    assert recognise(results["double"], [mistake]) == mistake.text
    assert recognise(variants.run(variants.replaced(cells, WRONG), small_lab, visible)["double"], [mistake]) is None


def test_a_mistake_that_only_hidden_cases_tell_from_a_right_answer_is_not_published(folder, small_lab):
    text = '"""Knows the visible cases."""\nreplaces = ["double"]\nloses = {"double": 0.8}\n\n'
    code = "def double(x):\n    return 2 * x + (x.shape == (11,))\n"
    (folder / "known_wrong" / "knows.py").write_text(text + code)
    assert [mistake.text for mistake in variants.mistakes(small_lab, folder)] == [
        "Doubles the size and forgets the sign."
    ]
    wrong = known_wrong(folder)[1]
    assert scores(variants.replaced(variants.solution_cells(folder), wrong), small_lab)["double"] == pytest.approx(3.2)


def test_only_checks_that_use_a_name_can_see_that_it_was_replaced():
    cells = [
        "def a(x):\n    i = 1\n    return x",
        "check.a(a)",
        "def b(x):\n    return a(x) + i",
        "i = 2",
        "check.b(b)",
        "table = [b(n) for n in range(3)]\ncheck.table(table)",
        "def c(x):\n    a = 3\n    return a",
        "check.c(c)",
    ]
    assert variants.reached(cells, ["a"]) == {"a", "b", "table"}
    assert variants.reached(cells, ["i"]) == {"b", "table"} | set()
    assert variants.reached(cells, ["c"]) == {"c"}
    assert variants.reached(cells, ["x"]) == set()


def test_a_cell_that_alone_gives_a_name_is_needed_by_the_checks_that_use_it():
    cells = [
        "import numpy as np",
        "def a():\n    return 1",
        "check.a(a)",
        "b = a() + 1\nfor i in [b]:\n    pass",
        "check.b(b)",
        "check.i(i, np)",
    ]
    assert variants.bound(cells[3]) == {"b", "i"}
    assert variants.lost_without(cells, 1) == {"a"}  # what b is without it, the notebook says
    assert variants.lost_without(cells, 3) == {"b", "i"}
    assert variants.lost_without([*cells, "def a():\n    return 2"], 1) == set()
    broken = variants.without(cells, {1, 3})
    assert [variants.bound(cell) for cell in broken] == [{"np"}, set(), set(), set(), set(), set()]


def test_a_cell_with_a_magic_gives_and_uses_no_names():
    assert variants.reached(["%matplotlib inline", "a = 1", "check.a(a)"], ["a"]) == {"a"}
