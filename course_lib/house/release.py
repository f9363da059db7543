"""From the author's lab notebook to the student's: which cells are graded, and what is left of the answers.

Authors mark almost nothing. What nbgrader has to know about a cell follows from what is in it:

    check.softmax(softmax)                     alone in its cell: a test cell, locked, worth the points of that check
    ### BEGIN SOLUTION … ### END SOLUTION      an answer in code, named after the first name that its cell defines
    # %% [markdown] written="which_wall"       an answer in words, graded by a person, worth the points of its rubric
    # %% asserts="old_softmax"                 a cell of plain asserts: a test cell, locked, worth the points of that check;
                                               ### BEGIN HIDDEN TESTS … ### END HIDDEN TESTS in it are left out

A bug hunt shows students faulty code where the author has the mended one. Kept as comments after the answer, between
`### BEGIN GIVEN` and `### END GIVEN`, the faulty lines become code in the release, in the place of nbgrader's stub.
"""

import ast
import logging
import re
import tempfile
from pathlib import Path
from typing import Any

from course_lib.checks.definition import Check, Lab
from course_lib.house import notebooks

STUB = "# YOUR CODE HERE\nraise NotImplementedError"
SOLUTION = re.compile(r"^[ \t]*### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION$", re.DOTALL | re.MULTILINE)
GIVEN = re.compile(
    r"(?:^[ \t]*# YOUR CODE HERE\n[ \t]*raise NotImplementedError\n)?"
    r"^[ \t]*### BEGIN GIVEN\n(.*?)^[ \t]*### END GIVEN$",
    re.DOTALL | re.MULTILINE,
)


MARKER = re.compile(r"#\s*(BEGIN|END)\s+(SOLUTION|GIVEN|HIDDEN\s+TESTS?)\b", re.IGNORECASE)  # however it is spelt


def mark(notebook: Any, lab: Lab) -> None:
    """Writes nbgrader's metadata into the cells of the author's notebook.

    Raises ValueError when the notebook and the lab do not name the same checks and written items, each once, when two
    graded cells would have the same name, and for markers that do not pair up.
    """
    lines: list[str] = []
    written: list[str] = []
    names: set[str] = set()
    for cell in notebook.cells:
        _check_markers(cell.source)
        if "BEGIN HIDDEN TESTS" in cell.source and "asserts" not in cell.metadata:
            raise ValueError(f'the cell that begins {cell.source[:40]!r} hides tests: mark it asserts="NAME"')
        has_answer = SOLUTION.search(cell.source) is not None
        grade: float | None = None
        solution = True
        if "written" in cell.metadata:
            name = cell.metadata.pop("written")
            written.append(name)
            grade = _points("written item", name, lab.written_items)
        elif "asserts" in cell.metadata:
            check = cell.metadata.pop("asserts")
            if cell.cell_type != "code" or has_answer:
                raise ValueError(f"the asserts {check!r} must be a code cell that holds no answer")
            lines.append(check)
            name, solution = f"check_{check}", False
            grade = _points("asserts", check, _checks(lab, asserts=True))
        elif cell.cell_type == "code" and (check := checked(cell.source)):
            if has_answer:
                raise ValueError(f"the cell of check.{check} must hold that line alone, and it holds an answer")
            lines.append(check)
            name, solution = f"check_{check}", False
            grade = _points("check", check, _checks(lab, asserts=False))
        elif cell.cell_type == "code" and has_answer:
            name = first_name(cell.source)
        elif has_answer:
            raise ValueError(f'the text cell that begins {cell.source[:40]!r} holds an answer: give it written="NAME"')
        else:
            continue
        if name in names:
            raise ValueError(f"two graded cells are called {name!r}; each needs a name of its own")
        names.add(name)
        cell.metadata["nbgrader"] = _metadata(name, grade, solution)
    for kind, defined, found in (("check", lab.checks, lines), ("written item", lab.written_items, written)):
        if missing := [name for name in defined if name not in found]:
            raise ValueError(f"{kind} {missing[0]!r} is defined, and no cell of the notebook is for it alone")


