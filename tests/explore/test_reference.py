"""Reference runs: what was recorded comes back, says where and when it was measured, and is never half written."""

import json
import os
import re
from datetime import date

import numpy as np
import pytest

from course_lib.explore import reference

SHIPPED = sorted(path.stem for path in reference.RECORDED.glob("*.json"))


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """An empty folder in the place of the recorded runs."""
    monkeypatch.setattr(reference, "RECORDED", tmp_path)
    return tmp_path


def test_what_was_recorded_comes_back_with_machine_day_and_command(recorded):
    path = reference.record("two_walls", {"tokens_per_second": 66.5, "lengths": [1, 2]}, "python bench.py --record")
    assert path == recorded / "two_walls.json"
    run = reference.load("two_walls")
    assert run.values == {"tokens_per_second": 66.5, "lengths": [1, 2]}
    assert run.command == "python bench.py --record"
    assert date.fromisoformat(run.date) <= date.today()
    assert re.search(r"\d+ cores", run.machine)


def test_numbers_of_numpy_are_recorded_as_numbers(recorded):
    values = {
        "one": np.float32(0.5),
        "whole": np.int64(3),
        "many": np.array([[1.0, 2.0]]),
        "text": "fp32",
        "pair": (1, 2),
    }
    reference.record("numbers", values, "command")
    assert reference.load("numbers").values == {
        "one": 0.5,
        "whole": 3,
        "many": [[1, 2]],
        "text": "fp32",
        "pair": [1, 2],
    }


def test_a_newer_run_takes_the_place_of_the_older(recorded):
    for value in (1, 2):
        reference.record("run", {"value": value}, "command")
    assert reference.load("run").values == {"value": 2}
    assert len(list(recorded.iterdir())) == 1


def test_the_file_is_readable_text_with_unix_lines(recorded):
    content = reference.record("run", {"größe": "α", "value": 1}, "command").read_bytes()
    assert b"\r" not in content
    assert content.endswith(b"}\n")
    assert "größe" in content.decode("utf-8")


def test_a_run_that_is_not_there_is_answered_with_those_that_are(recorded):
    with pytest.raises(ValueError, match=r"'missing'.*none"):
        reference.load("missing")
    reference.record("here", {}, "command")
    reference.record("there", {}, "command")
    with pytest.raises(ValueError, match=r"'missing'.*here, there"):
        reference.load("missing")


@pytest.mark.parametrize("name", ["", "Upper", "with space", "../escape", "a/b", "dot.json"])
def test_a_name_cannot_lead_out_of_the_folder(recorded, name):
    for call in (lambda: reference.load(name), lambda: reference.record(name, {}, "command")):
        with pytest.raises(ValueError, match=r"^name"):
            call()
    assert not list(recorded.iterdir())


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), np.array([1.0, np.nan]), None, {"nested": 1}, object()])
def test_a_value_that_no_plot_could_show_is_refused_by_name(recorded, value):
    with pytest.raises(ValueError, match=r"values\['speed'\]"):
        reference.record("run", {"fine": 1, "speed": value}, "command")
    assert not list(recorded.iterdir())


def test_a_run_that_cannot_be_written_leaves_the_older_one_whole(recorded, monkeypatch):
    reference.record("run", {"value": 1}, "command")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        reference.record("run", {"value": 2}, "command")
    assert reference.load("run").values == {"value": 1}
    assert [path.name for path in recorded.iterdir()] == ["run.json"]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_run_that_ships_says_where_when_and_how(name):
    run = reference.load(name)
    assert run.values
    assert run.machine
    assert date.fromisoformat(run.date)
    assert run.command.split()[0] in {"python", "make", "course"}
    assert set(json.loads((reference.RECORDED / f"{name}.json").read_text("utf-8"))) == {
        "values",
        "machine",
        "date",
        "command",
    }
