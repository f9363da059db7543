"""The syllabus is the one list of units, and a reference in it that leads nowhere is found."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.house import syllabus

ROOT = Path(__file__).parents[2]
TOPICS = [
    ("00", "start", "walls"),
    ("01", "tokens", "positions"),
    ("02", "attention"),
    ("03", "what a token costs"),
    ("04", "speculative decoding"),
    ("05", "long context"),
    ("06", "cache"),
    ("07", "serving"),
    ("08", "decoding methods"),
    ("09", "state-space models"),
    ("10", "production stack"),
    ("11", "frameworks"),
    ("12", "code audit"),
]
SYLLABUS = """
[[unit]]
id = "00"
title = "A small unit"
state = "built"
minutes = 30
walls = ["attention"]
lectures = ["lectures/00_small.py"]
labs = ["lab_small"]

[[unit.objective]]
text = "Add two numbers, and say what that costs."
mechanism = "course_lib.costs.score_entries"
section = "Sums"
checks = ["lab_small.double", "lab_small.total"]
figure = "figures/small.svg"
explorer = "course_lib.explore.Explorer"
oracle = "tests/test_small.py::test_that_one_and_one_are_two"

[[unit.objective]]
text = "Add them again."
mechanism = "course_lib.arrays.softmax"
section = "Sums again"
checks = ["lab_small.why"]

[[unit]]
id = "01"
title = "A later unit"
state = "planned"
minutes = 60
walls = ["attention", "decoding"]

