"""A receipt as Gradescope's results.json, and the program that makes it inside Gradescope's container.

A student sees each check's points and its visible cases, never a hidden one; hidden cases, known mistakes and notes go into
tests that only instructors see. Text stays text: no output is read as HTML, Markdown or colour codes. Where grading itself
fails there is no results.json at all, which Gradescope shows as a failed autograder and not as a zero.

    AUTOGRADER_HOME/source               the unpacked zip (`packing`)
    AUTOGRADER_HOME/submission           what the student handed in
    AUTOGRADER_HOME/submission_metadata.json
    AUTOGRADER_HOME/results/results.json AUTOGRADER_HOME is /autograder unless the environment says otherwise
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from autograder.evidence import CheckEvidence, Receipt, State, Verdict
from autograder.intake.found import Submission, find
from autograder.intake.shapes import student_id
from autograder.records.remarks import check_remark, safe, state_remark
from autograder.reports.packing import OVERLAYS
from autograder.reports.show import evidence
from autograder.reports.words import listed, number, printable
from course_lib.checks.definition import Lab
from course_lib.house import sync

HOME = "/autograder"
LONGEST = 4_000
TEXT = {"output_format": "text", "test_output_format": "text", "test_name_format": "text"}
Grade = Callable[[Path, Submission, Path], Receipt]
"""Grades a submission of the lab in an author's folder; the last path is the folder that holds the course's key."""


def results(receipt: Receipt, lab: Lab, seconds: float | None = None) -> dict[str, Any]:
    """A receipt as Gradescope's results.json has it. Written answers are graded there by a person, with a rubric of their own."""
    checks = {check.name: check for check in receipt.checks}
    tests = [_test(receipt, checks.get(name), name, check.points) for name, check in lab.checks.items()]
    tests += [_written(name, item.points, receipt.written.get(name)) for name, item in lab.written_items.items()]
    tests.append({"name": "for instructors", "output": _cut("\n".join(evidence(receipt))), "visibility": "hidden"})
    made: dict[str, Any] = {
        "output": _cut("\n".join(_said(receipt, lab))),
        **TEXT,
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            name: str(getattr(receipt, name))
            for name in ("state", "version", "content", "environment", "seed", "level")
        },
    }
    if not _ungraded(receipt):
        made["score"] = receipt.score
    if seconds is not None:
        made["execution_time"] = round(seconds, 3)
    return made


def run(home: Path, name: str, grade: Grade) -> dict[str, Any]:
    """Grades what lies in Gradescope's folders, and writes the results; returns them.

    Raises:
        ValueError: the zip does not hold the lab, Gradescope did not say whose submission it is, or a person has to grade it.
    """
    from course_lib.checks import labs

    target = home / "results" / "results.json"
    target.unlink(missing_ok=True)  # what an earlier run left is not this run's
    start = time.monotonic()
    folder = home / "source" / "course" / "solutions" / name
    if not folder.is_dir():
        raise ValueError(f"{home / 'source'} does not hold the lab {name}: make the zip again")
    with handed_in(home, name) as one:
        receipt = grade(folder, one, home / "source")
    if _ungraded(receipt):
        raise ValueError("; ".join([str(receipt.state), *receipt.notes]))
    made = results(receipt, labs.load(folder), time.monotonic() - start)
    sync.write(target, json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    return made


@contextlib.contextmanager
def handed_in(home: Path, lab: str) -> Iterator[Submission]:
    """What was handed in, under the student's id: number, address or Gradescope's own, as a download of the course has it."""
    student = _student(home / "submission_metadata.json")
    with tempfile.TemporaryDirectory(prefix="submitted-") as scratch:
        # A link stays a link, and is refused when the file is read.
        shutil.copytree(home / "submission", Path(scratch, "submitted", "student", lab), symlinks=True)
        try:
            found = find(lab, [Path(scratch)])[0]
        except ValueError:  # an empty folder
            found = Submission(student, None, "", None, "gradescope", problem="no notebook was handed in")
        yield replace(found, student=student, source="gradescope")


def main(arguments: Sequence[str]) -> int:
    """What `run_autograder` calls."""
    if len(arguments) != 1:
        print("usage: python -m autograder.reports.gradescope LAB", file=sys.stderr)
        return 2
    try:
        from autograder.grading.single import grade

        home = Path(os.environ.get("AUTOGRADER_HOME") or HOME)
        overlays = home / "source" / OVERLAYS
        made = run(home, arguments[0], partial(grade, instructor=overlays) if overlays.is_dir() else grade)
    except (ValueError, OSError) as error:
        print(f"the submission was not graded: {error}", file=sys.stderr)
        return 1
    print(made["output"])
    return 0


def _student(metadata: Path) -> str:
    try:
        users = json.loads(metadata.read_text(encoding="utf-8"))["users"]
        known = users[0]
        student = next(str(known[key]).strip() for key in ("sid", "email", "id") if str(known.get(key) or "").strip())
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, StopIteration) as error:
        raise ValueError(f"{metadata} does not say who handed in: {error!r}") from None
    return student_id(student)


def _said(receipt: Receipt, lab: Lab) -> list[str]:
    """What is said about the submission as a whole, to its student."""
    most = sum(check.points for check in lab.checks.values())
    lines = [f"{receipt.state}: {number(receipt.score)} of {number(most)} automatic points"]
    if remark := state_remark(receipt):
        lines.append(remark)
    if waiting := [name for name in lab.written_items if receipt.written.get(name)]:
        lines.append(f"A person has still to grade {listed(waiting)}.")
    return lines


def _test(receipt: Receipt, check: CheckEvidence | None, name: str, points: float) -> dict[str, Any]:
    """One check, as its student may see it."""
    if check is None:
        test = {"name": name, "output": str(receipt.state), "visibility": "visible"}
        return test if _ungraded(receipt) else test | {"score": 0.0, "max_score": points, "status": "failed"}
    passed = check.score >= check.points
    return {
        "name": name,
        "score": check.score,
        "max_score": check.points,
        "status": "passed" if passed and check.verdict is Verdict.JUDGED else "failed",
        "output": _cut("\n".join(_cases(receipt, check))),
        "visibility": "visible",
    }


def _cases(receipt: Receipt, check: CheckEvidence) -> list[str]:
    if remark := check_remark(check):
        return [remark]
    lines = []
    for case in check.cases:
        if not case.hidden:
            lines.append(f"{'✓' if case.passed else '✗'} {case.name}")
            lines += [f"    {text}" for text in case.said.split("\n") if text.strip() and not case.passed]
    hidden = [case for case in check.cases if case.hidden]
    if hidden:
        lines.append(f"{sum(case.passed for case in hidden)} of {len(hidden)} cases that are not shown passed")
    return safe(receipt, lines)


def _ungraded(receipt: Receipt) -> bool:
    """Whether a person has to look before there are any points: a zero would be read as a grade."""
    return receipt.state in (State.NEEDS_A_PERSON, State.NOT_SUBMITTED) and not receipt.checks


def _written(name: str, points: float, answered: bool | None) -> dict[str, Any]:
    said = f"A person grades this answer ({number(points)} points)." if answered else "No response."
    return {"name": name, "output": said, "visibility": "visible"}


def _cut(text: str) -> str:
    return printable(text, LONGEST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
