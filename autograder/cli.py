"""The `autograder` command, for instructors."""

import random
import sys
from pathlib import Path

import click

from course_lib.house import paths


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Releases labs, proves them, and grades what students hand in."""


@main.command()
@click.argument("lab_names", nargs=-1, metavar="[LAB…]")
@click.option("--seeds", default=3, show_default=True, help="How many secret seeds each notebook is run under.")
@click.option("--first-seed", type=int, help="Start from this seed, to repeat a run. By default it is drawn.")
def selfcheck(lab_names: tuple[str, ...], seeds: int, first_seed: int | None) -> None:
    """Proves that each LAB (default: all) can tell right from wrong."""
    from autograder.selfcheck import SelfCheck, lab_faults
    from autograder.selfcheck import selfcheck as rows_of
    from course_lib.checks import labs

    if seeds < 1:
        raise click.BadParameter(f"needs at least 1, got {seeds}", param_hint="--seeds")
    here = root()
    first = random.SystemRandom().randrange(10**6) if first_seed is None else first_seed
    passed = True
    for folder in lab_folders(here, lab_names):
        lab = labs.load(folder)
        click.echo(f"{lab.name}: {lab.title} · {lab.points:g} points, seeds {first} to {first + seeds - 1}")
        click.echo(_line("", [*lab.checks, "sum"], [""]))
        rows = []
        release = here / "labs" / lab.name / f"{lab.name}.ipynb"
        for row in rows_of(folder, release, list(range(first, first + seeds))):
            rows.append(row)
            numbers = [row.scores.get(name, 0.0) for name in lab.checks]
            click.echo(_line(row.name, [f"{number:g}" for number in [*numbers, round(sum(numbers), 2)]], row.faults))
        result = SelfCheck(lab, rows, lab_faults(folder, lab))
        for name, alone in result.caught_by_one.items():
            click.echo(f"  only {name} catches: {', '.join(alone) or '–'}")
        for fault in result.faults:
            click.echo(f"  ✗ {fault}")
        if written := lab.written_items:
            click.echo(f"  a person grades: {', '.join(f'{item.name} ({item.points:g})' for item in written.values())}")
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
def release(lab_names: tuple[str, ...], course: Path) -> None:
    """Puts each LAB (default: all) into an nbgrader course: source, release and gradebook entries."""
    from autograder.release import release as release_lab

    try:
        for folder in lab_folders(root(), lab_names):
            path = release_lab(folder, course)
            click.echo(f"✓ {folder.name}: hand out {path}")
            if (course / "rubrics" / f"{folder.name}.md").exists():
                click.echo(f"  a person grades its written answers by {course}/rubrics/{folder.name}.md")
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Collect into {course}/submitted/STUDENT/LAB/LAB.ipynb; then, in {course}: nbgrader autograde LAB")


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


def _line(name: str, columns: list[str], faults: list[str]) -> str:
    mark = " " if faults == [""] else "✗" if faults else "✓"
    text = f"{mark} {name:28s}" + " ".join(f"{column:>{max(7, len(column))}s}" for column in columns)
    return text + "".join(f"\n      {fault}" for fault in faults if fault)


from autograder import commands as commands  # noqa: E402 its commands add themselves to the group above
