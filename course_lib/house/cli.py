"""The `course` command: open the course, look at this machine, regenerate, print the map, publish, fetch what is not shipped.

Each command imports what it needs when it runs, so that `course --help` is instant and `course start` does not pay for
torch. A ValueError is a message to the user, here as everywhere in the course, and is shown as one line.
"""

from pathlib import Path
from typing import Any

import click


class OneLineErrors(click.Group):
    """A group of commands whose ValueErrors reach the user as one line instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ValueError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="course-lib", prog_name="course")
def main() -> None:
    """Tokens per Second: how language models run."""


@main.command()
@click.option("--browser", default="", help="The browser to open; 'none' prints the address instead.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="The port to use and no other. Default: the first free one."
)
def start(browser: str, port: int | None) -> None:
    """Open JupyterLab on the first lecture."""
    from course_lib.house.start import run

    run(browser, port)


@main.command()
@click.option("--quick", is_flag=True, help="Leave out the measurement of memory bandwidth.")
def doctor(quick: bool) -> None:
    """Say what works on this machine, and what to mend."""
    from course_lib.house.doctor import findings, print_findings

    raise SystemExit(print_findings(findings(quick)))


@main.command()
@click.option("--check", is_flag=True, help="Change nothing; fail if a generated file is out of date.")
def sync(check: bool) -> None:
    """Regenerate the notebooks and the checks' cases from their sources."""
    from course_lib.house.sync import run

    changed = run(check=check)
    files = f"{changed} generated file{'s' if changed != 1 else ''}"
    if check and changed:
        raise click.ClickException(f"{files} out of date: run `course sync`")
    click.echo(f"{files} rewritten" if changed else "everything generated is up to date")


@main.command("map")
@click.argument("unit", required=False)
def course_map(unit: str | None) -> None:
    """Print the syllabus, or one UNIT of it."""
    from course_lib.house.syllabus import print_map

    print_map(unit)


@main.command()
@click.argument("target", type=click.Path(path_type=Path))
def bundle(target: Path) -> None:
    """Write the student bundle to TARGET, a folder or .zip."""
    from course_lib.house.bundle import make

    make(target)
    click.echo(f"student bundle: {target}")


@main.group()
def fetch() -> None:
    """Get what the course does not ship, once; nothing else needs a network."""


@fetch.command()
@click.argument("names", nargs=-1)
def vocabularies(names: tuple[str, ...]) -> None:
    """Get the vocabularies of real models, all or those of NAMES: gpt2, cl100k, o200k, mistral."""
    from course_lib.house.fetch import run

    run(names)
