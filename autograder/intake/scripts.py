"""A Python script that was handed in instead of a notebook, as cells.

The percent format and nbconvert's exports say where a cell begins. Other scripts are cut at their top-level statements, so
that each definition can be matched with the lab's cell for it.
"""

import ast
import re
from typing import Any

from autograder.intake import Unreadable
from autograder.intake.cells.code import parsed
from autograder.intake.words import counted, shortened

MOST_CHARACTERS = 500_000
PERCENT = re.compile(r"^# ?%%", re.MULTILINE)
PROMPT = re.compile(r"^# In ?\[[ \d*]*\]:[ \t]*$", re.MULTILINE)


def notebook(text: str, name: str = "") -> tuple[dict[str, Any], list[str]]:
    """The cells of a script. Raises Unreadable for what is none."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    marked = PERCENT.search(text) or PROMPT.search(text)
    if len(text) > MOST_CHARACTERS:
        raise Unreadable("the file is no notebook, and too large for a script")
    cells = _marked_cells(text) if marked else _statement_cells(text, sure=name.lower().endswith(".py"))
    if not cells:
        raise Unreadable(f"the file is neither a notebook nor a Python script: it begins {shortened(text, 40)!r}")
    found = {"cells": cells, "nbformat": 4, "nbformat_minor": 4, "metadata": {}}
    return found, [f"a Python script was handed in, not a notebook: read as {counted(len(cells), 'cell')}"]


def _marked_cells(text: str) -> list[dict[str, Any]]:
    import jupytext

    try:
        found = jupytext.reads(PROMPT.sub("# %%", text), fmt="py:percent")
    except Exception as error:  # its header may hold anything
        raise Unreadable(f"the script's cells cannot be told apart ({type(error).__name__})") from None
    return [dict(cell) for cell in found.cells]


def _statement_cells(text: str, sure: bool) -> list[dict[str, Any]]:
    tree = parsed(text)
    if tree is None or not tree.body:
        return [_cell("code", text)] if sure else []
    telling = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assign
    if not sure and not any(isinstance(node, telling) for node in tree.body):
        return []
    lines = text.split("\n")
    cells: list[dict[str, Any]] = []
    at = 0
    for node in tree.body:
        end = node.end_lineno or node.lineno
        if end <= at:  # a second statement on the same line
            continue
        source = "\n".join(lines[at:end]).strip("\n")
        at = end
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            cells.append(_cell("markdown", node.value.value))  # Colab's way to export a text
        else:
            cells.append(_cell("code", source))
    if rest := "\n".join(lines[at:]).strip("\n"):
        cells.append(_cell("code", rest))
    return cells


def _cell(kind: str, source: str) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": source}
