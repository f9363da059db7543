"""An author's folder becomes a lab; what is amiss in it is said with its file."""

import sys

import pytest

from course_lib.checks import labs
from course_lib.checks.labs import KnownWrong, defined_names


def test_a_folder_gives_its_lab_with_visible_and_hidden_cases(folder):
    lab = labs.load(folder)
    assert lab.name == "lab_small"
    assert list(lab.checks) == ["double", "by_hand"]
    assert [case.name for case in lab.checks["double"].hidden_cases(1)] == ["a hidden ragged tail"]
    assert lab.written_items["why"].rubric == {"names the ragged tail": 1, "gives its cost": 2}
    assert labs.load(str(folder)).points == lab.points == 9


def test_a_lab_without_hidden_cases_is_a_lab(folder):
    (folder / "hidden.py").unlink()
    assert labs.load(folder).checks["double"].hidden_cases(1) == []


def test_a_lab_that_was_changed_is_loaded_anew(folder):
    path = folder / "checks.py"
    assert labs.load(folder).checks["double"].points == 4
    path.write_text(path.read_text().replace("points=4", "points=4.5"))
    assert labs.load(folder).checks["double"].points == 4.5
    assert len(labs.load(folder).checks["double"].hidden) == 1  # and its hidden cases are added once


def test_two_labs_do_not_meet(folder, tmp_path):
    other = tmp_path / "elsewhere" / "lab_small"
    other.mkdir(parents=True)
    (other / "checks.py").write_text((folder / "checks.py").read_text().replace("A small lab", "Another"))
    first, second = labs.load(folder), labs.load(other)
    assert (first.title, second.title) == ("A small lab", "Another")
    assert second.checks["double"].hidden == []
    assert len(first.checks["double"].hidden) == 1
    assert "checks" not in sys.modules
    assert "hidden" not in sys.modules


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("checks.py", 'Lab("lab_small"', 'Lab("lab_other"', "names its lab 'lab_other'; its folder is 'lab_small'"),
        ("hidden.py", '@lab.hidden("double")', '@lab.hidden("dobule")', "hidden cases for 'dobule'"),
    ],
    ids=["another name", "hidden cases of no check"],
)
def test_what_is_amiss_in_a_folder_is_said(folder, file, old, new, message):
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=message):
        labs.load(folder)


def test_a_folder_without_check_definitions_is_said(folder):
    for text in ("lab = 5\n", "answer = 5\n"):
        (folder / "checks.py").write_text(text)
        with pytest.raises(ValueError, match="must define lab = Lab"):
            labs.load(folder)
    (folder / "checks.py").unlink()
    with pytest.raises(ValueError, match=r"checks\.py is missing"):
        labs.load(folder)


def test_the_version_changes_with_the_checks_and_with_nothing_else(folder):
    first = labs.version(folder)
    assert first == labs.version(str(folder))
    (folder / "lab_small.py").write_text("# %%\n")
    (folder / "known_wrong" / "other.py").write_text("# nothing yet\n")
    assert labs.version(folder) == first
    seen = {first}
    for name, text in (("checks.py", "# more"), ("hidden.py", "# more"), ("hidden.py", "# more\n")):
        path = folder / name
        path.write_text(path.read_text() + text)
        seen.add(labs.version(folder))
    (folder / "hidden.py").write_text("")
    seen.add(labs.version(folder))
    assert len(seen) == 5


def test_a_line_moved_from_one_file_to_the_other_is_another_version(folder):
    seen = set()
    for checks, hidden in (("ab", ""), ("a", "b"), ("", "ab")):
        (folder / "checks.py").write_text(checks)
        (folder / "hidden.py").write_text(hidden)
        seen.add(labs.version(folder))
    assert len(seen) == 3


def test_known_wrong_answers_are_read_with_their_mistake_and_what_they_lose(folder):
    (wrong,) = labs.known_wrong(folder)
    assert isinstance(wrong, KnownWrong)
    assert wrong.name == "forgets_the_sign"
    assert wrong.text == "Doubles the size and forgets the sign."
    assert wrong.replaces == ("double",)
    assert wrong.loses == {"double": 3.2}
    assert "def double" in wrong.code


def test_known_wrong_answers_come_in_the_order_of_their_files(folder):
    for name in ("b", "a", "c"):
        text = f'"""The mistake {name}."""\nreplaces = ["total"]\nloses = {{"by_hand": 2}}\ntotal = 5\n'
        (folder / "known_wrong" / f"{name}.py").write_text(text)
    assert [wrong.name for wrong in labs.known_wrong(folder)] == ["a", "b", "c", "forgets_the_sign"]
    assert labs.known_wrong(folder.parent) == []


GOOD = '"""A mistake."""\nreplaces = ["double"]\nloses = {"double": 1}\n\ndef double(x):\n    return x\n'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A mistake."""\n', ""),
        ('"""A mistake."""', '"""  """'),
        ('replaces = ["double"]', ""),
        ('replaces = ["double"]', "replaces = []"),
        ('replaces = ["double"]', 'replaces = ["double", "triple"]'),
        ('replaces = ["double"]', 'replaces = "double"'),
        ('replaces = ["double"]', 'replaces = ["dou" + "ble"]'),
        ('loses = {"double": 1}', ""),
        ('loses = {"double": 1}', "loses = {}"),
        ('loses = {"double": 1}', 'loses = ["double"]'),
        ('loses = {"double": 1}', 'loses = {"double": "all"}'),
        ("def double", "def treble"),
    ],
)
def test_a_known_wrong_file_that_cannot_work_is_named(folder, old, new):
    path = folder / "known_wrong" / "bad.py"
    path.write_text(GOOD)
    assert len(labs.known_wrong(folder)) == 2
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=r"bad\.py"):
        labs.known_wrong(folder)


def test_a_known_wrong_file_that_does_not_parse_is_named(folder):
    (folder / "known_wrong" / "bad.py").write_text(GOOD.replace("(x):", "(x)"))
    with pytest.raises((SyntaxError, ValueError)) as caught:
        labs.known_wrong(folder)
    assert "bad.py" in f"{caught.value} {getattr(caught.value, 'filename', '')}"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(x): y = 1", {"f"}),
        ("async def f(): pass\nclass C:\n    z = 1", {"f", "C"}),
        ("a = b = 1\nc: int = 2", {"a", "b", "c"}),
        ("(a, [b, *c]) = 1, [2]", {"a", "b", "c"}),
        ("f(x)\nprint(y)\nimport os", set()),
        ("def broken(:", set()),
        ("%matplotlib inline", set()),
        ("", set()),
        ("table[row] = 1\nmodel.weight = 2", set()),
    ],
)
def test_the_names_that_a_cell_defines_are_those_of_its_top_level(code, names):
    assert defined_names(code) == names
