"""What is asked of an export, and what a sheet is: columns kept, formulas quoted, what is none refused with the reason."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.reports.export import export
from autograder.reports.filling.sheets import FORMULA, harmless, read, table
from tests.autograder.submissions import LAB


def test_a_format_nobody_knows_and_a_sheet_nobody_needs_are_refused(graded, tmp_path):
    with pytest.raises(ValueError, match="format must be one of csv, gradescope, canvas, moodle, got 'pdf'"):
        export(graded, LAB, "pdf", tmp_path / "out")
    with pytest.raises(ValueError, match="needs the sheet that Canvas exported"):
        export(graded, LAB, "canvas", tmp_path / "out")
    with pytest.raises(ValueError, match="needs no sheet"):
        export(graded, LAB, "csv", tmp_path / "out", tmp_path / "sheet.csv")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        ("Prénom,Note\n".encode("latin-1"), "is not UTF-8"),
        (b'Identifier,Grade\n"a,1\n', "is not CSV"),
        (b"Identifier,Grade\na,1,2\n", "a row of 3"),
        (b"Name,Points\na,1\n", "no Moodle grading worksheet"),
    ],
)
def test_a_sheet_that_is_none_is_refused_with_the_reason(graded, tmp_path, content, said):
    (tmp_path / "sheet.csv").write_bytes(content)
    with pytest.raises(ValueError, match=said):
        export(graded, LAB, "moodle", tmp_path / "out.csv", tmp_path / "sheet.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_sheet_keeps_semicolons_and_line_ends(tmp_path):
    (tmp_path / "sheet.csv").write_bytes("\ufeffStudent;ID\r\nMüller, Jo;1\r\n".encode())
    one = read(tmp_path / "sheet.csv")
    one.write(tmp_path / "copy.csv")
    assert (tmp_path / "copy.csv").read_bytes() == (tmp_path / "sheet.csv").read_bytes()


@pytest.mark.parametrize("first", FORMULA)
def test_a_cell_that_begins_like_a_formula_is_quoted_once(first):
    assert harmless(first + "1+1") == f"'{first}1+1"
    assert harmless(harmless(first + "1+1")) == f"'{first}1+1"


@given(st.lists(st.lists(st.text(), min_size=3, max_size=3), max_size=5))
def test_whatever_cells_hold_a_sheet_keeps_its_columns_and_has_no_formula(cells):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sheet.csv")
        made = [["who", *row] for row in cells]
        try:
            table(["a", "b", "c", "d"], made).write(path)
        except UnicodeEncodeError:  # half of a surrogate pair is no text
            assert not path.exists()
            return
        wanted = [[harmless(cell) for cell in row] for row in made]
        assert read(path).rows == wanted
        assert not [cell for row in wanted for cell in row if cell.startswith(FORMULA)]


def test_an_honest_cell_stays():
    assert harmless('O\'Neil, "Max" é') == 'O\'Neil, "Max" é'
