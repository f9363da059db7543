"""Puts a lab into an nbgrader course: the author's notebook, the students' notebook, and the gradebook's entries.

nbgrader grades inside a folder of its own, which this makes: `source/` and `release/` with the lab, `gradebook.db`, and a
configuration. The students' notebook is the one in `labs/`, byte for byte, so that what is handed out from anywhere is
what the gradebook knows.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autograder import versions
from autograder.overlay.folder import Overlay
from autograder.overlay.handouts import hand_out
from autograder.overlay.personal import Overlaid
from course_lib.checks.definition import Lab
from course_lib.house import sync

CONFIG = """\
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "course"
c.CourseDirectory.root = {root!r}
# A cell that runs longer than this many seconds is interrupted; the cells after it still run.
c.ExecutePreprocessor.timeout = 60
c.ExecutePreprocessor.interrupt_on_timeout = True
"""


def release(folder: Path, course: Path) -> Path:
    """Enters the lab of an author's `folder` into the nbgrader course at `course`, and returns the notebook to hand out.

    What a person needs to grade its written answers by goes into `rubrics/` there; nothing of it is handed out. Nor is what
    grading this version needs, which the course keeps: notebooks of this release stay gradable when the lab changes.

    Raises ValueError when the released notebook does not follow from its source, when `course` holds something else, and when
    graded cells were added or removed after something had been graded.
    """
    from course_lib.house import notebooks

    course = course.resolve()
    if course.exists() and any(course.iterdir()) and not (course / "nbgrader_config.py").exists():
        raise ValueError(f"{course} is not an nbgrader course and not empty: name a new folder")
    root = folder.parents[1]
    lab, source = sync.marked_notebook(root, folder)
    handed_out = root / "labs" / lab.name / f"{lab.name}.ipynb"
    if sync.run(root, check=True):
        raise ValueError("generated files are out of date: run `course sync` first")
    _refuse_other_cells(source, lab.name, course / "gradebook.db")
    config = course / "nbgrader_config.py"
    if not config.exists():
        sync.write(config, CONFIG.format(root=str(course)))
    sync.write(course / "source" / lab.name / f"{lab.name}.ipynb", notebooks.text(source))
    versions.keep(folder, course)
    _enter(source, lab.name, f"sqlite:///{course / 'gradebook.db'}")
    if lab.written_items:
        sync.write(course / "rubrics" / f"{lab.name}.md", rubric(lab))
    product = course / "release" / lab.name / f"{lab.name}.ipynb"
    sync.write(product, handed_out.read_text(encoding="utf-8"))
    return product


def release_to_each(folder: Path, course: Path, overlay: Overlay, students: Sequence[str]) -> Iterator[Path]:
    """Writes each student's notebook of a released lab, with their numbers and variants, and keeps the overlay.

    Raises ValueError where the overlay does not fit the lab.
    """
    overlaid = Overlaid(versions.current(folder), overlay)
    versions.keep_overlay(overlay.folder, overlay.digest, course)
    yield from hand_out(overlaid, course, students)


def rubric(lab: Lab) -> str:
    """What earns how many points in each written answer of a lab, as Markdown."""
    lines = [f"# {lab.title}: written answers"]
    for item in lab.written_items.values():
        lines += ["", f"## {item.name} ({item.points:g} points)", ""]
        lines += [f"- {points:g}: {text}" for text, points in item.rubric.items()]
    return "\n".join([*lines, ""])


def _refuse_other_cells(source: Any, name: str, database: Path) -> None:
    """Raises ValueError where nbgrader would not take the lab: once there are grades, the cells that they stand for stay."""
    from nbgrader.api import Gradebook, MissingEntry

    if not database.is_file():
        return
    with Gradebook(f"sqlite:///{database}") as gradebook:
        try:
            known = gradebook.find_notebook(name, name)
        except MissingEntry:
            return
        if not known.submissions:
            return
        before = {cell.name for cell in [*known.grade_cells, *known.solution_cells]}
    now = {cell.metadata.nbgrader.grade_id for cell in source.cells if "nbgrader" in cell.metadata}
    if before != now:
        raise ValueError(
            f"the gradebook has grades for {name}, and nbgrader then keeps its graded cells: put {_listed(before - now)} back, "
            f"take {_listed(now - before)} out, or release into another course"
        )


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _enter(source: Any, name: str, database: str) -> None:
    """Enters the assignment into the gradebook, in nbgrader's own way."""
    from nbgrader.converters.base import NbGraderException

    from course_lib.house.release import release as student_form

    # nbgrader runs `alembic` by name when it makes a gradebook, and the environment need not be an activated one.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    try:
        student_form(source, name, database=database)
    except NbGraderException as error:
        raise ValueError(f"nbgrader could not enter {name} into {database}: {error}") from error
