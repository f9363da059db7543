"""What a student is shown: the evidence case by case, a picture of where arrays differ, and help that comes in steps."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from course_lib.checks.judging import CaseResult, CheckResult, Group

PRINTED_LINES = 4
KERNEL_FILE = re.compile(r"\S*ipykernel_\d+\S*?:(\d+): ")  # a notebook's cell, as a warning names it
GRID = 16  # the picture of an array has at most this many cells a side
OK, WRONG, MISSING = "#009E73", "#D55E00", "#0072B2"  # Okabe–Ito green, vermilion, blue


@dataclass(frozen=True)
class Report:
    """One check's result, ready to be shown. Its plain text in a notebook is the score alone: nbgrader reads that."""

    result: CheckResult
    hint: str | None = None
    mistake: str | None = None
    in_notebook: bool = True

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        plain = points_text(self.result.score) if self.in_notebook else self.text()
        return {"text/plain": plain, "text/html": self.html()}

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The report for a terminal."""
        result, width = self.result, 100
        mark = "✓" if result.passed else "✗"
        earned = f"{points_text(result.score)} / {points_text(result.check.points)} points"
        right = f"{_passed(result)} of {len(result.cases)} cases · {earned}"
        lines = [f"{mark} {result.check.name}".ljust(width - len(right)) + right]
        for case, evidence in _evidence(result):
            lines.append(f"   {'✓' if case.passed else '✗'} {case.name}{f' · {case.group}' if case.group else ''}")
            if evidence:
                lines.append(f"       {evidence}")
        lines += [f"   {title}: {text}" for title, text in self._help()]
        return "\n".join(lines)

    def html(self) -> str:
        """The report for a notebook: a table, with a picture beside the first failing array."""
        result = self.result
        state = "passed" if result.passed else "not yet"
        colour = OK if result.passed else WRONG
        head = (
            f'<div style="font-weight:600"><span style="color:{colour}">{"✓" if result.passed else "✗"}</span> '
            f"{escape(result.check.name)} <span style='font-weight:400'>({state}: {_passed(result)} of {len(result.cases)} cases,"
            f" "
            f"{points_text(result.score)} / {points_text(result.check.points)} points)</span></div>"
        )
        drawn = next(
            (case.name for case in result.cases if case.difference and case.difference.wrong is not None), None
        )
        rows = "".join(_row(case, evidence, case.name == drawn) for case, evidence in _evidence(result))
        table = f'<table style="margin:0.4em 0;border-collapse:collapse;text-align:left;font-size:14px">{rows}</table>'
        help_lines = "".join(
            f"<p style='margin:0.3em 0'><b>{escape(title)}:</b> {escape(text)}</p>" for title, text in self._help()
        )
        doc = f"<div style='opacity:0.8'>{escape(result.check.doc)}</div>"
        return f'<div style="max-width:60em;font-size:14px;line-height:1.45">{head}{doc}{table}{help_lines}</div>'

    def _help(self) -> list[tuple[str, str]]:
        lines = [
            (f"Together, {group.name}", _together(self.result, group)) for group in self.result.groups if group.name
        ]
        printed = next((case.printed for case in self.result.cases if case.printed and not case.passed), None)
        if printed:
            last = " ⏎ ".join(printed.split("\n")[-PRINTED_LINES - 1 :]).strip(" ⏎")
            lines.append(("Your code printed", KERNEL_FILE.sub(r"line \1: ", last)))
        if self.hint:
            lines.append(("Hint", self.hint))
        if self.mistake:
            lines.append(("This answer looks like one that makes a known mistake", self.mistake))
        return lines


def points_text(points: float) -> str:
    """Points as nbgrader reads them back: exactly, so that full marks are never a hair too many."""
    return str(int(points)) if points == int(points) else repr(float(points))


def progress_text(rows: list[dict]) -> str:
    """The state of a lab for a terminal; `rows` as `progress_rows` of the notebook's `check` gives them."""
    lines = [f"{row['mark']} {row['name']:24s} {row['points']:>12s}   {row['note']}".rstrip() for row in rows]
    return "\n".join(lines)


