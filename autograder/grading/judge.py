"""The judge of one submission: sends its cells and the steps of its checks, receives plain data, and reaches the verdict.

A notebook runs once, with the visible cases, whose reports it shows. Then it is ended, and the sealed copies that it left at
its check lines are woken one by one for the cases that decide: visible and hidden ones under the course's secret seed. If the
process dies on the way, or runs for too long, the notebook is run again without the cell that killed it, so that a crash, an
exit or an endless loop costs that cell and what depends on it, and nothing else.

    cells     of an aligned notebook, in order (`autograder.intake`): check cells are the course's own, named check_NAME
    limits    seconds for a cell, for a notebook, and for each check's deciding cases
    taken     what was sent back is data; nothing of it is called, compared by its own methods or unpickled
"""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.evidence import CaseEvidence, CheckEvidence, Verdict
from autograder.grading import legacy
from autograder.grading.channel import Channel, Gone, Late
from autograder.grading.outcomes import explained, is_outcome
from autograder.grading.pool import Zygote
from autograder.grading.shown import clean, placed, whole
from course_lib.checks.cases import Case, Step, kept_in
from course_lib.checks.definition import Check, Lab, Mistake
from course_lib.checks.judging import CheckResult, judge, recognise
from course_lib.checks.perform import Outcome
from course_lib.checks.report import Report
from course_lib.checks.values import Malformed, Unsendable, dumps

MOST_RUNS = 6  # of one notebook: each but the last lost a cell
MOST_CALLS = 100_000  # of functions that live here, by one check
COPIES = {
    "none": "no copy of its process could be made, since as many processes and threads ran as there may be",
    "threads": "threads were running when its copy was made, and a copy has none of them",
}
LONGEST_CALL = 1 << 16  # bytes of the arguments of one such call


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


class Misbehaved(Exception):
    """The student's side broke the protocol, as no honest notebook does."""


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
    for _ in range(MOST_RUNS):
        left = [cell for cell in cells if cell.number not in found.lost]
        run = Run(zygote, lab, left, folder, seed, limits, end)
        try:
            dead = run.through()
            _collect(found, run, mistakes)
        finally:
            run.close()
        found.cpu += run.cpu
        found.memory = max(found.memory, run.memory)
        if run.tampered:
            found.tampered = run.tampered
            break
        if dead is None or time.monotonic() > end:
            break
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
    found.outputs.update(run.outputs)
    for name, visible in run.visible.items():
        if name in found.checks and found.checks[name].verdict is Verdict.JUDGED:
            continue
        evidence = run.decide(run.lab.checks[name])
        if name in run.told and evidence.verdict in (Verdict.CRASHED, Verdict.TIMED_OUT):
            found.notes.append(f"check_{name} {evidence.verdict}: {run.told[name]}")
        if evidence.shared and evidence.verdict is Verdict.TAMPERED and evidence.cases:
            found.notes.append(f"check_{name}: a canary passed")
        known = recognise(visible, list(mistakes)) if not visible.passed else None
        found.checks[name] = replace(evidence, mistake=known or "")


