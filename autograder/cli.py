"""The `autograder` command, for instructors."""

import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from course_lib.house import paths

if TYPE_CHECKING:
    from autograder.overlay.folder import Overlay
    from autograder.proving.rows import Plan


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Releases labs, proves them, and grades what students hand in."""


INSTRUCTOR = click.option(
    "--instructor",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A private folder with DIR/LAB/overlay.py: more hidden cases, variants of exercises, numbers for each student.",
)


@main.command()
@click.argument("lab_names", nargs=-1, metavar="[LAB…]")
@click.option("--seeds", default=20, show_default=True, help="Under how many secret seeds the solution is run.")
@click.option(
    "--wrong-seeds",
    default=3,
    show_default=True,
    help="Under how many of them each known-wrong answer is run, in turn.",
)
@click.option("--first-seed", type=int, help="Start from this seed, to repeat a run. By default it is drawn.")
@click.option("--jobs", type=int, help="How many notebooks are run at once. By default, as many as there are cores.")
@INSTRUCTOR
def selfcheck(
    lab_names: tuple[str, ...],
    seeds: int,
    wrong_seeds: int,
    first_seed: int | None,
    jobs: int | None,
    instructor: Path | None,
) -> None:
    """Proves that each LAB (default: all) can tell right from wrong, with a private overlay too.

    The solution must score everything under every seed. The notebook as handed out must score nothing, and a syntax error
    in an answer cost what depends on it alone: both are run once. A known-wrong answer must lose exactly the points
    that its file says: all that could see it is run once, and what it must lose under --wrong-seeds seeds. A check that
    comes out one way under one seed and another way under the next is named, with the command that repeats it.
    """
    from autograder.proving.table import Table
    from autograder.selfcheck import SelfCheck, lab_faults
    from autograder.selfcheck import selfcheck as rows_of
    from course_lib.checks import labs

    jobs = (os.cpu_count() or 1) if jobs is None else jobs
    for name, value in (("--seeds", seeds), ("--wrong-seeds", wrong_seeds), ("--jobs", jobs)):
        if value < 1:
            raise click.BadParameter(f"needs at least 1, got {value}", param_hint=name)
    here = root()
    first = random.SystemRandom().randrange(10**6) if first_seed is None else first_seed
    drawn = list(range(first, first + seeds))
    passed = True
    for folder in lab_folders(here, lab_names):
        lab = labs.load(folder)
        table = Table(lab, shutil.get_terminal_size((120, 24)).columns)
        span = f"seed {first}" if seeds == 1 else f"seeds {first} to {first + seeds - 1}"
        click.echo(f"{lab.name}: {lab.title} · {lab.points:g} points, {span}")
        click.echo(table.head())
        rows = []
        release = here / "labs" / lab.name / f"{lab.name}.ipynb"
        try:
            for row in rows_of(folder, release, drawn, wrong_seeds, jobs, _overlaid(folder, instructor, drawn)):
                rows.append(row)
                click.echo(table.line(row))
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        result = SelfCheck(lab, rows, lab_faults(folder, lab))
        for name, alone in result.caught_by_one.items():
            click.echo(table.wrapped(f"  only {name} catches: {', '.join(alone) or '–'}", 6))
        for fault in [*result.faults, *result.flaky]:
            click.echo(f"  ✗ {fault}")
        if written := lab.written_items:
            click.echo(f"  a person grades: {', '.join(f'{item.name} ({item.points:g})' for item in written.values())}")
        if shared := [f"{check.name} ({check.points:g})" for check in lab.checks.values() if check.asserts]:
            click.echo(f"  shared process: {', '.join(shared)}; use check lines for anything that matters")
        click.echo(f"  {'✓ tells right from wrong' if result.passed else '✗ does not pass'}\n")
        passed &= result.passed
    sys.exit(0 if passed else 1)


@main.command()
@click.argument("lab_names", nargs=-1, metavar="[LAB…]")
@click.option(
    "--course",
    type=click.Path(path_type=Path),
    default=Path("nbgrader-course"),
    show_default=True,
    help="The folder in which nbgrader grades; made if it is not there.",
)
@INSTRUCTOR
@click.option(
    "--students",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Who gets a notebook of their own: an id a line, or a CSV. By default, whoever the gradebook knows.",
)
def release(lab_names: tuple[str, ...], course: Path, instructor: Path | None, students: Path | None) -> None:
    """Puts each LAB (default: all) into an nbgrader course: source, release and gradebook entries.

    With a private overlay, it also writes a notebook for each student.
    """
    from autograder.overlay.folder import find
    from autograder.release import release as release_lab

    try:
        if students is not None and instructor is None:
            raise ValueError(
                "--students needs --instructor DIR: without an overlay every student gets the same notebook"
            )
        for folder in lab_folders(root(), lab_names):
            overlay = find(instructor, folder.name)
            path = release_lab(folder, course)
            click.echo(f"✓ {folder.name}: hand out {path}" if overlay is None else f"✓ {folder.name}: in {path}")
            if overlay is not None:
                count = _to_each(folder, course, overlay, students)
                click.echo(f"  hand out to {count} students: {course}/handouts/{folder.name}/STUDENT, both files")
            if (course / "rubrics" / f"{folder.name}.md").exists():
                click.echo(f"  a person grades its written answers by {course}/rubrics/{folder.name}.md")
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"When they are in: autograder grade LAB DOWNLOAD --course {course}")


def _to_each(folder: Path, course: Path, overlay: "Overlay", students: Path | None) -> int:
    """Writes every student's notebook, and returns how many there are."""
    from autograder.overlay.handouts import students_in, students_of
    from autograder.release import release_to_each

    names = students_of(course) if students is None else students_in(students)
    return sum(1 for _ in release_to_each(folder, course, overlay, names))


def _overlaid(folder: Path, instructor: Path | None, seeds: list[int]) -> Iterator["Plan"]:
    """What an overlay adds to the self-check; nothing where it holds nothing for the lab."""
    from autograder.overlay.folder import find
    from autograder.overlay.proof import plans

    overlay = find(instructor, folder.name)
    if overlay is not None:
        yield from plans(folder, overlay, seeds)


def root() -> Path:
    root = paths.root()
    if root is None or not (root / "solutions").is_dir():
        raise click.ClickException("solutions/ is not here: run this inside the course's own repository")
    return root


def lab_folders(root: Path, names: tuple[str, ...]) -> list[Path]:
    there = sorted(path.parent.name for path in (root / "solutions").glob("*/checks.py"))
    unknown = [name for name in names if name not in there]
    if unknown:
        raise click.ClickException(f"there is no lab {', '.join(unknown)}; there is {', '.join(there) or 'none'}")
    return [root / "solutions" / name for name in (names or there)]


from autograder import commands as commands  # noqa: E402 its commands add themselves to the group above
