"""What can be known of a cell's code without running it: the names that it binds, its check lines, what was added to it.

Students' code is anything: it may not parse, hold magics, or be nested beyond the parser. Then as much is known as its
lines show.
"""

import ast
import contextlib
import re
import warnings
from collections.abc import Iterator

from course_lib.checks.labs import assigned

MOST_CHARACTERS = 50_000
"""Longer code is not parsed: the trees of hostile code are large."""
MAGIC = re.compile(r"^(?:[!%?].*|.*\?)$", re.MULTILINE)
PYTHON_MAGIC = re.compile(r"\s*%%(?:time|timeit|capture|prun|debug)\b")
DEFINED = re.compile(r"^(?:async +)?(?:def|class) +(\w+)|^(\w+(?:[ ,]+\w+)*) *(?::[^=\n]*)?=(?!=)", re.MULTILINE)
CHECK_LINE = re.compile(r"^check\.(\w+)\(", re.MULTILINE)


def parsed(source: str) -> ast.Module | None:
    """The tree of a cell's code, magics left out; None for what is not Python."""
    if len(source) > MOST_CHARACTERS or (source.lstrip().startswith("%%") and not PYTHON_MAGIC.match(source)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in dict.fromkeys((source, MAGIC.sub("", source))):
            try:
                return ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return None


def bound_names(source: str) -> frozenset[str]:
    """The names that a cell binds at its top level."""
    tree = parsed(source)
    if tree is not None:
        with contextlib.suppress(RecursionError):  # thousands of elifs are as many levels
            return frozenset(_bound(tree.body))
    if len(source) > MOST_CHARACTERS or source.lstrip().startswith("%%"):
        return frozenset()
    return frozenset(name for match in DEFINED.finditer(source) for name in re.findall(r"\w+", match[1] or match[2]))


def may_bind(source: str) -> bool:
    """Whether a line of the text looks as if it bound a name: cheap, and true of much that does not."""
    return DEFINED.search(source) is not None


def first_name(source: str) -> str:
    """The name that a cell binds first, "" for none."""
    tree = parsed(source)
    return next(_bound(tree.body), "") if tree is not None else ""


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (name.asname or name.name.partition(".")[0] for name in node.names)
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            yield from (name for target in targets if target is not None for name in assigned(target))
            for field in ("body", "orelse", "finalbody"):
                yield from _bound(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _bound(handler.body)
            for item in getattr(node, "items", []):
                yield from assigned(item.optional_vars) if item.optional_vars else ()


def statements(source: str) -> frozenset[str] | None:
    """The top-level statements of a cell in a form that layout and comments do not change; None where it does not parse."""
    tree = parsed(source)
    return None if tree is None else frozenset(_form(node) for node in tree.body)


def _form(node: ast.stmt) -> str:
    try:
        return ast.dump(node)
    except RecursionError:
        return f"too deep: {id(node)}"


def _body(source: str) -> list[ast.stmt]:
    tree = parsed(source)
    return tree.body if tree is not None else []


def is_part_of(source: str, released: str) -> bool:
    """Whether the cell holds nothing but what the release has there: it is untouched, part of it, or blank."""
    if source.split() == released.split() or not source.strip():
        return True
    mine, theirs = statements(source), statements(released)
    return mine is not None and theirs is not None and mine <= theirs


def check_names(source: str) -> list[str]:
    """The NAME of each `check.NAME(…)` that stands in the cell by itself, on its top level."""
    if "check." not in source:
        return []
    tree = parsed(source)
    if tree is None:
        return CHECK_LINE.findall(source)
    return [name for node in tree.body if (name := _checked(node))]


def _checked(node: ast.stmt) -> str | None:
    match node:
        case (
            ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name("check"), attr=name)))
            | ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name("check"), attr=name)))
        ) if name != "progress":
            return name
    return None


def added(source: str, released: str) -> str:
    """What a student added to a cell of the lab: its statements without those of the release, check lines and assertions."""
    tree, theirs = parsed(source), statements(released)
    if tree is None or theirs is None:
        old = {line.strip() for line in released.splitlines()}
        kept = [line for line in source.splitlines() if line.strip() not in old and not CHECK_LINE.match(line)]
        return "\n".join(kept).strip("\n")
    lines = source.split("\n")
    parts = []
    tests = {_form(ast.Expr(node.test)) for node in _body(released) if isinstance(node, ast.If)}
    for node in tree.body:
        idle = isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        old_branch = isinstance(node, ast.If) and _form(ast.Expr(node.test)) in tests
        if idle or old_branch or _checked(node) or _form(node) in theirs:
            continue
        first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", []))])
        parts.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n".join(parts)
