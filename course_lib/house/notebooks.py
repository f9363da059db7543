"""Notebooks as files: one form, so that the same source gives the same bytes on every machine.

A notebook is written as a Python file in jupytext's percent format, which a person can read and a diff can show. Here it
becomes an `.ipynb` with ids that follow from its content, fixed metadata and no outputs; its set-up cell and its badges,
which depend on where the course is published, are filled in from `[tool.course]` in `pyproject.toml`.
"""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT = {"deletable", "editable", "jupyter", "nbgrader", "tags"}
# What jupytext notes about the layout of the .py file: of no use in a notebook, and different after every edit.
LAYOUT = {"cell_marker", "lines_to_end_of_cell_marker", "lines_to_next_cell", "title"}
BADGES = re.compile(r"<!-- badges -->(?:.*?<!-- /badges -->)?", re.DOTALL)
SETUP = """\
# Makes the course's library available. It is there already after `make start`
# and on Binder; on Colab this cell installs it, beside Colab's own torch and numpy.
import importlib.util
import os
import subprocess
import sys
from importlib.metadata import version

if importlib.util.find_spec("course_lib") is None:
    if "google.colab" not in sys.modules and "COLAB_RELEASE_TAG" not in os.environ:
        raise ModuleNotFoundError("no course_lib here: run `make start` in the course's folder")
    address = os.environ.get("COURSE_SOURCE") or "{address}"
    if not address:
        raise ModuleNotFoundError("this copy has no public address yet: set COURSE_SOURCE to one")
    kept = [f"{package}=={version(package)}" for package in ("numpy", "torch")]
    command = [sys.executable, "-m", "pip", "install", "--quiet", address, *kept]
    subprocess.run(command, check=True)
    importlib.invalidate_caches()"""


@dataclass(frozen=True)
class Home:
    """Where the student bundle is published on GitHub: "owner/repository" ("" for nowhere yet) and the branch."""

    repository: str = ""
    branch: str = "main"

    def __post_init__(self) -> None:
        if self.repository and not re.fullmatch(r"[\w.-]+/[\w.-]+", self.repository):
            raise ValueError(f'[tool.course] repository must be "owner/repository" or "", got {self.repository!r}')

    @property
    def archive(self) -> str:
        """The address that pip installs from, "" for nowhere."""
        return f"https://github.com/{self.repository}/archive/{quote(self.branch)}.zip" if self.repository else ""

    def badges(self, path: str) -> str:
        """Markdown for two badges that open the notebook at `path`; only their place while there is no address."""
        if not self.repository:
            return "<!-- badges -->"
        binder = f"https://mybinder.org/v2/gh/{self.repository}/{quote(self.branch, '')}?labpath={quote(path, '')}"
        colab = f"https://colab.research.google.com/github/{self.repository}/blob/{quote(self.branch)}/{quote(path)}"
        return "\n".join(
            [
                "<!-- badges -->",
                f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder})",
                f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})",
                "<!-- /badges -->",
            ]
        )


def home(root: Path) -> Home:
    """What `[tool.course]` of the pyproject.toml in `root` says."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    settings = pyproject.get("tool", {}).get("course", {})
    return Home(settings.get("repository", ""), settings.get("branch", "main"))


def read(source: Path) -> Any:
    """The notebook of a percent file, as an nbformat notebook.

    Raises ValueError for cell metadata that nothing here knows: a misspelt key would be lost without a word.
    """
    import jupytext

    notebook = jupytext.read(source, fmt="py:percent")
    for cell in notebook.cells:
        if unknown := sorted(set(cell.metadata) - KEPT - LAYOUT - {"written", "asserts"}):
            raise ValueError(f"unknown cell metadata {unknown[0]!r} at the cell that begins {cell.source[:40]!r}")
    return notebook


def fill_in(notebook: Any, home: Home, path: str) -> None:
    """Writes the set-up cell and the badges of the notebook that is published at `path`."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "setup" in cell.metadata.get("tags", []):
            cell.source = SETUP.replace("{address}", home.archive)
    for cell in notebook.cells[:1]:
        if cell.cell_type == "markdown":
            cell.source = BADGES.sub(lambda _: home.badges(path), cell.source)


def settle(notebook: Any, course: dict | None = None) -> Any:
    """Gives the notebook its one form, and returns it; `course` is noted in its metadata."""
    import nbformat

    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict({**METADATA, "course": course} if course else METADATA)
    used: set[str] = set()
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in KEPT & set(cell.metadata)})
        cell.id = _id(cell, used)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.validate(notebook)
    return notebook


def text(notebook: Any) -> str:
    """The text of the `.ipynb` file."""
    import nbformat

    return nbformat.writes(notebook, indent=1).rstrip("\n") + "\n"


def _id(cell: Any, used: set[str]) -> str:
    content = f"{cell.cell_type}\0{cell.source}".encode()
    base = cell.metadata.get("nbgrader", {}).get("grade_id") or hashlib.sha256(content).hexdigest()[:8]
    name, copies = base, 1
    while name in used:
        copies += 1
        name = f"{base}-{copies}"
    used.add(name)
    return name
