"""Puts a lab into an nbgrader course: the author's notebook, the students' notebook, and the gradebook's entries.

nbgrader grades inside a folder of its own, which this makes: `source/` and `release/` with the lab, `gradebook.db`, and a
configuration. The students' notebook is the one in `labs/`, byte for byte, so that what is handed out from anywhere is
what the gradebook knows.
"""

import os
import sys
from pathlib import Path
from typing import Any

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

    What a person needs to grade its written answers by goes into `rubrics/` there; nothing of it is handed out.

    Raises ValueError when the released notebook does not follow from its source, or `course` holds something else.
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
    config = course / "nbgrader_config.py"
    if not config.exists():
        sync.write(config, CONFIG.format(root=str(course)))
    sync.write(course / "source" / lab.name / f"{lab.name}.ipynb", notebooks.text(source))
    _enter(source, lab.name, f"sqlite:///{course / 'gradebook.db'}")
    if lab.written_items:
        sync.write(course / "rubrics" / f"{lab.name}.md", rubric(lab))
    product = course / "release" / lab.name / f"{lab.name}.ipynb"
    sync.write(product, handed_out.read_text(encoding="utf-8"))
    return product


def rubric(lab: Lab) -> str:
    """What earns how many points in each written answer of a lab, as Markdown."""
    lines = [f"# {lab.title}: written answers"]
    for item in lab.written_items.values():
        lines += ["", f"## {item.name} ({item.points:g} points)", ""]
        lines += [f"- {points:g}: {text}" for text, points in item.rubric.items()]
    return "\n".join([*lines, ""])


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