[[unit.objective]]
text = "Multiply."
"""


@pytest.fixture
def listed(course) -> Path:
    """The small course with a syllabus in which every reference leads somewhere."""
    (course / "lectures/syllabus.toml").write_text(SYLLABUS.lstrip("\n"), encoding="utf-8")
    (course / "tests").mkdir()
    (course / "tests/test_small.py").write_text("def test_that_one_and_one_are_two():\n    assert 1 + 1 == 2\n")
    return course


# The real one


def test_there_are_thirteen_units_in_order_on_the_topics_of_the_course():
    units = syllabus.load(ROOT / "lectures/syllabus.toml")
    assert [unit.id for unit in units] == [f"{number:02d}" for number in range(13)]
    for unit, (number, *words) in zip(units, TOPICS, strict=True):
        assert unit.id == number
        assert all(word in unit.title.lower() for word in words), unit.title


def test_every_reference_in_the_syllabus_leads_somewhere():
    assert syllabus.check(ROOT) == []


def test_every_lecture_and_lab_there_is_belongs_to_a_unit():
    units = syllabus.load(ROOT / "lectures/syllabus.toml")
    lectures = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("lectures/[0-9]*.py")}
    assert {lecture for unit in units for lecture in unit.lectures} == lectures
    assert {lab for unit in units for lab in unit.labs} == {
        path.parent.name for path in ROOT.glob("solutions/*/checks.py")
    }


# References that lead nowhere


def test_a_sound_syllabus_has_no_faults(listed):
    assert syllabus.check(listed) == []


BROKEN = {
    "a mechanism's name": ("costs.score_entries", "costs.score_entry", "mechanism course_lib.costs.score_entry cannot"),
    "a mechanism's module": (
        "course_lib.costs.score",
        "course_lib.cost.score",
        "mechanism course_lib.cost.score_entries",
    ),
    "a mechanism without a module": ('"course_lib.costs.score_entries"', '"score_entries"', "mechanism score_entries"),
    "a heading": (
        'section = "Sums"',
        'section = "Differences"',
        "no lecture of the unit has the heading “Differences”",
    ),
    "a part of a heading": ('section = "Sums again"', 'section = "again"', "the heading “again”"),
    "a check": ("lab_small.total", "lab_small.totel", "there is no check lab_small.totel"),
    "a written item": ("lab_small.why", "lab_small.because", "there is no check lab_small.because"),
    "a figure": ("figures/small.svg", "figures/large.svg", "there is no figure figures/large.svg"),
    "an explorer": ("explore.Explorer", "explore.Explorers", "explorer course_lib.explore.Explorers cannot"),
    "an oracle's test": ("::test_that_one", "::test_that_two", "there is no test tests/test_small.py::test_that_two"),
    "an oracle's file": ("test_small.py", "test_large.py", "there is no test tests/test_large.py"),
    "an oracle without a test": ("::test_that_one_and_one_are_two", "", "there is no test tests/test_small.py"),
    "a lecture": ("lectures/00_small.py", "lectures/00_large.py", "there is no lecture lectures/00_large.py"),
    "a lab": ('labs = ["lab_small"]', 'labs = ["lab_large"]', "lab lab_large does not load"),
    "a check of another unit's lab": ('labs = ["lab_small"]', "labs = []", "there is no check lab_small.double"),
}


@pytest.mark.parametrize(("old", "new", "words"), BROKEN.values(), ids=BROKEN)
def test_a_reference_that_leads_nowhere_is_found(listed, edit, old, new, words):
    edit(listed / "lectures/syllabus.toml", old, new)
    faults = syllabus.check(listed)
    assert any(words in fault for fault in faults), faults
    assert all(fault.startswith("unit 00: ") for fault in faults)


def test_a_heading_counts_only_in_a_text_cell(listed, edit):
    edit(listed / "lectures/00_small.py", "# ## Sums again", "# Sums again")
    edit(
        listed / "lectures/00_small.py",
        "# %%\n1 + 1\n\n# %% [markdown]",
        "# %%\n# ## Sums again\n1 + 1\n\n# %% [markdown]",
    )
    (fault,) = syllabus.check(listed)
    assert "the heading “Sums again”" in fault


INCOMPLETE = {
    "no mechanism": ('mechanism = "course_lib.arrays.softmax"\n', "", "“Add them again.” names no mechanism"),
    "no section": ('section = "Sums again"\n', "", "“Add them again.” names no section"),
    "no figure": ('figure = "figures/small.svg"\n', "", "none of its objectives names its figure"),
    "no explorer": ('explorer = "course_lib.explore.Explorer"\n', "", "none of its objectives names its explorer"),
    "no oracle": ('oracle = "tests/test_small.py::test_that_one_and_one_are_two"\n', "", "names its oracle"),
    "a check that no objective needs": (', "lab_small.total"', "", "no objective names lab_small.total"),
    "no lecture": ('lectures = ["lectures/00_small.py"]\n', "", "it needs objectives, lectures and labs"),
}


@pytest.mark.parametrize(("old", "new", "words"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_a_built_unit_is_complete_and_a_planned_one_need_not_be(listed, edit, old, new, words):
    path = listed / "lectures/syllabus.toml"
    edit(path, old, new)
    assert any(words in fault for fault in syllabus.check(listed))
    edit(path, 'state = "built"', 'state = "planned"')
    assert not any(words in fault for fault in syllabus.check(listed))


# What cannot be read


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('id = "01"', 'id = "00"', "unit ids must differ, got 00 more than once"),
        ('id = "01"\n', "", r"unit \?: missing .*'id'"),
        ('title = "A later unit"\n', "", "unit 01: missing .*'title'"),
        ('text = "Multiply."\n', "", "unit 01, objective: missing .*'text'"),
        ('state = "planned"', 'state = "done"', "unit 01: state must be one of .*got 'done'"),
        ('walls = ["attention", "decoding"]', 'walls = ["attention", "memory"]', "unit 01: walls must be of .*memory"),
        ('walls = ["attention", "decoding"]', "walls = []", "unit 01: walls must be of"),
        ("minutes = 60", "minute = 60", "unit 01: unknown key 'minute'"),
        ('explorer = "', 'explorers = "', "unit 00, objective: unknown key 'explorers'; the keys are .*explorer, "),
    ],
)
def test_a_syllabus_of_another_form_is_refused(listed, edit, old, new, words):
    edit(listed / "lectures/syllabus.toml", old, new)
    with pytest.raises(ValueError, match=words):
        syllabus.load(listed / "lectures/syllabus.toml")


# The map


def test_the_map_says_of_each_unit_whether_it_is_there(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    syllabus.print_map()
    said = capsys.readouterr().out
    for unit in syllabus.units():
        assert f"{unit.id}  {unit.title}  ({unit.state}, {unit.minutes} min, " in said
    assert {"(built,", "(planned,"} <= set(said.split())


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_map_fits_the_terminal(capsys, monkeypatch, columns):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", columns)
    syllabus.print_map()
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= min(int(columns), 110)


@pytest.mark.parametrize("unit", ["0", "00"])
def test_the_map_of_a_unit_shows_it_alone_with_its_references(listed, capsys, monkeypatch, unit):
    monkeypatch.chdir(listed)
    syllabus.print_map(unit)
    said = capsys.readouterr().out
    assert "A later unit" not in said
    for reference in ("score_entries", "Sums again", "lab_small.why", "small.svg", "Explorer", "tests/test_small.py"):
        assert reference in said


def test_an_unknown_unit_is_refused_by_name(listed, monkeypatch):
    monkeypatch.chdir(listed)
    with pytest.raises(ValueError, match="unit must be one of 00, 01; got '7'"):
        syllabus.print_map("7")


def test_units_are_those_of_the_course_one_stands_in(listed, monkeypatch):
    monkeypatch.chdir(listed / "solutions")
    assert [unit.title for unit in syllabus.units()] == ["A small unit", "A later unit"]


def test_an_installed_package_brings_the_syllabus_along(tmp_path):
    """As in the wheel, which places the file beside the module; the reader stands outside the course."""
    package = tmp_path / "site" / "course_lib"
    shutil.copytree(ROOT / "course_lib/house", package / "house", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "course_lib/__init__.py", package)
    (package / "house/syllabus.toml").write_text(SYLLABUS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from course_lib.house import syllabus; print([u.id for u in syllabus.units()])"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "['00', '01']\n", done.stderr
