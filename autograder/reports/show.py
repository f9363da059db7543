"""The evidence for one grade, as an instructor reads it: what each check gave, on which cases, and what the gradebook has."""

from pathlib import Path

from autograder.evidence import CaseEvidence, CheckEvidence, Receipt, Verdict
from autograder.records.course import known_as
from autograder.records.receipts import Receipts
from autograder.records.remarks import SHARED
from autograder.reports.standing import Item, Standing, standings
from autograder.reports.words import line, listed, number, printable


def show(course: Path | str, student: str, lab: str) -> str:
    """What a student's receipt and the gradebook say about a lab. Raises ValueError when there is no receipt."""
    receipts = Receipts(course)
    receipt = receipts.read(lab, student)
    if receipt is None:
        known = listed(receipts.all(lab).receipts) or "nobody"
        raise ValueError(f"there is no receipt of {line(student)!r} for {lab}; there is of {known}")
    return "\n".join([*evidence(receipt), *_gradebook(course, receipt)]) + "\n"


def evidence(receipt: Receipt) -> list[str]:
    """A receipt in lines. Hidden cases are marked: what is shown here is for the instructor alone."""
    most = sum(check.points for check in receipt.checks)
    lines = [
        f"{line(receipt.student)} · {line(receipt.lab)} · {receipt.state}",
        f"  automatic points  {number(receipt.score)} of {number(most)}",
        f"  seed              {receipt.seed}",
        f"  sandbox level     {line(receipt.level)}",
        f"  environment       {line(receipt.environment)}",
        f"  lab version       {line(receipt.version)}",
        f"  content           {line(receipt.content)}",
    ]
    lines += [f"  note              {line(note, 1_000)}" for note in receipt.notes]
    for check in receipt.checks:
        lines += ["", *_check(check)]
    if receipt.written:
        lines.append("")
    for name, answered in receipt.written.items():
        lines.append(f"{line(name)}: {'answered in words, for a person' if answered else 'not answered'}")
    return lines


def _check(check: CheckEvidence) -> list[str]:
    verdict = "" if check.verdict is Verdict.JUDGED else f" · {check.verdict}"
    shared = f" · {SHARED}" if check.shared else ""
    lines = [f"{line(check.name)}: {number(check.score)} of {number(check.points)} points{verdict}{shared}"]
    for case in check.cases:
        lines += _case(case)
    for group in dict.fromkeys(case.group for case in check.cases if case.group):
        passed = [case.passed for case in check.cases if case.group == group]
        counts = "" if all(passed) else "; none of them counts"
        lines.append(f"  together, {line(group)}: {sum(passed)} of {len(passed)} cases{counts}")
    if check.mistake:
        lines.append(f"  a known mistake: {line(check.mistake, 500)}")
    return lines


def _case(case: CaseEvidence) -> list[str]:
    head = f"  {'✓' if case.passed else '✗'} {line(case.name)}{' (hidden)' if case.hidden else ''}"
    head += f" · {line(case.group)}" if case.group else ""
    return [head, *(f"      {text}" for text in printable(case.said).split("\n") if text.strip())]


def _gradebook(course: Path | str, receipt: Receipt) -> list[str]:
    try:
        one = next(one for one in standings(course, receipt.lab) if known_as(one.student) == known_as(receipt.student))
    except StopIteration:
        return ["", "gradebook: the student is not there"]
    except ValueError as error:
        return ["", f"gradebook: {line(str(error), 500)}"]
    return ["", *_standing(one)]


def _standing(one: Standing) -> list[str]:
    if one.raw is None:
        return ["gradebook: nothing was handed in"]
    total = number(one.raw - one.penalty if one.points is None else one.points)
    so_far = " so far" if one.points is None else ""
    lines = [f"gradebook: {total} of {number(one.most)} points{so_far} · {one.state}"]
    lines += [f"  {line(name)}: {text}" for name, item in one.items.items() if (text := _by_person(item))]
    if one.penalty:
        lines.append(f"  late: {number(one.penalty)} points taken off")
    return lines


def _by_person(item: Item) -> str:
    if item.waiting:
        return "waits for a person"
    return f"{number(item.score)} of {number(item.most)} points, by a person" if item.by_hand else ""
