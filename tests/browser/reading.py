"""What tests do with an open notebook as a reader would: find a cell by its words, run it, type into it, look at it."""

import os
from pathlib import Path

from tests.browser.jupyter import Notebook


def index_of(notebook: Notebook, words: str) -> int:
    """The first code cell that holds `words`."""
    return next(i for i, cell in enumerate(notebook.cells()) if cell["cell_type"] == "code" and words in cell["source"])


def keep(notebook: Notebook, name: str, words: str) -> None:
    """Leaves a picture of the cell that holds `words` where SCREENSHOTS says, to be looked at."""
    if folder := os.environ.get("SCREENSHOTS"):
        notebook.screenshot(Path(folder) / f"{name}.png", of=notebook.cell(index_of(notebook, words)))


def run(notebook: Notebook, words: str, source: str | None = None) -> str:
    """Runs the first code cell that holds `words`, after typing `source` into it; returns its output as HTML."""
    index = index_of(notebook, words)
    notebook.page.evaluate(
        """async ([index, source]) => {
            const content = jupyterapp.shell.currentWidget.content;
            if (source !== null) content.model.cells.get(index).sharedModel.setSource(source);
            content.activeCellIndex = index;
            await jupyterapp.commands.execute('notebook:run-cell');
        }""",
        [index, source],
    )
    outputs = notebook.cells()[index]["outputs"]
    return "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)


def run_cells(notebook: Notebook, last: int, start: int = 0) -> None:
    """Runs the cells up to `last`, one by one, as a reader does with Shift+Enter."""
    notebook.page.evaluate(
        """async ([start, last]) => {
            const content = jupyterapp.shell.currentWidget.content;
            for (let i = start; i <= last; i++) {
                content.activeCellIndex = i;
                await jupyterapp.commands.execute('notebook:run-cell');
            }
        }""",
        [start, last],
    )