class Run:
    """One process of a notebook, from its first cell to the death of its last copy."""

    def __init__(
        self, zygote: Zygote, lab: Lab, cells: Sequence[Cell], folder: str, seed: int, limits: Limits, end: float
    ) -> None:
        self.lab, self._cells, self._seed, self._limits, self._end = lab, cells, seed, limits, end
        self.outputs: dict[int, list[dict]] = {}
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

    def decide(self, check: Check) -> CheckEvidence:
        """Wakes a check's sealed copy for all its cases under the secret seed."""
        if check.name in self._decided:
            return self._decided[check.name]
        self._job.seal()
        if (copy := self._copies.get(check.name)) is None:
            return CheckEvidence(check.name, check.points, 0.0, Verdict.NOT_REACHED)
        try:
            return self._evidence(check, copy, time.monotonic() + self._limits.check)
        except Gone:
            verdict = Verdict.CRASHED
        except Late:
            verdict = Verdict.TIMED_OUT
        except (Malformed, Misbehaved):
            verdict = Verdict.TAMPERED
        return CheckEvidence(check.name, check.points, 0.0, verdict)

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
        reports: list[dict] = []
        while True:
            message = self._main.receive(deadline)
            if message["op"] == "done" and message.get("number") == cell.number:
                self.outputs[cell.number] = placed(clean(message.get("outputs")), reports)
                if asserts:
                    self._reached(CheckResult(asserts, []), message.get("copy"))  # nothing is judged before the end
                return
            if message["op"] != "check":
                raise Misbehaved(f"it sent {message['op']!r:.40} in the middle of a cell")
            reports.append(
                {"output_type": "display_data", "metadata": {}, "data": self._report(cell, message, deadline)}
            )
            self._main.send({"op": "over"}, deadline)

    def _report(self, cell: Cell, message: dict, deadline: float) -> dict:
        """A check line was reached: judges the visible cases, and returns what is to be shown of it."""
        name, count = message.get("name"), message.get("targets")
        check = self.lab.checks.get(name) if isinstance(name, str) else None
        if check is None or count != len(check.targets):
            return {"text/plain": f"there is no check {name!r:.60} of {count!r:.20} answers"}
        cases = check.shown_cases
        result = judge(check, cases, Asking(self._main, self.lab, check, deadline).ask)
        if cell.check == check.name:  # anywhere else it is a report, and earns nothing
            self._reached(result, message.get("copy"))
            if _only_looks(*self._deciding[check.name]):
                self._decided[check.name] = self._evidence(check, self._main, deadline)
        return Report(result, in_notebook=True)._repr_mimebundle_()

    def _asserts(self, cell: Cell) -> Check | None:
        """The check of a cell of asserts; None for any other cell."""
        check = self.lab.checks.get(cell.check or "")
        return check if check is not None and check.asserts is not None else None

    def _reached(self, result: CheckResult, copy: Any) -> None:
        self.visible[result.check.name] = result
        if copy in ("none", "threads"):
            self.told[result.check.name] = COPIES[copy]


def _only_looks(*cases: list[Case]) -> bool:
    """Whether cases only look at what was handed over. Nothing secret goes in then, so that there is nothing to seal."""
    return all(step.kind == "read" for some in cases for case in some for step in case.steps)


class Asking:
    """Sends steps and takes outcomes; calls of functions that live here are answered, and counted."""

    def __init__(self, channel: Channel, lab: Lab, check: Check, deadline: float) -> None:
        self._channel, self._lab, self._check, self._deadline = channel, lab, check, deadline
        self._calls = 0

    def ask(self, steps: list[Step]) -> list[Outcome]:
        """What the student's side made of the steps of one case."""
        nonce = secrets.token_hex(8)
        functions = {kept.name: kept.compile() for step in steps for kept in kept_in([step.args, step.kwargs])}
        message: dict[str, Any] = {
            "op": "ask",
            "nonce": nonce,
            "steps": [step.without_sources() for step in steps],
            "memory": self._check.memory,
        }
        message |= {"provides": list(self._lab.provides), "refuses": list(self._check.refuses)}
        self._channel.send(message, self._deadline)
        while True:
            reply = self._channel.receive(self._deadline)
            if reply["op"] == "call":
                self._channel.send(self._called(functions, reply), self._deadline)
                continue
            if reply["op"] != "outcomes" or reply.get("nonce") != nonce:
                raise Misbehaved(f"it sent {reply['op']!r:.40} where outcomes were due")
            if isinstance(text := reply.get("unsendable"), str):
                return [Outcome(unsendable=text[:500]) for _ in steps]
            outcomes = reply.get("outcomes")
            if not isinstance(outcomes, list) or len(outcomes) != len(steps) or not all(map(is_outcome, outcomes)):
                raise Misbehaved("it sent something else than an outcome for each step")
            return [explained(outcome, self._check.memory) for outcome in outcomes]

    def _called(self, functions: dict[str, Callable], reply: dict) -> dict:
        self._calls += 1
        function = functions.get(reply["name"]) if isinstance(reply.get("name"), str) else None
        args, kwargs = reply.get("args"), reply.get("kwargs")
        if function is None or not isinstance(args, tuple | list) or not isinstance(kwargs, dict):
            raise Misbehaved("it called a function that does not live here")
        if self._calls > MOST_CALLS:
            raise Misbehaved(f"it made more than {MOST_CALLS:,} calls")
        if len(dumps([args, kwargs])) > LONGEST_CALL:
            said = f"the arguments are too long (at most {LONGEST_CALL:,} bytes)"
            return {"op": "value", "error": said, "kind": "ValueError"}
        try:
            return {"op": "value", "value": function(*args, **kwargs)}
        except (Exception, Unsendable) as error:
            return {"op": "value", "error": str(error)[:500], "kind": type(error).__name__}
