"""Receipts as files: what is kept comes back, what is not sound is reported, and one grader writes at a time."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.evidence import CaseEvidence, CheckEvidence, Receipt
from autograder.records.receipts import Receipts, file_name, locked, student_of
from tests.autograder.records.made_up import receipt, unreadable
from tests.autograder.submissions import LAB

ROOT = Path(__file__).parents[3]
AWKWARD = [
    "Smith, Jr",
    "a/b",
    "..",
    ".",
    ".hidden",
    '"=HYPERLINK(1)"',
    "Zoë",
    "名前",
    "a%2Fb",
    "a~b",
    "x" * 128,
    "名" * 120,
]


def test_what_is_kept_comes_back(tmp_path):
    receipts = Receipts(tmp_path)
    for one in (receipt(), receipt("ben", scores={"softmax": 1.5}), unreadable()):
        receipts.write(one)
        assert receipts.read(LAB, one.student) == one
    found = receipts.all(LAB)
    assert list(found.receipts) == ["ada", "ben", "ira"]
    assert not found.faults
    assert receipts.read(LAB, "nobody") is None
    assert not receipts.all("lab99").receipts


def test_a_regrade_replaces_the_receipt(tmp_path):
    receipts = Receipts(tmp_path)
    receipts.write(receipt())
    receipts.write(receipt(scores={"softmax": 1}))
    assert receipts.read(LAB, "ada").score == 14
    assert [path.name for path in (tmp_path / "receipts" / LAB).iterdir()] == ["ada.json"]


@pytest.mark.parametrize("student", AWKWARD)
def test_an_awkward_name_stays_in_the_folder_and_comes_back(tmp_path, student):
    receipts = Receipts(tmp_path)
    path = receipts.write(receipt(student))
    assert path.parent == tmp_path / "receipts" / LAB
    assert len(path.name.encode()) <= 255
    assert list(receipts.all(LAB).receipts) == [student]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300))
def test_any_name_makes_a_plain_file_name_from_which_it_can_be_read(student):
    name = file_name(student)
    assert not set(name) & set("/\\\0 ,'\"*?<>|:")
    assert not name.startswith(".")
    assert name.isascii()
    assert len(name) <= 255
    read = student_of(Path(name))
    assert read == student if "~" not in name else len(name) > 200


@given(st.lists(st.text(st.sampled_from("a./%~2F ,名"), min_size=1, max_size=5), min_size=2, max_size=2, unique=True))
def test_two_names_never_share_a_file(students):
    assert file_name(students[0]) != file_name(students[1])


def test_what_is_torn_foreign_or_nonsense_is_reported_and_the_rest_still_read(tmp_path):
    receipts = Receipts(tmp_path)
    for student in ("ada", "ben", "cleo", "dan", "eve", "finn", "gus"):
        receipts.write(receipt(student))
    folder = tmp_path / "receipts" / LAB
    whole = (folder / "ben.json").read_text("utf-8")
    (folder / "ben.json").write_text(whole[: len(whole) // 2], encoding="utf-8")
    (folder / "cleo.json").write_bytes((folder / "dan.json").read_bytes())
    data = json.loads(whole)
    data["checks"][0]["score"] = 99
    (folder / "dan.json").write_text(json.dumps(data | {"student": "dan"}), encoding="utf-8")
    (folder / "eve.json").write_text(json.dumps(data | {"student": "eve", "seed": "7"}), encoding="utf-8")
    (folder / "finn.json").unlink()
    (folder / "finn.json").symlink_to("gus.json")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / ".hua.json.x1").write_text("half", encoding="utf-8")
    found = receipts.all(LAB)
    assert list(found.receipts) == ["ada", "gus"]
    assert [
        next(name for name in ("ben", "cleo", "dan", "eve", "finn", "notes") if name in fault) for fault in found.faults
    ]
    assert len(found.faults) == 6
    assert all("not trusted" in fault for fault in found.faults)
    assert any("it is the receipt of 'dan'" in fault for fault in found.faults)
    assert any("softmax has 99 of 5 points" in fault for fault in found.faults)
    with pytest.raises(ValueError, match="not trusted"):
        receipts.read(LAB, "ben")
    receipts.sweep(LAB)
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"seed": True}, "the seed is True"),
        ({"notes": ("a", 3)}, "what must be a text is none"),
        ({"written": {"which_wall": "yes"}}, "its written items"),
        ({"checks": receipt().checks * 2}, "two checks of one name"),
        ({"checks": (CheckEvidence("old", 1, 1, shared="yes"),)}, "in the student's own process"),
        ({"checks": (CheckEvidence("old", 1, 1, cases=(CaseEvidence("a", True, group=3),)),)}, "a case of old is none"),
    ],
)
def test_an_unsound_receipt_is_not_kept(tmp_path, damage, said):
    with pytest.raises(ValueError, match=said):
        Receipts(tmp_path).write(receipt(**damage))
    assert not (tmp_path / "receipts").exists()


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_bytes_pass_for_a_receipt_or_stop_the_reader(tmp_path_factory, data):
    receipts = Receipts(tmp_path_factory.mktemp("receipts"))
    path = receipts.path(LAB, "ada")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert len(receipts.all(LAB).faults) == 1


@given(st.data())
def test_a_receipt_with_any_value_in_any_place_is_sound_or_reported(tmp_path_factory, data):
    entries = json.loads(receipt().to_json())
    where = data.draw(st.sampled_from([entries, entries["checks"][0], entries["checks"][0]["cases"][1]]))
    key = data.draw(st.sampled_from(sorted(where)))
    where[key] = data.draw(
        st.none()
        | st.booleans()
        | st.floats()
        | st.text()
        | st.lists(st.integers())
        | st.dictionaries(st.text(), st.text())
    )
    receipts = Receipts(tmp_path_factory.mktemp("receipts"))
    path = receipts.path(LAB, "ada")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(entries), encoding="utf-8")
    found = receipts.all(LAB)
    for one in found.receipts.values():
        assert isinstance(one, Receipt)
        assert one.score >= 0
        one.to_json()
    assert len(found.receipts) + len(found.faults) == 1


def test_names_that_differ_in_case_alone_are_told_apart_or_refused(tmp_path):
    receipts = Receipts(tmp_path)
    receipts.write(receipt("ada"))
    os.link(receipts.path(LAB, "ada"), receipts.path(LAB, "Ada"))  # what a file system without cases would show
    with pytest.raises(ValueError, match="is 'ada''s, whose name differs from 'Ada' in case alone"):
        receipts.write(receipt("Ada"))


def test_nobody_else_can_read_the_receipts(tmp_path):
    Receipts(tmp_path).write(receipt())
    assert (tmp_path / "receipts").stat().st_mode & 0o077 == 0


# One grader at a time

HOLD = """
import os, sys, time
from autograder.records.receipts import locked
with locked(sys.argv[1]):
    child = os.fork() if sys.argv[2] == "fork" else 0
    if sys.argv[2] == "fork" and not child:
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)
    time.sleep(60)
"""


@contextmanager
def holding(course: Path, how: str = "") -> Iterator[subprocess.Popen]:
    """Another grader at work, which with "fork" has a child that outlives it."""
    command = [sys.executable, "-c", HOLD, str(course), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        child = int(process.stdout.readline())
        try:
            yield process
        finally:
            process.kill()
            if child:
                os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("how", ["", "fork"])
def test_a_second_grader_is_refused_until_the_first_has_died_however_it_died(tmp_path, how):
    with holding(tmp_path, how) as first:
        said = rf"another grader \(process {first.pid} on .*\) is at work"
        with pytest.raises(ValueError, match=said), locked(tmp_path):
            pass
        first.send_signal(signal.SIGKILL)
        first.wait()
        with locked(tmp_path):
            pass


def test_a_second_grader_may_wait_for_the_first(tmp_path):
    with holding(tmp_path) as first:
        os.kill(first.pid, signal.SIGTERM)
        with locked(tmp_path, wait=10):
            pass


def test_one_process_does_not_hold_a_course_twice(tmp_path):
    with locked(tmp_path), pytest.raises(ValueError, match="this process already grades"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
