"""What is said while grading, in a pipe and in a terminal of its own, and that no student's name or note steers the terminal."""

import os
import pty
import re
import sys

import pytest

from autograder.progress import Progress, duration, safe

NAMES = {
    "\x1b[31mred": "\\x1b[31mred",
    "bell\x07 and \r\n": "bell\\x07 and \\r\\n",
    "\x9b2J": "\\x9b2J",
    "left\u202eright": "left\\u202eright",
    "half \ud800": "half \\ud800",
    "[bold]Zoë[/bold] :smile: 漢字": "[bold]Zoë[/bold] :smile: 漢字",
}
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.mark.parametrize(("name", "written"), NAMES.items())
def test_what_would_steer_a_terminal_is_written_out(name, written):
    assert safe(name) == written


@pytest.mark.parametrize(
    ("seconds", "said"), [(3.21, "3.2 s"), (75, "1 min 15 s"), (3700, "1 h 1 min"), (59.9, "1 min 0 s")]
)
def test_a_time_is_said_as_people_say_it(seconds, said):
    assert duration(seconds) == said


def grading() -> None:
    with Progress() as progress:
        progress.say("level A")
        progress.begin(len(NAMES))
        for name in NAMES:
            progress.say(f"{name}   5 / 18")
            progress.advance()
        progress.say("x" * 200)
        taken = progress.end()
    print(f"all done ({taken})")


def test_in_a_pipe_there_are_the_lines_alone(capfd):
    grading()
    lines = capfd.readouterr().out.splitlines()
    assert lines[:-1] == ["level A", *(f"{written}   5 / 18" for written in NAMES.values()), "x" * 200]
    assert re.fullmatch(r"all done \(\d\.\d s\)", lines[-1])


def test_in_a_terminal_a_bar_stands_below_lines_that_hold_nothing_of_a_name_but_its_text():
    shown = in_a_terminal(grading)
    bare = ESCAPES.sub("", shown)
    for written in NAMES.values():
        assert f"{written}   5 / 18" in bare
    assert "x" * 200 in bare
    assert f"1/{len(NAMES)}" in bare or f"{len(NAMES)}/{len(NAMES)}" in bare
    assert "left" in bare
    for steering in ("\x1b[31mred", "\x07", "\x9b", "\u202e", "\x1b[1mZoë"):
        assert steering not in shown
    assert bare.rstrip().splitlines()[-1].startswith("all done")
    assert shown.count("\x1b[?25h") >= shown.count("\x1b[?25l") >= 1  # the cursor is there again


def test_a_terminal_that_can_draw_nothing_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in in_a_terminal(grading)


def in_a_terminal(work) -> str:
    """What `work` shows in a pseudo-terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            os.environ.pop("NO_COLOR", None)
            os.environ.setdefault("TERM", "xterm-256color")
            work()
            sys.stdout.flush()
        finally:
            os._exit(0)
    shown = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # so a terminal says that nobody has it open any more
            break
        if not data:
            break
        shown += data
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown.decode("utf-8")