def progress_html(rows: list[dict]) -> str:
    """The state of a lab as a table."""
    cells = "".join(
        "<tr>"
        + "".join(
            f"<td style='text-align:left;padding-right:12px'>{escape(row[key])}</td>"
            for key in ("mark", "name", "points", "note")
        )
        + "</tr>"
        for row in rows
    )
    head = "".join(
        f"<th style='text-align:left;padding-right:12px'>{title}</th>"
        for title in ("", "check", "points", "what is left")
    )
    return f'<table style="font-size:14px"><tr>{head}</tr>{cells}</table>'


def _passed(result: CheckResult) -> int:
    return sum(case.passed for case in result.cases)


def _together(result: CheckResult, group: Group) -> str:
    """What a group of cases earned, and that it does so as a whole."""
    worth = result.worth(group)
    passed = f"{sum(case.passed for case in group.cases)} of {len(group.cases)} cases"
    return f"{points_text(worth if group.passed else 0)} / {points_text(worth)} points ({passed}; all or none)"


def _evidence(result: CheckResult) -> Iterator[tuple[CaseResult, str]]:
    """Each case with its evidence; what was just said is not said again."""
    last = None
    for case in result.cases:
        text = case.difference.text if case.difference else ""
        yield case, "the same" if text and text == last else text
        last = text


def _row(case: CaseResult, evidence: str, with_picture: bool) -> str:
    colour, mark = (OK, "✓") if case.passed else (WRONG, "✗")
    cell = "style='text-align:left;vertical-align:top;padding:2px 10px 2px 0'"
    group = f"<br><small>{escape(case.group)}</small>" if case.group else ""
    evidence = escape(evidence)
    if case.difference and with_picture and case.difference.wrong is not None and case.difference.wrong.size > 1:
        evidence += f"<br>{_picture(case.difference.wrong)}"
    return (
        f"<tr><td {cell}><span style='color:{colour};font-weight:600'>{mark}</span></td>"
        f"<td {cell}><span style='white-space:nowrap'>{escape(case.name)}</span>{group}</td>"
        f"<td {cell}>{evidence}</td></tr>"
    )


def _picture(wrong: np.ndarray) -> str:
    """Where an array is wrong, as a grid of marked squares: empty is right, ▪ wrong, × not a number."""
    grid = wrong.reshape(-1, wrong.shape[-1]) if wrong.ndim > 1 else wrong[None]
    rows, columns = (np.array_split(np.arange(size), min(size, GRID)) for size in grid.shape)
    side = 14
    squares, count = [], 0
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            block = grid[np.ix_(row, column)]
            x, y = j * side, i * side
            squares.append(
                f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="none" stroke="currentColor" stroke-opacity="0.3"/>'
            )
            if np.any(np.isnan(block)):
                squares.append(f'<path d="M{x + 3} {y + 3}l8 8m0 -8l-8 8" stroke="{MISSING}" stroke-width="2"/>')
                count += 1
            elif np.any(block != 0):
                squares.append(f'<rect x="{x + 3}" y="{y + 3}" width="8" height="8" fill="{WRONG}"/>')
                count += 1
    width, height = len(columns) * side, len(rows) * side
    shrunk = "" if grid.shape == (len(rows), len(columns)) else f", drawn as {len(rows)}×{len(columns)} blocks"
    label = f"Where the result of shape {wrong.shape} is wrong{shrunk}: {count} of {len(rows) * len(columns)} squares marked"
    key = "■ wrong" + (" · × not a number" if np.any(np.isnan(grid)) else "")
    return (
        f'<svg role="img" aria-label="{label}" width="{width + 2}" height="{height + 2}" '
        f'viewBox="-1 -1 {width + 2} {height + 2}" '
        f'style="margin-top:4px"><title>{label}</title>{"".join(squares)}</svg>'
        f"<br><small>{label} ({key})</small>"
    )
