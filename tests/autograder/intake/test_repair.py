"""Bytes of every kind become a notebook, each repair is told, or there is a reason why they do not."""

import json
import zipfile
from io import BytesIO

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake import Unreadable, repair, salvage
from tests.autograder.intake.handed_in import LABS, released, solved, source_of

TEXT = json.dumps(solved(), indent=1, ensure_ascii=False)
SOURCES = [source_of(cell) for cell in solved()["cells"]]


def read(content, name="lab.ipynb"):
    result = repair.repair(content if isinstance(content, bytes) else content.encode(), name)
    nbformat.validate(nbformat.from_dict(result.notebook))
    return [cell["source"] for cell in result.notebook["cells"]], "\n".join(result.notes)


def reason(content, name="lab.ipynb"):
    with pytest.raises(Unreadable) as caught:
        repair.repair(content if isinstance(content, bytes) else content.encode(), name)
    return str(caught.value)


def fate(content):
    """The reason why there is no notebook in it, or "" when there is one."""
    try:
        read(content)
    except Unreadable as error:
        return str(error)
    return ""


def notebook(*cells, **fields):
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 4} | fields)


def code(source, **fields):
    return {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source} | fields


@pytest.mark.parametrize("lab", LABS)
def test_a_notebook_as_handed_out_is_read_without_a_note(lab):
    sources, notes = read(json.dumps(released(lab)))
    assert sources == [source_of(cell) for cell in released(lab)["cells"]]
    assert notes == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xef\xbb\xbf" + TEXT.encode(), "byte order mark"),
        (TEXT.encode("utf-16"), "UTF-16"),
        (TEXT.encode("utf-16-be"), "UTF-16-BE"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (TEXT.replace("\n", "\r\n").encode(), ""),
        (TEXT.encode() + b"\0" * 512, "512 NUL bytes left out"),
        (b"\n\n" + TEXT.encode() + b"\nkaputt", "6 characters after"),
        ((")]}'\n" + TEXT).encode(), "4 characters before"),
        (TEXT.replace("\n  }\n", "\n  },\n").replace("\n  },", "\n  },,", 1).encode(), "commas too many"),
    ],
    ids=["bom", "utf-16", "utf-16-be", "utf-32", "crlf", "nuls", "after", "before", "commas"],
)
def test_a_damaged_file_gives_the_same_cells_and_a_line_for_the_instructor(content, said):
    sources, notes = read(content)
    assert sources == SOURCES
    assert said in notes
    assert notes or not said


def test_a_file_in_an_old_encoding_is_read_as_such():
    sources, notes = read(notebook(code("# é, ü")).replace("\\u00e9", "é").replace("\\u00fc", "ü").encode("latin-1"))
    assert sources == ["# é, ü"]
    assert "Latin-1" in notes


def test_a_stray_byte_among_good_ones_costs_one_character():
    sources, notes = read(
        json.dumps({"cells": [code("# éüß x")]}, ensure_ascii=False).encode().replace(b" x", b" \xff")
    )
    assert sources == ["# éüß �"]
    assert "1 byte of the file is not UTF-8" in notes


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_of_a_file_that_was_cut_off_every_whole_cell_is_recovered(share):
    sources, notes = read(TEXT.encode()[: int(share * len(TEXT.encode()))])
    assert 0 < len(sources) < len(SOURCES)
    assert sources == SOURCES[: len(sources)]
    assert f"the file ends in the middle of its JSON: {len(sources)} whole cell" in notes


def test_of_a_file_without_its_beginning_every_whole_cell_is_recovered():
    sources, notes = read(TEXT.encode()[len(TEXT.encode()) // 3 :])
    assert 0 < len(sources) < len(SOURCES)
    assert sources == SOURCES[-len(sources) :]
    assert "begins in the middle" in notes


def test_a_cell_whose_json_is_broken_costs_itself():
    sources, notes = read(TEXT.replace('"source": "check.softmax(softmax)"', '"source": "check.softmax(softmax)'))
    assert sources == [source for source in SOURCES if source != "check.softmax(softmax)"]
    assert f"{len(SOURCES) - 1} whole cells recovered" in notes


def test_the_marks_of_a_merge_are_named():
    marked = TEXT.replace(' "nbformat": 4', '<<<<<<< HEAD\n "nbformat": 4,\n=======\n "nbformat": 4\n>>>>>>> theirs')
    sources, notes = read(marked)
    assert sources == SOURCES
    assert "unfinished merge (git)" in notes


def test_an_old_format_is_brought_to_the_present_one():
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Softmax"]},
                    {"cell_type": "code", "input": ["x = 1\n", "y = 2"], "language": "python", "outputs": []},
                ]
            }
        ],
    }
    sources, notes = read(json.dumps(old))
    assert sources == ["## Softmax", "x = 1\ny = 2"]
    assert "format 3: brought to format 4" in notes


