"""Canaries made from a cell's own asserts: what must fail wherever the asserts hold.

The best canary is the assert with another expectation. `softmax([0, 0])[0] == 0.5` becomes `… == 1500.5`: an answer that is equal
to everything passes both. Where an assert states no number or text to change, it is negated: that notices asserts that were
taken out, skipped or silenced, and not an answer that lies.
"""

import ast
import math
from dataclasses import dataclass
from typing import Any

FAR = 1000.0
"""By how many times its size a number is moved away: beyond any tolerance."""
COMPARES = ("allclose", "isclose", "array_equal", "array_equiv", "equal")  # of two things, the first two arguments
MEASURES = ("abs", "absolute", "fabs", "max", "amax", "sum", "mean", "norm")  # of a difference
KEEPS = ("all", "bool")  # of a comparison
MAKES = ("array", "asarray", "tensor", "as_tensor")  # of a literal


@dataclass(frozen=True)
class Canary:
    """Code that must end in an AssertionError; `said` is the line of it that must fail."""

    source: str
    said: str


def derived(source: str) -> list[Canary]:
    """A canary for each assert on the top level of a cell: the whole cell, with that assert changed so that it must fail.

    What follows stays, though it is never reached: what leads the cell past its asserts shall lead a canary past its own.
    """
    lines, found = source.split("\n"), []
    body = ast.parse(source).body
    for node, other in zip(body, [*body[1:], None], strict=True):
        changed, end = _changed(node), node.end_lineno or node.lineno
        if changed is not None and (other is None or other.lineno > end):
            text = ast.unparse(changed)
            blank = [""] * (end - node.lineno)
            found.append(Canary("\n".join([*lines[: node.lineno - 1], text, *blank, *lines[end:]]), text))
    return found


def asserters(source: str) -> set[str]:
    """The functions called assert… that a cell calls: each decides for itself whether it raises."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return {name for call in calls if (name := _name(call.func)).lower().startswith("assert")}


def _changed(node: ast.stmt) -> ast.stmt | None:
    match node:
        case ast.Assert(test=test):
            return ast.Assert(_unexpected(test) or ast.UnaryOp(ast.Not(), test), None)
        case ast.Expr(ast.Call(func=func) as call) if _name(func).lower().startswith("assert"):
            other = _other_argument(call)
            return ast.Expr(other) if other else None
    return None


def _unexpected(test: ast.expr) -> ast.expr | None:
    """The same question with another expectation; None where it states none."""
    match test:
        case ast.Compare(left, [ast.Eq()], [right]):
            pair = _one_moved(left, right)
            return pair and ast.Compare(pair[0], [ast.Eq()], [pair[1]])
        case ast.Compare(left, [ast.Lt() | ast.LtE()], [tolerance]):
            far = _moved_inside(left)
            return far and ast.Compare(far, test.ops, [tolerance])
        case ast.BoolOp(ast.And(), [first, *rest]):
            other = _unexpected(first)
            return other and ast.BoolOp(ast.And(), [other, *rest])
        case ast.Call(ast.Attribute(inner, "all"), [], keywords):
            other = _unexpected(inner)
            return other and ast.Call(ast.Attribute(other, "all"), [], keywords)
        case ast.Call(func, [inner], keywords) if _name(func) in KEEPS:
            other = _unexpected(inner)
            return other and ast.Call(func, [other], keywords)
        case ast.Call(func, [_, _, *_]) if _name(func) in COMPARES:
            return _other_argument(test)
    return None


def _other_argument(call: ast.Call) -> ast.Call | None:
    """A call of something that compares its first two arguments, with one of them moved."""
    pair = _one_moved(*call.args[:2]) if len(call.args) > 1 else None
    return pair and ast.Call(call.func, [*pair, *call.args[2:]], call.keywords)


def _moved_inside(measure: ast.expr) -> ast.expr | None:
    """The size of a difference, abs(a - b) say, with a or b moved."""
    match measure:
        case ast.BinOp(left, ast.Sub(), right):
            pair = _one_moved(left, right)
            return pair and ast.BinOp(pair[0], ast.Sub(), pair[1])
        case ast.Call(func, [inner, *rest], keywords) if _name(func) in MEASURES:
            other = _moved_inside(inner)
            return other and ast.Call(func, [other, *rest], keywords)
        case ast.Call(ast.Attribute(inner, name), [], keywords) if name in MEASURES:
            other = _moved_inside(inner)
            return other and ast.Call(ast.Attribute(other, name), [], keywords)
    return None


def _one_moved(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The two sides of a comparison, the one that is a literal moved."""
    if (other := _moved(right)) is not None:
        return left, other
    if (other := _moved(left)) is not None:
        return other, right
    return None


def _moved(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func, [first, *rest], keywords) if _name(func) in MAKES:
            other = _moved(first)
            return other and ast.Call(func, [other, *rest], keywords)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return ast.parse(repr(_away(value)), mode="eval").body


def _away(value: Any) -> Any:
    """A value of the same form that nobody takes for this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(FAR) * (abs(value) + 1)
    if isinstance(value, float):
        other = value + FAR * (abs(value) + 1)
        return other if math.isfinite(other) else 0.0
    if isinstance(value, str):
        return f"{value}?"
    if isinstance(value, list | tuple) and value:
        return type(value)(map(_away, value))
    return ...


def _name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
