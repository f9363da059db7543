"""The commands that grade, and that show, export and check what was graded."""

import contextlib
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.cli import INSTRUCTOR, lab_folders, main, root
from autograder.progress import Progress
from autograder.stopping import Stopped, stoppable
from course_lib.house import paths

if TYPE_CHECKING:
    from autograder.grading.course import Line

COURSE = click.option(
    "--course",
    type=click.Path(path_type=Path),
    default=Path("nbgrader-course"),
    show_default=True,
    help="The nbgrader course, as `autograder release` made it.",
)
LAB = click.argument("lab", metavar="LAB")


def _in_a_line(command: Callable) -> Callable:
    """What goes wrong is said in one line, with an exit code: 1, or 130 and 143 when it was told to stop."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with stoppable():
                command(*args, **kwargs)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt as stop:
            click.echo("stopped; what was graded is kept, and the next run goes on from there", err=True)
            sys.exit(stop.status if isinstance(stop, Stopped) else 130)

    return run


@main.command()
@LAB
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@COURSE
@click.option("--jobs", default=1, show_default=True, help="How many submissions this machine grades at once.")
@click.option(
    "--dask",
    default="",
    metavar="ADDRESS",
    help="Grade on the workers of this Dask scheduler (tcp://HOST:8786) instead.",
)
@click.option("--shard", default="1/1", show_default=True, metavar="I/N", help="Every N-th submission, from the I-th.")
@click.option("--trusted", is_flag=True, help="Grade although the sandbox holds nothing off (level D).")
@click.option("--seed", type=int, help="One seed for all, to repeat a run. By default each submission has its own.")
@INSTRUCTOR
@click.option("--as-now", is_flag=True, help="Grade notebooks of an older release, too, against the lab as it is now.")
@_in_a_line
def grade(
    lab: str,
    paths: tuple[Path, ...],
    course: Path,
    jobs: int,
    dask: str,
    shard: str,
    trusted: bool,
    seed: int | None,
    instructor: Path | None,
    as_now: bool,
) -> None:
    """Grades what was handed in for LAB: nbgrader's tree, a folder, or a download of Canvas, Moodle or Gradescope.

    A submission that has not changed since it was graded is left as it is, so a run that was stopped, or killed, is taken up by
    the next one. Exit status: 0, all is graded; 1, something is not, and a line says why; 130 and 143, stopped by Ctrl-C or
    SIGTERM.
    """
    from autograder.grading.course import Wish, grade_course

    first, _, of = shard.partition("/")
    if not (first.isdigit() and of.isdigit() and 1 <= int(first) <= int(of)) or jobs < 1:
        raise ValueError(f"--shard needs I/N with 1 ≤ I ≤ N, and --jobs at least 1; got {shard} and {jobs}")
    if dask and jobs > 1:
        raise ValueError(
            "--jobs and --dask exclude each other: a Dask scheduler's workers say how much they do at once"
        )
    states: dict[str, int] = {}
    folder = lab_folders(root(), (lab,))[0]
    wish = Wish(jobs, (int(first), int(of)), trusted, seed, instructor=instructor, as_now=as_now, dask=dask)
    with Progress() as progress:
        lines = grade_course(folder, course, paths, wish, say=progress.say, begin=progress.begin)
        with contextlib.closing(lines):
            for line in lines:
                _say(line, progress)
                states[line.receipt.state] = states.get(line.receipt.state, 0) + 1
        taken = progress.end()
    click.echo(f"{', '.join(f'{count} {state}' for state, count in sorted(states.items()))} ({taken})")


def _say(line: "Line", progress: Progress) -> None:
    receipt = line.receipt
    most = sum(check.points for check in receipt.checks)
    as_before = "" if line.again else "  (as before)"
    progress.say(f"{receipt.student:24s} {receipt.score:7g} / {most:g}  {receipt.state}{as_before}")
    for note in (*receipt.notes, *line.notes):
        progress.say(f"    {note}")
    if line.again:
        progress.advance()


@main.command()
@click.argument("student")
@LAB
@COURSE
@_in_a_line
def show(student: str, lab: str, course: Path) -> None:
    """Shows the evidence for each point of STUDENT in LAB, hidden cases too."""
    from autograder.reports.show import show as shown

    click.echo(shown(course, student, lab))


@main.command()
@LAB
@COURSE
@click.option("--picture", type=click.Path(path_type=Path), help="Also draws it into this .svg or .png.")
@_in_a_line
def stats(lab: str, course: Path, picture: Path | None) -> None:
    """Scores, pass rates and known mistakes of the class in LAB."""
    from autograder.reports.stats import stats as of

    click.echo(of(course, lab, picture).text(), nl=False)


@main.command()
@LAB
@click.option("--format", "form", type=click.Choice(["csv", "canvas", "moodle", "gradescope"]), default="csv")
@click.option("--into", type=click.Path(path_type=Path), required=True, help="The file to write.")
@click.option("--sheet", type=click.Path(path_type=Path), help="What Canvas or Moodle exported just now.")
@click.option("--column", default="", help="The lab's column in a Canvas sheet, if it has another name.")
@COURSE
@_in_a_line
def export(lab: str, form: str, into: Path, sheet: Path | None, column: str, course: Path) -> None:
    """Writes the grades of LAB for a platform, every state told apart."""
    from autograder.reports.export import export as write

    done = write(course, lab, form, into, sheet, column)
    for path in done.paths:
        click.echo(f"✓ {path}")
    click.echo(", ".join(f"{count} {state}" for state, count in done.states.items()))
    for note in done.notes:
        click.echo(f"    {note}")


@main.command()
@LAB
@click.argument("students", nargs=-1, metavar="[STUDENT…]")
@click.option("--verify", is_flag=True, required=True, help="Compares byte for byte, and records nothing.")
@COURSE
@INSTRUCTOR
@_in_a_line
def regrade(lab: str, students: tuple[str, ...], verify: bool, course: Path, instructor: Path | None) -> None:
    """Grades LAB again, against the version that each receipt names, and says whether it comes out the same, byte for byte."""
    from autograder.grading.single import regrading
    from autograder.reports.whatif import verify as compare

    with regrading(lab_folders(root(), (lab,))[0], course, instructor) as again:
        found = compare(course, lab, again, list(students) or None)
    click.echo(found.text(), nl=False)
    sys.exit(0 if found.holds else 1)


@main.command()
@LAB
@COURSE
@INSTRUCTOR
@_in_a_line
def whatif(lab: str, course: Path, instructor: Path | None) -> None:
    """Grades LAB again with its checks as they are now, and says who would gain or lose; records nothing."""
    from autograder.grading.single import regrading
    from autograder.reports.whatif import whatif as compare

    with regrading(lab_folders(root(), (lab,))[0], course, instructor, as_now=True) as again:
        click.echo(compare(course, lab, again).text(), nl=False)


@main.command("gradescope-zip")
@LAB
@click.option("--into", type=click.Path(path_type=Path), help="The file to write; by default LAB.zip.")
@click.option("--course", type=click.Path(path_type=Path), help="Whose key it gets; without one, a key of its own.")
@INSTRUCTOR
@_in_a_line
def gradescope_zip(lab: str, into: Path | None, course: Path | None, instructor: Path | None) -> None:
    """Makes the autograder that Gradescope runs for LAB."""
    from autograder.reports.packing import make_zip

    click.echo(f"✓ {make_zip(lab, into or Path(f'{lab}.zip'), course, instructor=instructor)}")


@main.command()
@click.option("--layers", is_flag=True, help="Only tries the layers: seconds, where the notebooks take minutes.")
@click.option("--only", default="", metavar="WORD", help="Only the notebooks that have WORD in their name.")
@_in_a_line
def doctor(layers: bool, only: str) -> None:
    """Tries each layer of the sandbox by its effect, says what level submissions would be graded at, and why; then grades some
    two hundred hostile, broken and honest notebooks, and says whether each came out as it must."""
    from autograder.doctor import Corpus
    from autograder.sandbox import probe

    report = probe()
    for layer in report.layers:
        click.echo(f"{'✓' if layer.works else '✗'} {layer.name:14s} {layer.effect}")
        if not layer.works and layer.raise_by:
            click.echo(f"    {layer.raise_by}")
    click.echo(f"level {report.level}: {report.why}")
    if layers:
        sys.exit(0 if report.level != "D" else 1)
    sys.exit(0 if Corpus(paths.root(), only).run(report, say=click.echo) else 1)