@pytest.mark.parametrize(
    ("cell", "source", "said"),
    [
        (code(["x = 1\n", "y = 2"]), "x = 1\ny = 2", ""),
        (code(["x = 1", "y = 2"]), "x = 1\ny = 2", "cell 1: lines without ends were joined again"),
        (code(["x = 1\n", 7, "y = 2"]), "x = 1\ny = 2", "were no text"),
        (code("x = 1\r\ny = 2\rz = 3"), "x = 1\ny = 2\nz = 3", "line ends of Windows"),
        (code("x\0 = 1"), "x = 1", "NUL characters"),
        (code("x = '\ud800'"), "x = '�'", "halves of characters"),
        (code("x", cell_type="Code"), "x", "the type 'Code' was read as code"),
        (code("x", cell_type="markdwon"), "x", "the type 'markdwon' was read as markdown"),
        (code("x", cell_type=None), "x", "a missing or unknown type was read as code"),
        (code("x", metadata=[]), "x", "metadata that are none"),
        ({"cell_type": "code"}, "", "no source: read as empty"),
        (code("x", id="a b"), "x", "no valid id"),
    ],
)
def test_a_cell_in_a_strange_form_is_put_right(cell, source, said):
    sources, notes = read(notebook(cell))
    assert sources == [source]
    assert said in notes
    assert notes or not said


def test_cells_with_one_id_are_told_apart():
    result = repair.repair(notebook(code("a", id="x"), code("b", id="x"), nbformat_minor=5).encode())
    assert [cell["id"] for cell in result.notebook["cells"]] == ["x", "cell-2"]
    assert result.notes == ("cell 2: had the id of another cell, and a new one was given",)


def test_the_ids_that_colab_keeps_in_the_metadata_are_read():
    result = repair.repair(notebook(code("a", metadata={"id": "softmax"})).encode())
    assert [cell["id"] for cell in result.notebook["cells"]] == ["softmax"]
    assert result.notes == ()


def test_nothing_of_the_metadata_is_kept_but_what_tells_a_cell_again():
    about = {"nbgrader": {"grade_id": "f", "points": 100, "locked": False}, "tags": ["setup", "x"], "collapsed": True}
    result = repair.repair(notebook(code("a", metadata=about, outputs=[{"output_type": "stream"}])).encode())
    (cell,) = result.notebook["cells"]
    assert cell["metadata"] == {"nbgrader": {"grade_id": "f"}, "tags": ["setup"]}
    assert cell["outputs"] == []


def test_a_picture_that_was_pasted_into_a_text_stays():
    cell = {"cell_type": "markdown", "metadata": {}, "source": "![](attachment:a.png)"}
    cell["attachments"] = {"a.png": {"image/png": "aGk="}, "b": 3}
    result = repair.repair(notebook(cell).encode())
    assert result.notebook["cells"][0]["attachments"] == {"a.png": {"image/png": "aGk="}}


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"kernelspec": {"name": "ir", "language": "R", "display_name": "R"}}, "its kernel is 'R'"),
        ({"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}, ""),
        ({"kernelspec": {"name": "conda-env-x-py", "display_name": "x"}}, ""),
        ({}, ""),
    ],
)
def test_a_kernel_that_is_not_pythons_is_said(about, said):
    _, notes = read(notebook(code("x"), metadata=about))
    assert notes.startswith(said) if said else notes == ""


