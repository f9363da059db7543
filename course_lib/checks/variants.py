"""Runs a lab's notebook, as it is or with one answer replaced, against chosen cases. For code we trust: in this process.

It shows what the solution scores, what the untouched release scores, and what each known-wrong answer loses.
"""

import ast
import contextlib
import io
import symtable
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from course_lib.checks.cases import Case
from course_lib.checks.definition import Check, Lab, Mistake
from course_lib.checks.judging import CheckResult, judge, judge_asserts
from course_lib.checks.labs import KnownWrong, defined_names, known_wrong
from course_lib.checks.legacy.trial import attempt
from course_lib.checks.notebook import answering
from course_lib.checks.perform import ask_here

CasesOf = Callable[[Check], list[Case]]


class Recorder:
    """Stands where a notebook's `check` stands: judges each check line, or those of `only`, and remembers the result."""

    def __init__(self, lab: Lab, cases_of: CasesOf, only: Collection[str] | None = None) -> None:
        self._lab = lab
        # All of them now: a case that cannot be made is the author's fault and must not look like a wrong answer.
        looked_at = [check for check in lab.checks.values() if only is None or check.name in only]
        self._cases = {check.name: cases_of(check) for check in looked_at}
        self.results: dict[str, CheckResult] = {}

    def look_into(self, cell: str, namespace: dict[str, Any]) -> None:
        """Judges a cell of asserts, as its author or as students have it, among these names; any other cell is left alone."""
        check = asserted(self._lab).get(cell.strip())
        if check is not None and check.name in self._cases:
            # What it defines goes nowhere; the grader, which forks, keeps apart what it changes, too.
            self.results[check.name] = judge_asserts(check, lambda source: attempt(source, dict(namespace)))

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in self._lab.checks:
            raise AttributeError(f"lab {self._lab.name!r} has no check {name!r}")
        check = self._lab.checks[name]

        def look(*targets: Any) -> None:
            if name not in self._cases:
                return
            ask = lambda steps: ask_here(steps, targets, self._lab.provides, check.refuses)  # noqa: E731
            self.results[name] = judge(check, self._cases[name], ask)

        return look

    def progress(self) -> None:
        """Nothing to show: nobody is looking."""


def solution_cells(folder: Path | str) -> list[str]:
    """The code cells of the author's notebook."""
    folder = Path(folder)
    import jupytext

    return _code_cells(jupytext.read(folder / f"{folder.name}.py"))


def release_cells(path: Path | str) -> list[str]:
    """The code cells of a released or submitted notebook."""
    import nbformat

    return _code_cells(nbformat.read(Path(path), as_version=4))


def replaced(cells: list[str], wrong: KnownWrong) -> list[str]:
    """The notebook with a known-wrong answer laid over each cell that defines what it replaces."""
    here = [bool(defined_names(cell) & set(wrong.replaces)) for cell in cells]
    if not any(here):
        raise ValueError(
            f"known-wrong answer {wrong.name!r} replaces {list(wrong.replaces)}; no cell of the solution defines them"
        )
    return [f"{cell}\n{wrong.code}" if hit else cell for cell, hit in zip(cells, here, strict=True)]


def asserted(lab: Lab) -> dict[str, Check]:
    """The lab's checks that are cells of asserts, by the source of the cell, whole and as it is shown."""
    found = [(check, check.asserts) for check in lab.checks.values() if check.asserts is not None]
    return {text.strip(): check for check, asserts in found for text in (asserts.source, asserts.shown)}


def without(cells: list[str], broken: Collection[int]) -> list[str]:
    """The notebook with a syntax error in the cells of these numbers."""
    return [f"{cell}\n)" if number in broken else cell for number, cell in enumerate(cells)]


def answered(cells: list[str]) -> list[int]:
    """The numbers of the cells that hold an answer."""
    return [number for number, cell in enumerate(cells) if "### BEGIN SOLUTION" in cell]


def bound(cell: str) -> set[str]:
    """The names that a cell gives to the notebook."""
    return _bound_and_used(cell)[0]


def reached(cells: list[str], names: Collection[str], lab: Lab | None = None) -> set[str]:
    """The checks that may come out otherwise when what these names stand for is replaced: by the names that cells use.

    A cell that uses one of them passes it on to every name that it binds, and to the checks on its lines; a cell of
    asserts of `lab` is a check itself.
    """
    changed, checks = set(names), set()
    for cell in cells:
        binds, uses = _bound_and_used(cell)
        if binds & set(names) or changed & uses:
            changed |= binds
            checks |= _checks_in(cell, lab)
    return checks


def lost_without(cells: list[str], number: int, lab: Lab | None = None) -> set[str]:
    """The checks that cannot be reached without the cell of this number: they use a name that it alone gives."""
    others = set().union(*(bound(cell) for other, cell in enumerate(cells) if other != number))
    own = bound(cells[number]) - others
    return {check for cell in cells if own & _bound_and_used(cell)[1] for check in _checks_in(cell, lab)}


def _checks_in(cell: str, lab: Lab | None) -> set[str]:
    """The checks on a cell's lines, and the one that a cell of asserts is."""
    lines = [node for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Attribute)]
    checks = {node.attr for node in lines if isinstance(node.value, ast.Name) and node.value.id == "check"}
    asserts = asserted(lab) if lab is not None else {}
    return checks | ({asserts[cell.strip()].name} if cell.strip() in asserts else set())


def _bound_and_used(cell: str) -> tuple[set[str], set[str]]:
    """The names that a cell binds and those that it reads; none for a cell that does not parse, as one with a magic."""
    try:
        return _names_in(symtable.symtable(cell, "cell", "exec"))
    except SyntaxError:
        return set(), set()


def _names_in(table: symtable.SymbolTable, inside: bool = False) -> tuple[set[str], set[str]]:
    """The global names that code binds and those that it reads, in its functions too."""
    symbols = [symbol for symbol in table.get_symbols() if not inside or symbol.is_global()]
    binds = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    uses = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    for child in table.get_children():
        more_binds, more_uses = _names_in(child, inside=True)
        binds, uses = binds | more_binds, uses | more_uses
    return binds, uses


def run(cells: list[str], lab: Lab, cases_of: CasesOf, only: Collection[str] | None = None) -> dict[str, CheckResult]:
    """The results of every check line that was reached, or of the checks in `only`.

    A cell that fails costs what depends on it, as in a notebook.
    """
    recorder = Recorder(lab, cases_of, only)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    quiet = io.StringIO()
    with (
        answering(recorder),
        warnings.catch_warnings(action="ignore"),
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
    ):
        for number, cell in enumerate(cells):
            recorder.look_into(cell, namespace)
            with contextlib.suppress(Exception, SystemExit):
                exec(compile(cell, f"<cell {number}>", "exec"), namespace)
    return recorder.results


def mistakes(lab: Lab, folder: Path | str) -> list[Mistake]:
    """What each known-wrong answer of the folder gives on the visible cases, where a visible case tells it from a right one."""
    cells, found = solution_cells(folder), []
    for wrong in known_wrong(folder):
        # What it leaves alone need not be run: the self-check proves that it does.
        results = run(replaced(cells, wrong), lab, lambda check: check.visible_cases(), only=wrong.loses)
        outcomes = {
            name: {case.name: case.fingerprint for case in result.cases}
            for name, result in results.items()
            if not result.passed and result.check.asserts is None  # whose failing says too little to name a mistake
        }
        if outcomes:
            found.append(Mistake(wrong.text, outcomes))
    return found


def _code_cells(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]
