"""`autograder doctor`: the layers, the level, and the hostile corpus as a table, on this machine."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.doctor import Corpus
from autograder.sandbox import probe
from autograder.sandbox.levels import LAYERS
from tests.autograder.sandbox.boxes import ROOT, other_process
from tests.hostile.entry import FULL
from tests.hostile.rows import HEADING, Row, summary

COMMAND = [sys.executable, "-c", "from autograder.cli import main; main()", "doctor"]
PATIENCE = 120


def doctor(*words: str, cwd: Path = ROOT, more: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([*more.values(), str(ROOT)])
    return subprocess.run(
        [*COMMAND, *words],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def test_the_layers_alone_are_named_with_what_was_seen_and_no_notebook_is_graded():
    done = doctor("--layers")
    level = probe().level
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0 if level != "D" else 1, "")
    assert [line.split()[1] for line in lines if line[0] in "✓✗"] == list(LAYERS)
    assert lines[-1].startswith(f"level {level}: ")


def test_notebooks_are_graded_and_shown_beside_what_they_must_get(tmp_path):
    """From a folder elsewhere, and past another package that is called `tests`."""
    other = tmp_path / "tests"
    other.mkdir()
    (other / "__init__.py").write_text("raise RuntimeError('the wrong tests')\n", encoding="utf-8")
    done = doctor("--only", "an endless loop in an answer", cwd=tmp_path, more={"other": str(tmp_path)})
    heading, row, last = done.stdout.splitlines()[-3:]
    assert (done.returncode, done.stderr) == (0, "")
    assert heading == HEADING
    assert row.startswith("✓ an endless loop in an answer ")
    assert row.split()[-8:-6] == ["answer", "11"]
    assert row.endswith("timed out")
    assert last.startswith(
        f"1 notebooks at level {probe().level}: none gained a point, none cost an honest student one, "
    )


def test_one_that_is_not_as_it_must_be_is_said_and_counts():
    def body() -> list:
        corpus, said = Corpus(ROOT, "an honest student (0)"), []
        (honest,) = corpus._entries
        corpus._entries = [
            replace(honest, name="due less", points=FULL | {"softmax": 3.0}),
            replace(honest, name="shows it", never=("cases",)),
        ]
        fine = corpus.run(probe(), said.append)
        return [fine, *said]

    fine, heading, *lines = other_process("as we are", body, seconds=PATIENCE)
    assert (fine, heading) == (False, HEADING)
    assert [line[0] for line in lines[:-1]] == ["✗", "✗"]
    assert "softmax scores 4 and not 3" in "".join(lines)
    assert lines[-1].endswith(
        "1 gained a point, none cost an honest student one, 1 leaked, none reached or left anything, none hung, "
        "1 came out otherwise than it must"
    )


def test_where_nothing_would_hold_it_off_it_is_not_run():
    report = probe(["kernel"])
    with pytest.raises(ValueError, match="not run at level D"):
        Corpus(ROOT, "honest").run(report, print)


def test_a_copy_without_tests_says_so_in_a_line(tmp_path):
    for root in (None, tmp_path):
        with pytest.raises(ValueError, match=r"the hostile corpus is not here \(tests/hostile\)"):
            Corpus(root)


def test_a_word_that_no_notebook_has_is_said_in_a_line():
    done = doctor("--only", "no such word")
    assert (done.returncode, done.stderr) == (1, "Error: no notebook of the corpus has 'no such word' in its name\n")


def test_it_stops_when_it_is_told_to_and_leaves_nothing(tmp_path):
    told = subprocess.Popen(
        [*COMMAND, "--only", "an honest student"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert told.stdout is not None
    while not told.stdout.readline().startswith("✓ an honest student"):
        assert told.poll() is None
    os.killpg(told.pid, signal.SIGINT)
    _, said = told.communicate(timeout=PATIENCE)
    assert told.returncode == 1
    assert said.startswith("Error: stopped after ")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_summary_counts_each_kind_of_harm_once_for_each_notebook():
    fine = Row("fine", 12, 12, "graded", "graded", "B", 0.1, True)
    rows = [
        fine,
        replace(fine, got=13, wrong=["softmax scores 5 and not 4"]),
        replace(fine, got=11, wrong=["x scores 0 and not 1", "its state is 'crashed'"]),
        replace(fine, honest=False, leaks=["the key was leaked", "its notebook shows 'hidden'"]),
        replace(fine, honest=False, traces=["a process was left: 7"]),
        replace(fine, honest=False, late=["took 99 s"]),
    ]
    assert summary(rows) == (
        "6 notebooks at level B: 1 gained a point, 2 cost an honest student one, 1 leaked, 1 reached or left anything, "
        "1 hung, 2 came out otherwise than it must"
    )
