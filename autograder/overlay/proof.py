"""Proves that an overlay can tell right from wrong: for made-up students that have every variant between them, the answers
score everything and the notebook as handed out scores nothing, whatever their numbers are.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from autograder.overlay.folder import Overlay
from autograder.overlay.personal import Drawn, Overlaid
from autograder.proving.rows import Plan, Run
from autograder.versions import current
from course_lib.checks.definition import Lab
from course_lib.house import sync

STUDENTS = 3


def plans(folder: Path, overlay: Overlay, seeds: list[int]) -> Iterator[Plan]:
    """Two rows for each made-up student: the answers, and the notebook as handed out.

    Raises ValueError where the overlay does not fit the lab.
    """
    overlaid = Overlaid(current(folder), overlay)
    _, source = sync.marked_notebook(folder.parents[1], folder)
    full = {check.name: check.points for check in overlaid.lab.checks.values()}
    for number, drawn in enumerate(students(overlaid, seeds[0]), start=1):
        load = partial(lab_of, overlaid.edition.folder, overlay.folder, drawn)
        said = ", ".join([*drawn.variants.values(), *(f"{name} = {value}" for name, value in drawn.numbers.items())])
        answers = overlaid.solved(source, drawn)
        runs = [Run(_code(answers), seed) for seed in seeds]
        yield Plan(f"student {number}: answers", said, load, full, full, runs)
        given = overlaid.release_of(drawn)
        nothing = dict.fromkeys(full, 0.0)
        yield Plan(f"student {number}: as given", said, load, full, nothing, [Run(_code(given), seeds[0])])


def students(overlaid: Overlaid, first: int) -> list[Drawn]:
    """What is drawn for a few students, the variants dealt in turn, so that each is there."""
    variants = {item: list(files) for item, files in overlaid.overlay.variants.items()}
    count = max([STUDENTS, *map(len, variants.values())])
    return [
        Drawn(
            seed,
            overlaid.lab.drawn(seed),
            {item: names[number % len(names)] for item, names in variants.items()},
        )
        for number, seed in enumerate(range(first, first + count))
    ]


def lab_of(folder: Path, overlay: Path, drawn: Drawn) -> Lab:
    """One student's lab, loaded anew in the process that runs their notebook."""
    return Overlaid(current(folder), Overlay(overlay)).lab_of(drawn)


def _code(notebook: object) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]  # type: ignore[attr-defined]