def test_huge_outputs_cost_nothing_but_a_note(monkeypatch):
    monkeypatch.setattr(salvage, "MOST_BYTES", 20_000)
    output = {"output_type": "stream", "name": "stdout", "text": ['"]}[\\" 1\n'] * 5_000}
    sources, notes = read(notebook(code("x = 1", outputs=[output]), code('y = "outputs\\": ["')))
    assert sources == ["x = 1", 'y = "outputs\\": ["']
    assert "MB were left out unread" in notes


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b" \n\0\0 ", "nothing but blanks and NUL bytes"),
        (b"\0" * 1000, "nothing but blanks and NUL bytes"),
        (b"<!DOCTYPE html><html><body>{}</body></html>", "a web page"),
        (b"%PDF-1.7 ...", "a PDF"),
        (b"\x89PNG\r\n", "a picture"),
        (b"{}", "no list of cells"),
        (b'{"cells": []}', "no cells"),
        (b'{"cells": {}}', "no list of cells"),
        (b'{"cells": [1, 2]}', "none of the notebook's cells is one"),
        (b"[1, 2]", "no notebook"),
        (b'{"cells": [', "the file ends in the middle of its JSON, and no whole cell is left"),
        (b"dear teacher", "neither a notebook nor a Python script: it begins 'dear teacher'"),
        (b'{"cells": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"cells": [' + b"{}," * 1_000_000 + b"{}]}", "too large"),
        (notebook(*[code("x")] * 1_001).encode(), "1,001 cells"),
        (notebook(code("x = 1\n" * 400_000)).encode(), "characters"),
    ],
)
def test_what_is_no_notebook_is_named(content, why):
    assert why in reason(content)


def test_an_archive_in_a_notebooks_clothes_is_named():
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("lab.ipynb", "{}")
    assert "a zip archive" in reason(buffer.getvalue())


def test_a_file_that_is_too_large_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(repair, "MOST_RAW", 1000)
    assert "at most" in reason(b"{" * 1001)


def test_one_cell_nested_too_deeply_costs_itself():
    deep = '{"a":' * 20_000 + "1" + "}" * 20_000
    text = notebook(code("x = 1"), code("y = 2", metadata="deep"), code("z = 3")).replace('"deep"', deep)
    sources, notes = read(text)
    assert sources == ["x = 1", "z = 3"]
    assert "nested too deeply" in notes


# Scripts


def test_a_script_in_percent_format_is_read_cell_by_cell():
    sources, notes = read("# %% [markdown]\n# ## One\n\n# %%\ndef f():\n    return 1\n\n# %%\n%time f()\n", "lab.py")
    assert sources == ["## One", "def f():\n    return 1", "%time f()"]
    assert notes == "a Python script was handed in, not a notebook: read as 3 cells"


def test_an_exported_script_is_read_cell_by_cell():
    sources, _ = read("#!/usr/bin/env python\n\n# In[1]:\n\n\nx = 1\n\n\n# In[ ]:\n\n\ny = 2\n", "lab.py")
    assert [source.strip() for source in sources if "=" in source] == ["x = 1", "y = 2"]


def test_a_plain_script_is_cut_at_its_statements():
    text = '"""## 1. Softmax"""\n\nimport numpy as np\n!pip install x\n# mine\ndef f():\n    return 1\n\nf()\n'
    sources, _ = read(text, "lab.py")
    assert sources == ["## 1. Softmax", "import numpy as np", "!pip install x\n# mine\ndef f():\n    return 1", "f()"]


def test_a_script_that_does_not_parse_is_one_cell():
    sources, _ = read("def f(:\n    return 1\n", "lab.py")
    assert sources == ["def f(:\n    return 1"]


# Anything


@given(st.binary(max_size=300))
def test_any_bytes_are_a_notebook_or_unreadable_for_a_known_reason(content):
    assert "could not be read (" not in fate(content)


@given(st.data())
def test_a_notebook_with_bytes_changed_is_a_notebook_or_unreadable_for_a_known_reason(data):
    content = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 200))] = data.draw(st.binary(max_size=8))
    assert "could not be read (" not in fate(bytes(content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["cell_type", "source", "metadata", "id", "tags", "nbgrader"]), inner)
    ),
    max_leaves=12,
)


@given(cells=st.lists(JSON, max_size=5), about=JSON, number=JSON)
def test_any_json_in_the_place_of_cells_is_a_notebook_or_unreadable_for_a_known_reason(cells, about, number):
    text = json.dumps({"cells": cells, "metadata": about, "nbformat": number, "nbformat_minor": number})
    assert "could not be read (" not in fate(text)
