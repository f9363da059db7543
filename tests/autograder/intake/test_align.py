"""Every graded cell of a notebook is recovered, whatever became of its marks, its order and its types."""

import json
import random

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.intake.align import align
from autograder.intake.repair import repair
from tests.autograder.intake.handed_in import (
    HAZARDS,
    LAB,
    LABS,
    Hazards,
    answers,
    find,
    lost,
    name_of,
    new_cell,
    released,
    solved,
    source_of,
)


def aligned(notebook, lab):
    return align(repair(json.dumps(notebook).encode()).notebook, released(lab))


@pytest.mark.parametrize("lab", LABS)
def test_an_untouched_release_comes_out_as_it_is_and_without_a_note(lab):
    result = aligned(released(lab), lab)
    assert [cell.source for cell in result.cells] == [source_of(cell) for cell in released(lab)["cells"]]
    assert (result.notes, result.missing) == ((), ())
    assert not any(cell.note or cell.answered for cell in result.cells)


@pytest.mark.parametrize("lab", LABS)
def test_a_solved_notebook_needs_no_note_either(lab):
    result = aligned(solved(lab), lab)
    assert lost(result, lab) == []
    assert result.notes == ()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hazard", HAZARDS)
@pytest.mark.parametrize("lab", LABS)
def test_every_graded_cell_is_recovered_from(lab, hazard, seed):
    notebook = solved(lab)
    HAZARDS[hazard](Hazards(lab, random.Random(seed)), notebook)
    assert lost(aligned(notebook, lab), lab) == []


