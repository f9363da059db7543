"""What a lab's notebook imports: loaded once, before submissions are forked, and not by each of them."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any


def imported(notebook: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that a notebook's code cells import, in order; a cell that does not parse imports nothing."""
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return tuple(dict.fromkeys(name for source in sources for name in _names(source)))


def _names(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
