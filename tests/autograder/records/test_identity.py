"""The course's key, seeds that follow from it, and what makes a submission be graded again."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.evidence import Receipt
from autograder.records import identity
from autograder.records.identity import course_key, environment, environment_parts, key_for, key_of, seed_for
from course_lib.checks.draw import Draw
from tests.autograder.records.made_up import receipt

ROOT = Path(__file__).parents[3]
TEXT = st.text(max_size=8)


def test_the_key_is_made_once_and_only_its_owner_reads_it(tmp_path):
    key = course_key(tmp_path)
    assert len(key) == 32
    assert course_key(tmp_path) == key
    assert (tmp_path / "secret.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret.json"]
    (tmp_path / "secret.json").chmod(0o644)
    assert course_key(tmp_path) == key
    assert (tmp_path / "secret.json").stat().st_mode & 0o777 == 0o600
    assert course_key(tmp_path / "another") != key


def test_graders_that_start_at_once_agree_on_one_key(tmp_path):
    program = "import sys; from autograder.records.identity import course_key; print(course_key(sys.argv[1]).hex())"
    command = [sys.executable, "-c", program, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(4)]
    assert len({process.communicate()[0] for process in started}) == 1


@pytest.mark.parametrize("text", ["", "{}", '{"key": "xyz"}', '{"key": "00"}', "[]"])
def test_a_spoilt_key_is_reported_and_never_replaced(tmp_path, text):
    (tmp_path / "secret.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="restore it"):
        course_key(tmp_path)
    assert (tmp_path / "secret.json").read_text("utf-8") == text


@given(st.tuples(TEXT, TEXT, TEXT), st.tuples(TEXT, TEXT, TEXT))
def test_a_seed_follows_from_the_key_the_lab_the_student_and_the_file_and_from_nothing_else(one, other):
    key = b"k" * 32
    assert seed_for(key, *one) == seed_for(key, *one)
    assert (seed_for(key, *one) == seed_for(key, *other)) == (one == other)
    assert seed_for(key, *one) != seed_for(b"j" * 32, *one)
    assert 0 <= seed_for(key, *one) < 2**63


def test_inputs_can_be_drawn_from_any_seed():
    assert Draw(seed_for(b"k" * 32, "lab", "ada", "c0"), "softmax").uniforms(3).shape == (3,)


def test_a_submission_is_graded_again_when_something_that_decides_has_changed_and_only_then():
    before = key_of(receipt())
    decides = {"lab": "b", "student": "b", "version": "b", "content": "b", "environment": "b", "level": "B", "seed": 8}
    assert all(key_of(receipt(**{name: value})) != before for name, value in decides.items())
    assert key_of(receipt(), overlay="o") != before
    follows = {field.name for field in fields(Receipt)} - set(decides)
    assert follows == {"state", "checks", "written", "notes"}
    assert key_of(receipt(notes=("repaired",), scores={"softmax": 0})) == before
    one = receipt()
    assert key_for(one.lab, one.student, one.content, one.version, one.environment, one.level, one.seed) == before


def test_the_environment_is_the_same_in_every_process_and_imports_nothing_heavy():
    program = (
        "import sys; from autograder.records.identity import environment; print(environment()); "
        "print([name for name in ('numpy', 'torch', 'IPython', 'nbgrader') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [environment(), "[]"]


def test_another_version_of_anything_that_decides_is_another_environment(monkeypatch):
    before = environment()
    parts = environment_parts()
    assert {"python", "platform", "numpy", "torch", "IPython", "course"} == set(parts)
    assert "missing" not in parts.values()
    for name in parts:
        monkeypatch.setattr(identity, "environment_parts", lambda name=name: parts | {name: "other"})
        assert environment() != before
