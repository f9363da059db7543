"""Where the course is: the folder of the checkout or of the student bundle that a command works in."""

from pathlib import Path


def root(start: Path | None = None) -> Path | None:
    """The nearest folder that holds `lectures/` and `pyproject.toml`: the checkout or the bundle.

    It is looked for from `start` (the working directory) upwards, then from this package upwards.

    Returns:
        The folder, or None where the package was installed from a wheel and the reader stands outside the course.
    """
    begin = (start or Path.cwd()).resolve()
    package = Path(__file__).resolve().parent
    for folder in (begin, *begin.parents, *package.parents):
        if (folder / "lectures").is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    return None
