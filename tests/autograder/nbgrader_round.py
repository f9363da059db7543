"""One nbgrader round, shared: release, ten submissions, autograde."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from click.testing import CliRunner

from autograder.cli import main
from tests.autograder.submissions import LAB, Submission, all_ten


@dataclass(frozen=True)
class Round:
    """An nbgrader course in which the ten have been autograded."""

    course: Path
    submissions: dict[str, Submission]
    autograde: subprocess.CompletedProcess

    @property
    def database(self) -> str:
        return f"sqlite:///{self.course / 'gradebook.db'}"

    def copy(self, folder: Path) -> "Round":
        """The same course elsewhere, for a test that changes it."""
        shutil.copytree(self.course, folder)
        config = folder / "nbgrader_config.py"
        config.write_text(config.read_text(encoding="utf-8").replace(str(self.course), str(folder)), encoding="utf-8")
        return replace(self, course=folder)

    def nbgrader(self, *arguments: str) -> subprocess.CompletedProcess:
        """Runs nbgrader in the course, as README says: its environment's tools on the PATH."""
        return nbgrader(self.course, *arguments)


def nbgrader(course: Path, *arguments: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(
        command, cwd=course, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=180
    )


def hand_in(course: Path, submission: Submission) -> None:
    """Puts a notebook where nbgrader looks for what was collected."""
    path = course / "submitted" / submission.student / LAB / f"{LAB}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(submission.text, encoding="utf-8")


@contextmanager
def graded_round(folder: Path) -> Iterator[Round]:
    """The round, in a folder that is removed afterwards."""
    course = folder / "course"
    result = CliRunner().invoke(main, ["release", LAB, "--course", str(course)])
    assert result.exit_code == 0, result.output
    submissions = {submission.student: submission for submission in all_ten()}
    for submission in submissions.values():
        hand_in(course, submission)
    yield Round(course, submissions, nbgrader(course, "autograde", LAB))
    shutil.rmtree(course, ignore_errors=True)
