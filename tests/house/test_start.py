"""`course start`: one address that answers, no prompts, and one line for what stops it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import pytest
from click.testing import CliRunner

from course_lib.house import start, sync
from course_lib.house.cli import main

LECTURE = Path(__file__).parents[2] / start.FIRST_PAGE
COURSE = [sys.executable, "-c", "from course_lib.house.cli import main; main()"]


@pytest.fixture
def taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture(autouse=True)
def stays_here(monkeypatch):
    """A start that should have been refused must not turn the tests into JupyterLab."""

    def started(*_):
        raise AssertionError("JupyterLab was started")

    monkeypatch.setattr(start.os, "execv", started)


@pytest.fixture
def small_course(tmp_path):
    """A course of one lecture, in which there is nothing to generate."""
    (tmp_path / "lectures").mkdir()
    (tmp_path / "pyproject.toml").touch()
    shutil.copy(LECTURE, tmp_path / "lectures")
    return tmp_path


@pytest.fixture
def arguments(small_course, monkeypatch):
    """What JupyterLab is started with, its environment's settings left alone."""
    given: list[str] = []
    monkeypatch.chdir(small_course)
    monkeypatch.setenv("JUPYTER_TOKEN", "my-own")
    monkeypatch.setattr(start, "override_settings", lambda *_: None)
    monkeypatch.setattr(start.os, "execv", lambda _, arguments: given.extend(arguments))
    return given


def test_a_taken_port_is_one_line(taken):
    result = CliRunner().invoke(main, ["start", "--browser", "none", "--port", str(taken)])
    assert result.exit_code == 1
    assert result.output == f"Error: port {taken} is taken: stop what runs there, or name another one\n"


def test_without_a_named_port_the_first_free_one_is_taken(taken):
    assert not start.is_free(taken)
    assert start.free_port(taken, tries=50) > taken
    with pytest.raises(ValueError, match=f"no port from {taken} to {taken} is free"):
        start.free_port(taken, tries=1)


def test_without_jupyterlab_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(start, "find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["start"])
    assert result.exit_code == 1
    assert "JupyterLab is not installed here: run `make start`" in result.output


def test_outside_a_course_it_says_where_to_run(monkeypatch):
    monkeypatch.setattr(start, "root", lambda: None)
    result = CliRunner().invoke(main, ["start"])
    assert result.exit_code == 1
    assert "no course here" in result.output


def test_the_settings_override_keeps_what_else_stands_there(tmp_path):
    file = tmp_path / "lab" / "settings" / "overrides.json"
    start.override_settings(file, start.SETTINGS)
    plugin = "@jupyterlab/apputils-extension:notification"
    assert json.loads(file.read_text())[plugin] == {"fetchNews": "false", "checkForUpdates": False}
    file.write_text(json.dumps({"mine": {"a": 1}, plugin: {"fetchNews": "true", "doNotDisturbMode": True}}))
    start.override_settings(file, start.SETTINGS)
    merged = json.loads(file.read_text())
    assert merged["mine"] == {"a": 1}
    assert merged[plugin] == {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
    file.write_text("no json")
    start.override_settings(file, start.SETTINGS)
    assert json.loads(file.read_text()) == start.SETTINGS
    assert [path.name for path in file.parent.iterdir()] == ["overrides.json"]


def test_settings_that_cannot_be_written_do_not_stop_the_start(tmp_path, capsys):
    (tmp_path / "share").write_text("a file, where a folder would have to be made")
    start.override_settings(tmp_path / "share" / "overrides.json", start.SETTINGS)
    assert "JupyterLab may ask about its news" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "opens", "browser"), [([], True, "before"), (["none"], False, "before"), (["lynx"], True, "lynx")]
)
def test_the_browser_is_the_systems_own_the_named_one_or_none(arguments, monkeypatch, option, opens, browser):
    monkeypatch.setenv("BROWSER", "before")
    result = CliRunner().invoke(main, ["start", *(["--browser", *option] if option else [])])
    assert result.exit_code == 0, result.output
    assert ("--no-browser" not in arguments) == opens
    assert os.environ["BROWSER"] == browser


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_only_root_has_to_be_allowed(arguments, monkeypatch, user, allowed):
    monkeypatch.setattr(start.os, "geteuid", lambda: user)
    assert CliRunner().invoke(main, ["start"]).exit_code == 0
    assert ("--allow-root" in arguments) == allowed


def test_a_token_of_ones_own_is_kept_and_printed(arguments, taken):
    free = start.free_port(taken)
    result = CliRunner().invoke(main, ["start", "--port", str(free)])
    assert f"http://127.0.0.1:{free}/lab/tree/lectures/00_start.ipynb?token=my-own\n" in result.output
    assert f"--ServerApp.port={free}" in arguments
    assert "--ServerApp.port_retries=0" in arguments


def test_only_an_authors_checkout_is_regenerated(small_course, monkeypatch):
    regenerated = []
    monkeypatch.setattr(sync, "run", regenerated.append)
    start.regenerate(small_course)
    assert regenerated == []
    (small_course / "solutions").mkdir()
    start.regenerate(small_course)
    assert regenerated == [small_course]


def test_a_source_that_cannot_be_read_does_not_stop_the_start(tmp_path, capsys):
    (tmp_path / "solutions" / "lab_broken").mkdir(parents=True)
    (tmp_path / "solutions" / "lab_broken" / "checks.py").write_text("lab = 3")
    (tmp_path / "lectures").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    start.regenerate(tmp_path)
    assert "Nothing was regenerated" in capsys.readouterr().err


def test_the_printed_address_answers_with_the_first_lecture_and_only_with_its_token(small_course):
    port = start.free_port(9310)
    process = subprocess.Popen(
        [*COURSE, "start", "--browser", "none", "--port", str(port)],
        cwd=small_course,
        env={name: value for name, value in os.environ.items() if name != "JUPYTER_TOKEN"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said = iter(process.stdout.readline, "")
        address = next((match[0] for line in said if (match := re.search(r"http://\S+", line))), "")
        assert f":{port}/lab/tree/lectures/00_start.ipynb?token=" in address
        assert wait_for(address) == 200
        files = address.replace("/lab/tree/", "/api/contents/")
        assert json.load(urllib.request.urlopen(files))["name"] == "00_start.ipynb"
        with pytest.raises(HTTPError, match="403"):
            urllib.request.urlopen(files.partition("?")[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def wait_for(address: str, seconds: int = 90) -> int:
    end = time.monotonic() + seconds
    while True:
        try:
            return urllib.request.urlopen(address, timeout=10).status
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
