"""What `autograder grade` says while it works: a line for each submission and, on a terminal, a bar below them.

Elsewhere there are the lines alone. A line may hold a student's name, or what stood in a file: whatever would steer a terminal is
written out instead.
"""

import contextlib
import sys
import time
from typing import Any

import click

REFRESHES = 4  # of the bar, per second
WINDOW_S = 300.0  # that the rate is told of


def safe(text: str) -> str:
    """A text on one line that steers no terminal: control characters, marks of direction and the like as `\\x1b`."""
    return "".join(letter if letter.isprintable() else _written_out(letter) for letter in text)


def _written_out(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def duration(seconds: float) -> str:
    """A time as a person reads it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


class Progress:
    """Lines, and a bar below them where somebody watches. Use it as a `with` block."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Any = None

    def say(self, line: str) -> None:
        """Says a line, above the bar."""
        if self._bar is None:
            click.echo(safe(line))
        else:
            from rich.text import Text

            self._bar.console.print(Text(safe(line)), soft_wrap=True)

    def begin(self, number: int) -> None:
        """Draws the bar for so many submissions, if this is a terminal."""
        if number and self._bar is None and sys.stdout.isatty():
            from rich.console import Console

            console = Console(highlight=False, markup=False, emoji=False)
            if console.is_interactive:
                self._bar = _bar(console)
                self._bar.add_task("", total=number)
                self._bar.start()

    def advance(self) -> None:
        """One of them is done."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])

    def end(self) -> str:
        """Takes the bar away; returns how long it all took."""
        if self._bar is not None:
            with contextlib.suppress(OSError):  # the terminal may be gone
                self._bar.stop()
            self._bar = None
        return duration(time.monotonic() - self._start)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self.end()


def _bar(console: Any) -> Any:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            each = task.speed or 0.0
            return Text(f"{each:.1f}/s" if each >= 1 else f"{60 * each:.1f}/min" if each else "", "progress.data.speed")

    columns = (
        MofNCompleteColumn(),
        BarColumn(),
        Rate(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TimeElapsedColumn(),
    )
    return Progress(
        *columns, console=console, transient=True, refresh_per_second=REFRESHES, speed_estimate_period=WINDOW_S
    )
