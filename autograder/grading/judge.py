"""The judge of one submission: sends its cells and the steps of its checks, receives plain data, and reaches the verdict.

A notebook runs once, and leaves a sealed copy of its process at each check line. Then it is ended, and the copies are woken
one by one: first for the cases that students know, whose reports they see; when that is over, for the cases that decide,
visible and hidden ones under the course's secret seed. An answer that crashes there, exits or loops for ever costs its check.
If the notebook itself dies on the way, or runs for too long, it is run again without the cell that ended it, and no hidden case
is asked before a run comes to its end: so that costs that cell and what depends on it, and nothing else.

    cells     of an aligned notebook, in order (`autograder.intake`): check cells are the course's own, named check_NAME
    limits    seconds for a cell, for a notebook, and for each check's deciding cases
    taken     what was sent back is data; nothing of it is called, compared by its own methods or unpickled
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.evidence import CaseEvidence, CheckEvidence, Verdict
from autograder.grading import legacy
from autograder.grading.asking import Asking, Misbehaved
from autograder.grading.channel import Channel, Gone, Late
from autograder.grading.pool import Zygote
from autograder.grading.shown import clean, placed, whole
from course_lib.checks.cases import Case
from course_lib.checks.definition import Check, Lab, Mistake
from course_lib.checks.judging import CheckResult, judge, recognise
from course_lib.checks.report import Report
from course_lib.checks.values import Malformed

MOST_RUNS = 6  # of one notebook: each but the last lost a cell
COPIES = {
    "none": "no copy of its process could be made, since as many processes and threads ran as there may be",
    "threads": "threads were running when its copy was made, and a copy has none of them",
}


@dataclass(frozen=True)
class Limits:
    """Seconds of wall time."""

    cell: float = 60.0
    notebook: float = 300.0
    check: float = 30.0


@dataclass(frozen=True)
class Cell:
    """A code cell to be run: `name` is its graded name ("check_softmax", "softmax"), or ""."""

    number: int
    name: str
    source: str

    @property
    def check(self) -> str | None:
        return self.name.removeprefix("check_") if self.name.startswith("check_") else None


@dataclass
class Judged:
    """What came of one notebook."""

    checks: dict[str, CheckEvidence]
    outputs: dict[int, list[dict]]
    """What each cell that ran showed, as nbformat's outputs."""
    lost: dict[int, Verdict] = field(default_factory=dict)
    """Cells that ended the process, and how."""
    notes: list[str] = field(default_factory=list)
    tampered: str = ""
    cpu: float = 0.0
    memory: int = 0


def judge_notebook(
    zygote: Zygote,
    lab: Lab,
    cells: Sequence[Cell],
    folder: str,
    seed: int,
    limits: Limits = Limits(),
    mistakes: Sequence[Mistake] = (),
) -> Judged:
    """Runs a notebook and judges it. The same cells and seed give the same verdict."""
    found = Judged({}, {})
    end = time.monotonic() + limits.notebook
    last = False
    while not last:
        left = [cell for cell in cells if cell.number not in found.lost]
        run = Run(zygote, lab, left, folder, seed, limits, end)
        try:
            dead = run.through()
            last = dead is None or len(found.lost) == MOST_RUNS - 1 or time.monotonic() > end
            if last:  # what hidden cases leave behind, in a file say, no notebook may find
                _collect(found, run, mistakes)
        finally:
            run.close()
        found.cpu += run.cpu
        found.memory = max(found.memory, run.memory)
        found.tampered = run.tampered
        if dead is not None:
            found.lost[dead[0].number] = dead[1]
            if dead[0].check:
                check = lab.checks[dead[0].check]
                found.checks[check.name] = CheckEvidence(check.name, check.points, 0.0, dead[1])
    for check in lab.checks.values():
        missing = CheckEvidence(check.name, check.points, 0.0, Verdict.NOT_REACHED)
        found.checks.setdefault(check.name, missing)
    return found