def checked(source: str) -> str | None:
    """The NAME of a cell whose only statement is `check.NAME(…)`; None for any other cell."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return None
    match body:
        case [ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name("check"), attr=name)))] if name != "progress":
            return name
    return None


def release(notebook: Any, name: str, database: str | None = None) -> Any:
    """The student's form of a marked notebook, made by nbgrader's `generate_assignment`.

    nbgrader copies whatever lies beside a notebook into the release, so it is shown a folder that holds nothing else.
    With `database` (an SQLAlchemy URL) the assignment is also entered into that gradebook.
    """
    import nbformat
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.preprocessors import ClearSolutions
    from traitlets.config import Config

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source", name, f"{name}.ipynb")
        source.parent.mkdir(parents=True)
        source.write_text(notebooks.text(notebook), encoding="utf-8", newline="\n")
        config = Config()
        config.CourseDirectory.root = folder
        config.CourseDirectory.assignment_id = name
        config.CourseDirectory.db_url = database or f"sqlite:///{folder}/gradebook.db"
        config.ClearSolutions.code_stub = {"python": STUB}
        config.SaveCells.enabled = database is not None
        quiet = logging.getLogger("course.release")
        quiet.setLevel(logging.ERROR)
        converter = GenerateAssignment(coursedir=CourseDirectory(config=config, log=quiet), config=config, log=quiet)
        converter.no_database = database is None
        steps = list(converter.preprocessors)
        # Before the checksums are taken, by which nbgrader tells an answer from an untouched cell.
        steps.insert(steps.index(ClearSolutions) + 1, _show_given)
        converter.preprocessors = steps
        converter.start()
        return nbformat.read(Path(folder, "release", name, f"{name}.ipynb"), as_version=4)


def show_given(source: str) -> str:
    """A cell of the release, with the commented lines of each GIVEN block turned into code."""
    return GIVEN.sub(lambda block: _uncomment(block[1]), source)


def _show_given(notebook: Any, resources: Any) -> tuple[Any, Any]:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = show_given(cell.source)
    return notebook, resources


def _check_markers(source: str) -> None:
    """An unpaired or misspelt marker could leave an answer in the release."""
    found = [line.strip() for line in source.splitlines() if MARKER.search(line)]
    wanted = [
        part
        for kind in re.findall(r"BEGIN (SOLUTION|GIVEN|HIDDEN TESTS)", source)
        for part in (f"BEGIN {kind}", f"END {kind}")
    ]
    if found != [f"### {marker}" for marker in wanted]:
        raise ValueError(f"markers must be whole lines, in pairs of ### BEGIN … and ### END …; a cell has {found}")
    show_given(source)  # raises for a line in it that is not a comment


def _uncomment(lines: str) -> str:
    bare = [line for line in lines.splitlines() if not re.match(r"\s*#|\s*$", line)]
    if bare:
        raise ValueError(f"every line between ### BEGIN GIVEN and ### END GIVEN must be a comment, got {bare[0]!r}")
    return "\n".join(re.sub(r"^([ \t]*)# ?", r"\1", line).rstrip() for line in lines.splitlines())


def _points(kind: str, name: str, items: dict) -> float:
    if name not in items:
        raise ValueError(f"the notebook has {kind} {name!r}; the lab has {', '.join(items) or 'none'}")
    return items[name].points


def _checks(lab: Lab, asserts: bool) -> dict[str, Check]:
    """The checks of a lab that are cells of asserts, or those that have a check line."""
    return {name: check for name, check in lab.checks.items() if (check.asserts is not None) == asserts}


def first_name(source: str) -> str:
    """The first name that a cell defines. Raises ValueError for a cell that defines none or does not parse."""
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ValueError(f"the solution cell that begins {source[:40]!r} does not parse: {error}") from None
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return node.name
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    return part.id
    raise ValueError(f"the solution cell that begins {source[:40]!r} must define a function or a value")


def _metadata(name: str, points: float | None, solution: bool) -> dict:
    graded = {} if points is None else {"points": int(points) if points == int(points) else points}
    return {
        "grade": points is not None,
        "grade_id": name,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
        **graded,
    }