@pytest.mark.parametrize("lab", LABS)
@given(hazards=st.lists(st.sampled_from(sorted(HAZARDS)), min_size=2, max_size=6), seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_every_graded_cell_is_recovered_from_hazards_one_after_another(lab, hazards, seed):
    notebook = solved(lab)
    for hazard in hazards:
        HAZARDS[hazard](Hazards(lab, random.Random(seed)), notebook)
    assert lost(aligned(notebook, lab), lab) == []


@given(where=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_whatever_the_cells_hold_the_graded_ones_stand_once_in_the_labs_order(where, seed):
    draw = random.Random(seed)
    notebook = solved()
    for cell in notebook["cells"]:
        cell["source"] = draw.choice(
            [source_of(cell), "", "))", "check.softmax(softmax)", "%%bash\nls", "x = 1", "§ 5 é"]
        )
        cell["cell_type"] = draw.choice(["code", "markdown", "raw"])
    notebook["cells"] = notebook["cells"][where % len(notebook["cells"]) :] or notebook["cells"]
    result = aligned(notebook, LAB)
    graded = [cell.name for cell in result.cells if cell.name]
    assert graded == [name_of(cell) for cell in released()["cells"] if name_of(cell)]


# What an instructor is told


def notes_after(change, lab=LAB):
    notebook = solved(lab)
    change(notebook)
    result = aligned(notebook, lab)
    return result, "\n".join(result.notes)


def test_an_edited_check_line_is_the_labs_own_again_and_said():
    result, notes = notes_after(lambda notebook: find(notebook, "check_softmax").update(source="5.0"))
    assert notes == "check_softmax: was edited; the lab's own line runs"
    assert [cell.source for cell in result.cells if cell.name == "check_softmax"] == ["check.softmax(softmax)"]


def test_code_that_was_written_into_a_check_cell_runs_before_the_check():
    def change(notebook):
        find(notebook, "check_softmax")["source"] = "half = 0.5\ncheck.softmax(softmax)\nprint(half)"

    result, notes = notes_after(change)
    at = [cell.name for cell in result.cells].index("check_softmax")
    own = result.cells[at - 1]
    assert (own.kind, own.source, own.of_the_lab) == ("code", "half = 0.5\nprint(half)", False)
    assert "check_softmax: was edited" in notes


def test_an_answer_in_the_check_cell_is_found_there():
    def change(notebook):
        find(notebook, "check_softmax")["source"] = answers()["softmax"] + "\n\ncheck.softmax(softmax)"
        notebook["cells"].remove(find(notebook, "softmax"))

    result, _ = notes_after(change)
    assert lost(result, LAB) == []


def test_a_deleted_check_line_is_put_back_and_said():
    _, notes = notes_after(lambda notebook: notebook["cells"].remove(find(notebook, "check_softmax")))
    assert notes == "not there, and put back as in the release: check_softmax"


def test_a_deleted_answer_is_missing_and_said():
    result, notes = notes_after(lambda notebook: notebook["cells"].remove(find(notebook, "softmax")))
    assert result.missing == ("softmax",)
    assert notes == "not there, and put back as in the release: softmax"


def test_of_two_copies_the_last_that_was_written_in_counts():
    def change(notebook):
        first = find(notebook, "softmax")
        first["source"] = "def softmax(x):\n    return x"
        for source in (answers()["softmax"], source_of(find(released(), "softmax"))):
            notebook["cells"].append(first | {"source": source})

    result, notes = notes_after(change)
    assert lost(result, LAB) == []
    assert "softmax: 3 cells for it; the last one that was written in counts" in notes
    assert [cell.source for cell in result.cells].count("def softmax(x):\n    return x") == 1


def test_a_later_attempt_beside_an_answer_that_keeps_its_mark_stays_where_it_is():
    def change(notebook):
        at = notebook["cells"].index(find(notebook, "check_softmax"))
        notebook["cells"].insert(at + 1, new_cell("code", "def softmax(x):\n    return x"))

    result, notes = notes_after(change)
    names = [cell.name for cell in result.cells]
    assert result.cells[names.index("check_softmax") + 1].source == "def softmax(x):\n    return x"
    assert lost(result, LAB) == []
    assert notes == ""


def test_a_solution_over_two_cells_runs_in_their_order():
    def change(notebook):
        at = notebook["cells"].index(find(notebook, "softmax"))
        notebook["cells"].insert(at, new_cell("code", "def helper(x):\n    return x"))
        notebook["cells"].insert(at + 2, new_cell("code", "softmax = helper(softmax)"))

    result, _ = notes_after(change)
    names = [cell.name for cell in result.cells]
    at = names.index("softmax")
    assert [cell.source[:10] for cell in result.cells[at - 1 : at + 2]] == ["def helper", "def softma", "softmax = "]
    assert names[at + 2] == "check_softmax"


def test_answers_that_were_merged_into_one_cell_are_not_hidden_by_the_releases():
    def change(notebook):
        one, other = find(notebook, "softmax"), find(notebook, "generate")
        one["source"] = f"{one['source']}\n\n{other['source']}"
        notebook["cells"].remove(other)

    result, notes = notes_after(change)
    assert lost(result, LAB) == []
    assert "generate: is written in another cell" in notes


def test_a_check_that_stood_above_its_answer_runs_after_it():
    def change(notebook):
        cells = notebook["cells"]
        check = find(notebook, "check_softmax")
        cells.remove(check)
        cells.insert(cells.index(find(notebook, "softmax")), check)
        cells.insert(cells.index(check) + 1, new_cell("code", "tiny = 1e-9"))

    result, notes = notes_after(change)
    assert lost(result, LAB) == []
    sources = [cell.source for cell in result.cells]
    assert sources.index("tiny = 1e-9") < sources.index("check.softmax(softmax)")
    assert "stood elsewhere, and put back where the lab has it: " in notes


def test_a_cell_of_another_type_is_what_it_was_again_and_said():
    result, notes = notes_after(lambda notebook: find(notebook, "softmax").update(cell_type="raw"))
    assert notes == "softmax: was turned into a raw cell; it is code again"
    assert lost(result, LAB) == []


def test_cells_without_marks_are_told_by_what_they_were_found_by():
    def change(notebook):
        Hazards(LAB, random.Random(0)).strip_marks(notebook)

    _, notes = notes_after(change)
    assert "without nbgrader's mark, found by the names that they define: softmax, score_entries" in notes
    assert "found by their text: check_softmax" in notes
    assert "found by the place between their neighbours: which_wall" in notes


def test_an_answer_in_words_beside_its_place_is_read_from_there():
    def change(notebook):
        place = find(notebook, "which_wall")
        place["source"] = "YOUR ANSWER HERE"
        notebook["cells"].insert(notebook["cells"].index(place) + 1, new_cell("markdown", "It is the second wall."))

    result, notes = notes_after(change)
    (written,) = [cell for cell in result.cells if cell.kind == "written"]
    assert (written.source, written.answered) == ("It is the second wall.", True)
    assert "which_wall" in notes


@pytest.mark.parametrize("text", ["YOUR ANSWER HERE", " your answer here. ", "", "\n", "***"])
def test_a_placeholder_is_no_answer(text):
    result, _ = notes_after(lambda notebook: find(notebook, "which_wall").update(source=text))
    assert [cell.answered for cell in result.cells if cell.kind == "written"] == [False]


def test_the_cell_that_makes_check_cannot_be_lost():
    def change(notebook):
        cell = next(cell for cell in notebook["cells"] if source_of(cell).startswith("import numpy"))
        cell["source"] = "import numpy as np\nimport math"

    result, notes = notes_after(change)
    (source,) = [cell.source for cell in result.cells if cell.source.endswith("import math")]
    assert 'check = lab("lab00_two_walls")' in source
    assert "no longer makes `check`" in notes


def test_the_set_up_cell_is_the_labs_own_and_what_was_added_to_it_runs_after_it():
    def change(notebook):
        cell = next(cell for cell in notebook["cells"] if "setup" in cell["metadata"].get("tags", []))
        cell["source"] = source_of(cell).replace("kept = ", "kept = 2 * ") + "\nimport math"

    result, notes = notes_after(change)
    at = [cell.kind for cell in result.cells].index("setup")
    assert result.cells[at].source == source_of(released()["cells"][at])
    assert result.cells[at + 1].source == "import math"
    assert "was edited; the lab's own form runs" in notes


def test_a_notebook_of_another_lab_or_version_is_said():
    _, notes = notes_after(lambda notebook: notebook["metadata"]["course"].update(lab="lab99"))
    assert notes == f"the notebook says that it is lab99, and it is graded as {LAB}"
    _, notes = notes_after(lambda notebook: notebook["metadata"]["course"].update(version="old"))
    assert notes.startswith("the notebook says that it is of version old, and it is graded as ")


# For nbgrader


@pytest.mark.parametrize("lab", LABS)
def test_the_notebook_is_valid_and_has_the_releases_metadata(lab):
    notebook = solved(lab)
    Hazards(lab, random.Random(1)).strip_marks(notebook)
    Hazards(lab, random.Random(1)).scribble(notebook)
    result = aligned(notebook, lab)
    nbformat.validate(nbformat.from_dict(result.notebook))
    wanted = {name_of(cell): cell["metadata"] for cell in released(lab)["cells"] if name_of(cell)}
    assert {name_of(cell): cell["metadata"] for cell in result.notebook["cells"] if name_of(cell)} == wanted
    assert [cell["source"] for cell in result.notebook["cells"]] == [cell.source for cell in result.cells]
    assert [cell["id"] for cell in result.notebook["cells"]] == [cell.id for cell in result.cells]


def test_an_untouched_release_gives_the_releases_own_bytes():
    result = aligned(released(), LAB)
    assert nbformat.from_dict(result.notebook) == nbformat.reads(json.dumps(released()), as_version=4)


def test_a_test_cell_of_plain_asserts_is_the_labs_own_again():
    about = {"schema_version": 3, "task": False, "points": 1}
    solution = {"grade_id": "f", "grade": False, "solution": True, "locked": False, **about}
    test = {"grade_id": "test_f", "grade": True, "solution": False, "locked": True, **about}
    lab = {
        "cells": [
            new_cell("code", "def f():\n    raise NotImplementedError", metadata={"nbgrader": solution}),
            new_cell("code", "assert f() == 1\nassert f() != 2", metadata={"nbgrader": test}),
        ],
        "metadata": {},
    }
    notebook = {
        "cells": [
            new_cell("code", "def f():\n    return 1"),
            new_cell("code", "assert f() == 1\nx = 2", metadata={"nbgrader": {"grade_id": "test_f"}}),
        ],
        "metadata": {},
        "nbformat": 4,
    }
    result = align(repair(json.dumps(notebook).encode()).notebook, lab)
    assert [cell.source for cell in result.cells] == [
        "def f():\n    return 1",
        "x = 2",
        "assert f() == 1\nassert f() != 2",
    ]
    assert [cell.name for cell in result.cells] == ["f", "", "test_f"]
