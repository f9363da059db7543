"""`course sync` runs one way, from source to product, gives the same bytes everywhere, and does nothing twice."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.house import sync

ROOT = Path(__file__).parents[2]
LECTURE, LAB, CASES = PRODUCTS = (
    "lectures/00_small.ipynb",
    "labs/lab_small/lab_small.ipynb",
    "course_lib/checks/cases/lab_small.json",
)
STATE = ".course/sync.json"


def python(program: str, *arguments: str, cwd: Path = ROOT, **environment: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# The same bytes


def test_a_second_run_changes_no_byte_and_touches_no_file(course, contents):
    before = contents(course), {name: (course / name).stat().st_mtime_ns for name in (*PRODUCTS, STATE)}
    assert sync.run(course) == 0
    assert (contents(course), {name: (course / name).stat().st_mtime_ns for name in (*PRODUCTS, STATE)}) == before


def test_making_everything_again_gives_the_same_bytes(course, contents):
    before = contents(course)
    for name in PRODUCTS:
        (course / name).unlink()
    assert sync.run(course, force=True) == len(PRODUCTS)
    assert contents(course) == before


def test_another_machine_in_another_folder_gives_the_same_bytes(course, tmp_path, contents):
    before = contents(course, PRODUCTS)
    for name in (*PRODUCTS, STATE):
        (course / name).unlink()
    python(
        "import sys; from pathlib import Path; from course_lib.house import sync; sync.run(Path(sys.argv[1]))",
        "course",  # the folder is named from where one stands
        cwd=tmp_path,
        TZ="Asia/Kathmandu",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        PYTHONHASHSEED="4711",
    )
    assert contents(course, PRODUCTS) == before


def test_the_course_is_found_from_a_folder_inside_it(course, monkeypatch):
    (course / LECTURE).unlink()
    monkeypatch.chdir(course / "solutions/lab_small")
    assert sync.run() == 1
    assert (course / LECTURE).is_file()


def test_the_products_in_the_repository_are_those_of_its_sources(capsys):
    assert sync.run(ROOT, check=True) == 0, capsys.readouterr().out


# One way


def test_a_touched_product_never_flows_back_into_its_source(course, contents):
    before = contents(course)
    for name in PRODUCTS:
        os.utime(course / name, (4e9, 4e9))  # later than any source
    assert sync.run(course) == 0
    assert contents(course) == before


@pytest.mark.parametrize("name", PRODUCTS)
def test_an_edited_product_is_made_again_and_its_source_is_left_alone(course, contents, edit, name):
    before = contents(course)
    edit(course / name, "small lab" if name != LECTURE else "small lecture", "edited thing")
    assert sync.run(course) == 1
    assert contents(course) == before


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_missing_product_is_made_again_alone(course, contents, capsys, name):
    before = contents(course)
    (course / name).unlink()
    assert sync.run(course) == 1
    assert contents(course) == before
    assert capsys.readouterr().out == f"wrote: {name}\n"


@pytest.mark.parametrize(
    ("source", "old", "new", "changed"),
    [
        ("lectures/00_small.py", "Add $1 + 1$.", "Add $1 + 2$.", {LECTURE}),
        ("solutions/lab_small/lab_small.py", "Three numbers, or none", "A sum", {LAB}),
        ("solutions/lab_small/checks.py", '"ones"', '"all ones"', {LAB, CASES}),
        ("solutions/lab_small/hidden.py", "11", "13", {LAB, CASES}),  # both note the version of what decides a score
        ("solutions/lab_small/known_wrong/forgets_the_sign.py", "forgets the sign", "drops the sign", {CASES}),
    ],
)
def test_an_edited_source_changes_its_own_products_and_no_other(course, contents, edit, source, old, new, changed):
    before = contents(course, PRODUCTS)
    edit(course / source, old, new)
    assert sync.run(course) == len(changed)
    after = contents(course, PRODUCTS)
    assert {name for name in PRODUCTS if after[name] != before[name]} == changed
    assert sync.run(course) == 0


def test_the_courses_address_is_a_source_of_every_notebook(course, publish):
    publish(course, "owner/course")
    assert sync.run(course) == 2
    assert all("owner/course" in (course / name).read_text("utf-8") for name in (LECTURE, LAB))


def test_a_students_copy_has_nothing_to_make(course, contents):
    shutil.rmtree(course / "solutions")
    before = contents(course)
    assert sync.run(course, force=True) == 0
    assert contents(course) == before


def test_a_folder_without_a_course_is_refused(monkeypatch):
    monkeypatch.setattr(sync, "course_root", lambda: None)
    with pytest.raises(ValueError, match="needs the course's folder"):
        sync.run()


# Looking only


def without_state(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if name != STATE}


def test_check_counts_what_would_change_and_writes_nothing(course, contents, edit, capsys):
    edit(course / "lectures/00_small.py", "Add $1 + 1$.", "Add $1 + 2$.")
    (course / LAB).unlink()
    shutil.copy(course / CASES, course / "course_lib/checks/cases/lab_gone.json")
    before = contents(course)
    assert sync.run(course, check=True) == 3
    assert sync.run(course, check=True) == 3  # what it found out of date it finds again
    assert without_state(contents(course)) == without_state(before)
    assert (
        capsys.readouterr().out.splitlines()
        == [
            f"out of date: {LECTURE}",
            f"out of date: {LAB}",
            "stale: course_lib/checks/cases/lab_gone.json has no source any more; delete it",
        ]
        * 2
    )


def test_check_remembers_what_is_up_to_date_and_writes_nothing_else(course, contents, monkeypatch):
    (course / STATE).unlink()
    before = contents(course)
    assert sync.run(course, check=True) == 0
    assert without_state(contents(course)) == without_state(before)
    monkeypatch.setattr(sync, "_made", lambda job: pytest.fail(f"{job.name} was made again"))
    assert sync.run(course, check=True) == 0


def test_products_without_a_source_are_named_and_kept(course, capsys):
    (course / "lectures/00_small.py").unlink()
    shutil.rmtree(course / "solutions/lab_small")
    assert sync.run(course) == 0
    said = capsys.readouterr().out
    assert all(f"stale: {name} has no source" in said and (course / name).is_file() for name in PRODUCTS)


# What is remembered


@pytest.mark.parametrize("state", [None, b"", b"{", b"[]", b"null", b'{"lectures/00_small.py": 3}', b"\xff\xfe"])
def test_a_lost_or_damaged_state_costs_time_and_nothing_else(course, contents, edit, state):
    before = contents(course)
    edit(course / LECTURE, "small lecture", "edited thing")
    (course / STATE).unlink() if state is None else (course / STATE).write_bytes(state)
    assert sync.run(course) == 1
    assert contents(course) == before


def test_a_state_that_says_nothing_is_due_does_not_hide_an_edit(course, edit):
    """The state of another time, when these sources were as they are now, and the product was not."""
    state = (course / STATE).read_bytes()
    edit(course / LECTURE, "small lecture", "edited thing")
    sync.run(course)
    edit(course / LECTURE, "small lecture", "edited again")
    (course / STATE).write_bytes(state)
    assert sync.run(course) == 1


def test_skipping_imports_none_of_the_libraries_that_make_notebooks(course):
    program = (
        "import sys; from pathlib import Path; from course_lib.house import sync; print(sync.run(Path(sys.argv[1])));"
        "print(*{'jupytext', 'nbformat', 'nbgrader', 'nbconvert', 'numpy', 'torch'} & set(sys.modules))"
    )
    assert python(program, str(course)).split() == ["0"]


# Writing


def test_a_file_is_whole_before_it_takes_the_place_of_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "product.txt"
    sync.write(path, "old\n")

    def fail(source, target):
        assert Path(source).read_text("utf-8") == "½ new\n"
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        sync.write(path, "½ new\n")
    assert path.read_text("utf-8") == "old\n"
    assert list(path.parent.iterdir()) == [path], "a temporary file was left behind"


def test_a_written_file_can_be_read_by_everybody(tmp_path):
    sync.write(tmp_path / "product.txt", "text\n")
    assert (tmp_path / "product.txt").stat().st_mode & 0o777 == 0o644


# Frozen numbers


def test_a_processor_that_rounds_otherwise_changes_no_frozen_case(course, contents, monkeypatch):
    before = contents(course, PRODUCTS)
    monkeypatch.setenv("LAST_BITS", "4e-16")
    assert sync.run(course, force=True) == 0
    assert contents(course, PRODUCTS) == before
    (course / CASES).unlink()
    sync.run(course)
    assert contents(course, PRODUCTS) != before, "the numbers were the same, so nothing was tried"


def test_a_frozen_number_that_moved_by_more_is_renewed(course, monkeypatch):
    before = (course / CASES).read_bytes()
    monkeypatch.setenv("LAST_BITS", "1e-7")
    assert sync.run(course, force=True) == 1
    assert (course / CASES).read_bytes() != before


@pytest.mark.parametrize("damage", ["", "<<<<<<< HEAD\n{", "[]", '{"lab": "lab_small"}'])
def test_a_damaged_frozen_file_is_made_again(course, contents, damage):
    before = contents(course)
    (course / CASES).write_text(damage)
    assert sync.run(course) == 1
    assert contents(course) == before


def test_a_frozen_file_of_another_form_is_made_again(course, contents):
    before = contents(course)
    (course / CASES).write_text(json.dumps(json.loads((course / CASES).read_text("utf-8")), indent=4))
    assert sync.run(course) == 1
    assert contents(course) == before


def test_the_frozen_file_holds_the_visible_cases_alone(course):
    data = json.loads((course / CASES).read_text("utf-8"))
    cases = {check["name"]: list(check["cases"]) for check in data["checks"]}
    assert cases == {"double": ["drawn numbers", "ones"], "total": ["three numbers", "none at all"]}


# What goes wrong


def test_a_lab_that_cannot_be_made_is_named(course, edit, contents):
    before = contents(course, PRODUCTS)
    edit(course / "solutions/lab_small/lab_small.py", "check.total(total)", "print(total)")
    with pytest.raises(ValueError, match=r"^labs/lab_small: check 'total'"):
        sync.run(course)
    assert contents(course, PRODUCTS) == before


def test_a_missing_tool_is_said_in_one_line(course, monkeypatch):
    monkeypatch.setitem(sys.modules, "jupytext", None)
    (course / LECTURE).unlink()
    with pytest.raises(ValueError, match="needs jupytext: install the course with its `grade` extra"):
        sync.run(course)