def _collect(found: Judged, run: "Run", mistakes: Sequence[Mistake]) -> None:
    """Takes over what a run showed, and what its sealed copies give on the cases that decide."""
    names = [name for name in run.reached if name not in found.checks]
    for name in names:
        run.look(run.lab.checks[name])
    found.outputs.update(run.shown())
    for name in names:  # from here on a copy may know something, and nothing of what it says is shown
        evidence = run.decide(run.lab.checks[name])
        if evidence.verdict in (Verdict.CRASHED, Verdict.TIMED_OUT):
            found.notes.append(f"check_{name} {evidence.verdict}" + (f": {run.told[name]}" if name in run.told else ""))
        if evidence.shared and evidence.verdict is Verdict.TAMPERED and evidence.cases:
            found.notes.append(f"check_{name}: a canary passed")
        visible = run.visible.get(name)
        known = recognise(visible, list(mistakes)) if visible is not None and not visible.passed else None
        found.checks[name] = replace(evidence, mistake=known or "")


class Run:
    """One process of a notebook, from its first cell to the death of its last copy."""

    def __init__(
        self, zygote: Zygote, lab: Lab, cells: Sequence[Cell], folder: str, seed: int, limits: Limits, end: float
    ) -> None:
        self.lab, self._cells, self._seed, self._limits, self._end = lab, cells, seed, limits, end
        self._outputs: dict[int, tuple[list[dict], list[CheckResult | str | dict]]] = {}
        self.reached: list[str] = []
        self.visible: dict[str, CheckResult] = {}
        self.told: dict[str, str] = {}
        self.tampered = ""
        self.cpu, self.memory = 0.0, 0
        self._decided: dict[str, CheckEvidence] = {}
        checks = [lab.checks[cell.check] for cell in cells if cell.check in lab.checks]
        self._deciding = {check.name: (check.visible_cases(seed), check.hidden_cases(seed)) for check in checks}
        sealed = [check for check in checks if check.asserts or not _only_looks(*self._deciding[check.name])]
        self._job = zygote.start(folder, [check.name for check in sealed])
        self._main = Channel(self._job.main)
        self._copies = {name: Channel(sock) for name, sock in self._job.copies.items()}

    def through(self) -> tuple[Cell, Verdict] | None:
        """Runs the cells; returns the one that ended the process and how, or None."""
        for cell in self._cells:
            try:
                self._run(cell)
            except Gone:
                return cell, Verdict.CRASHED
            except Late:
                return cell, Verdict.TIMED_OUT
            except (Malformed, Misbehaved) as error:
                self.tampered = whole(f"cell {cell.number}: {error}")
                return None
        return None

    def look(self, check: Check) -> None:
        """Wakes a check's sealed copy for the cases that a student knows."""
        if check.asserts is None and check.name not in self._decided:
            self._asked(check, lambda copy, deadline: self._look(check, copy, deadline))

    def decide(self, check: Check) -> CheckEvidence:
        """Has a check's sealed copy carry out all its cases under the secret seed."""
        if check.name not in self._decided:
            self._asked(check, lambda copy, deadline: self._decide(check, copy, deadline))
        return self._decided[check.name]

    def _asked(self, check: Check, ask: Callable[[Channel, float], None]) -> None:
        """Asks a check's copy; what goes wrong there decides."""
        self._job.seal()
        verdict = Verdict.NOT_REACHED
        if (copy := self._copies.get(check.name)) is not None:
            try:
                return ask(copy, time.monotonic() + self._limits.check)
            except Gone:
                verdict = Verdict.CRASHED
            except Late:
                verdict = Verdict.TIMED_OUT
            except (Malformed, Misbehaved):
                verdict = Verdict.TAMPERED
        self._decided[check.name] = CheckEvidence(check.name, check.points, 0.0, verdict)

    def _look(self, check: Check, channel: Channel, deadline: float) -> None:
        ask = Asking(channel, self.lab, check, deadline).ask
        self.visible[check.name] = judge(check, check.shown_cases, ask)

    def _decide(self, check: Check, channel: Channel, deadline: float) -> None:
        self._decided[check.name] = self._evidence(check, channel, deadline)

    def _evidence(self, check: Check, channel: Channel, deadline: float) -> CheckEvidence:
        shown, hidden = self._deciding[check.name]
        secret = {case.name for case in hidden}
        verdict, shared = Verdict.JUDGED, check.asserts is not None
        if shared:
            result, secret = legacy.judged(check, channel, self._seed, deadline), legacy.SECRET
            verdict = Verdict.TAMPERED if legacy.canary_passed(result) else verdict
        else:
            result = judge(check, [*shown, *hidden], Asking(channel, self.lab, check, deadline).ask)
        said = ((case, whole(case.difference.text if case.difference else "")) for case in result.cases)
        cases = tuple(
            CaseEvidence(case.name, case.passed, text, case.name in secret, "" if shared else case.group or "")
            for case, text in said
        )
        return CheckEvidence(check.name, check.points, result.score, verdict, cases, shared=shared)

    def close(self) -> None:
        """Ends whatever is left of the process, its copies and its children."""
        for channel in (self._main, *self._copies.values()):
            channel.close()
        self.cpu, self.memory = self._job.end()

    def _run(self, cell: Cell) -> None:
        deadline = min(self._end, time.monotonic() + self._limits.cell)
        asserts = self._asserts(cell)
        message = {"op": "cell", "number": cell.number, "name": cell.name, "source": cell.source}
        self._main.send({**message, "asserts": asserts.name} if asserts else message, deadline)
        reports: list[CheckResult | str | dict] = []
        while True:
            message = self._main.receive(deadline)
            if message["op"] == "done" and message.get("number") == cell.number:
                self._outputs[cell.number] = clean(message.get("outputs")), reports
                if asserts:
                    self._note(asserts.name, message.get("copy"))
                return
            if message["op"] != "check":
                raise Misbehaved(f"it sent {message['op']!r:.40} in the middle of a cell")
            reports.append(self._line(cell, message, deadline))
            self._main.send({"op": "over"}, deadline)

    def _line(self, cell: Cell, message: dict, deadline: float) -> CheckResult | str | dict:
        """A check line was reached: what is to be shown of it, or the name of the check whose copy will say."""
        name, count = message.get("name"), message.get("targets")
        check = self.lab.checks.get(name) if isinstance(name, str) else None
        if check is None or count != len(check.targets):
            return {"text/plain": f"there is no check {name!r:.60} of {count!r:.20} answers"}
        if cell.check == check.name and check.name not in self._decided:
            self._note(check.name, message.get("copy"))
            if check.name not in self._copies:
                self._look(check, self._main, deadline)
                self._decide(check, self._main, deadline)
            return check.name
        # In a cell of one's own it is a report, and earns nothing.
        return judge(check, check.shown_cases, Asking(self._main, self.lab, check, deadline).ask)

    def shown(self) -> dict[int, list[dict]]:
        """What each cell showed, with the reports on the cases that students know in their places.

        Where nothing came of a check, what it earned is said when the notebook is kept.
        """
        shown = {}
        for number, (outputs, reports) in self._outputs.items():
            results = [self.visible.get(said) if isinstance(said, str) else said for said in reports]
            shown[number] = placed(outputs, [_report(result) for result in results if result is not None])
        return shown

    def _asserts(self, cell: Cell) -> Check | None:
        """The check of a cell of asserts; None for any other cell."""
        check = self.lab.checks.get(cell.check or "")
        return check if check is not None and check.asserts is not None else None

    def _note(self, name: str, copy: Any) -> None:
        if name not in self.reached:
            self.reached.append(name)
        if copy in ("none", "threads"):
            self.told[name] = COPIES[copy]


def _report(result: CheckResult | dict) -> dict:
    data = result if isinstance(result, dict) else Report(result, in_notebook=True)._repr_mimebundle_()
    return {"output_type": "display_data", "metadata": {}, "data": data}


def _only_looks(*cases: list[Case]) -> bool:
    """Whether cases only look at what was handed over. Nothing secret goes in then, so that there is nothing to seal."""
    return all(step.kind == "read" for some in cases for case in some for step in case.steps)
