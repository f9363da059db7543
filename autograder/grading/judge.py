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
from autograder.grading.channel import Channel, Gone, Late
from autograder.grading.pool import Zygote
from course_lib.checks.cases import Case, Step, kept_in
from course_lib.checks.definition import Check, Lab, Mistake
from course_lib.checks.judging import CheckResult, judge, recognise
from course_lib.checks.perform import Outcome
from course_lib.checks.report import Report
from course_lib.checks.values import Malformed, Unsendable, dumps

MOST_RUNS = 6  # of one notebook: each but the last lost a cell
MOST_CALLS = 100_000  # of functions that live here, by one check
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
        run = Run(zygote, lab, [cell for cell in cells if cell.number not in found.lost], folder, limits, end)
        try:
            dead = run.through()
            _collect(found, run, seed, mistakes)
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


def _collect(found: Judged, run: "Run", seed: int, mistakes: Sequence[Mistake]) -> None:
    """Takes over what a run showed, and what its sealed copies give on the cases that decide."""
    found.outputs.update(run.outputs)
    for name, visible in run.visible.items():
        if name in found.checks and found.checks[name].verdict is Verdict.JUDGED:
            continue
        evidence = run.decide(run.lab.checks[name], seed)
        known = recognise(visible, list(mistakes)) if not visible.passed else None
        found.checks[name] = replace(evidence, mistake=known or "")


class Run:
    """One process of a notebook, from its first cell to the death of its last copy."""

    def __init__(
        self, zygote: Zygote, lab: Lab, cells: Sequence[Cell], folder: str, limits: Limits, end: float
    ) -> None:
        self.lab, self._cells, self._limits, self._end = lab, cells, limits, end
        self.outputs: dict[int, list[dict]] = {}
        self.visible: dict[str, CheckResult] = {}
        self.tampered = ""
        self.cpu, self.memory = 0.0, 0
        names = [cell.check for cell in cells if cell.check in lab.checks]
        self._job = zygote.start(folder, [name for name in names if name])
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

    def decide(self, check: Check, seed: int) -> CheckEvidence:
        """Wakes a check's sealed copy for all its cases under the secret seed."""
        self._job.seal()
        copy = self._copies.get(check.name)
        shown, hidden = check.visible_cases(seed), check.hidden_cases(seed)
        evidence = CheckEvidence(check.name, check.points, 0.0)
        if copy is None:
            return replace(evidence, verdict=Verdict.NOT_REACHED)
        asking = Asking(copy, self.lab, check, [*shown, *hidden], time.monotonic() + self._limits.check)
        try:
            result = judge(check, [*shown, *hidden], asking.ask)
        except Gone:
            return replace(evidence, verdict=Verdict.CRASHED)
        except Late:
            return replace(evidence, verdict=Verdict.TIMED_OUT)
        except (Malformed, Misbehaved):
            return replace(evidence, verdict=Verdict.TAMPERED)
        secret = {case.name for case in hidden}
        cases = tuple(
            CaseEvidence(
                case.name, case.passed, whole(case.difference.text if case.difference else ""), case.name in secret
            )
            for case in result.cases
        )
        return replace(evidence, score=result.score, cases=cases)

    def close(self) -> None:
        """Ends whatever is left of the process, its copies and its children."""
        for channel in (self._main, *self._copies.values()):
            channel.close()
        self.cpu, self.memory = self._job.end()

    def _run(self, cell: Cell) -> None:
        deadline = min(self._end, time.monotonic() + self._limits.cell)
        self._main.send({"op": "cell", "number": cell.number, "name": cell.name, "source": cell.source}, deadline)
        while True:
            message = self._main.receive(deadline)
            if message["op"] == "done" and message.get("number") == cell.number:
                self.outputs[cell.number] = clean(message.get("outputs"))
                return
            if message["op"] != "check":
                raise Misbehaved(f"it sent {message['op']!r:.40} in the middle of a cell")
            self._answer(cell, message, deadline)

    def _answer(self, cell: Cell, message: dict, deadline: float) -> None:
        """A check line was reached: judges the visible cases and sends the report to be shown."""
        name, count = message.get("name"), message.get("targets")
        check = self.lab.checks.get(name) if isinstance(name, str) else None
        if check is None or count != len(check.targets):
            said = f"there is no check {name!r:.60} of {count!r:.20} answers"
            self._main.send({"op": "show", "data": {"text/plain": said}}, deadline)
            return
        cases = check.visible_cases()
        result = judge(check, cases, Asking(self._main, self.lab, check, cases, deadline).ask)
        if cell.check == check.name:  # anywhere else it is a report, and earns nothing
            self.visible[check.name] = result
        report = Report(result, in_notebook=True)
        self._main.send({"op": "show", "data": report._repr_mimebundle_()}, deadline)


class Asking:
    """Sends steps and takes outcomes; calls of functions that live here are answered, and counted."""

    def __init__(self, channel: Channel, lab: Lab, check: Check, cases: Sequence[Case], deadline: float) -> None:
        self._channel, self._lab, self._check, self._deadline = channel, lab, check, deadline
        stays = [kept_in([step.args, step.kwargs]) for case in cases for step in case.steps]
        self._kept = {kept.name: kept for found in stays for kept in found}
        self._calls = 0

    def ask(self, steps: list[Step]) -> list[Outcome]:
        """What the student's side made of the steps of one case."""
        nonce = secrets.token_hex(8)
        functions = {name: kept.compile() for name, kept in self._kept.items()}
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
            if not isinstance(outcomes, list) or len(outcomes) != len(steps) or not all(map(_is_outcome, outcomes)):
                raise Misbehaved("it sent something else than an outcome for each step")
            return outcomes

    def _called(self, functions: dict[str, Callable], reply: dict) -> dict:
        self._calls += 1
        function = functions.get(reply["name"]) if isinstance(reply.get("name"), str) else None
        args, kwargs = reply.get("args"), reply.get("kwargs")
        if function is None or not isinstance(args, tuple | list) or not isinstance(kwargs, dict):
            raise Misbehaved("it called a function that does not live here")
        if self._calls > MOST_CALLS:
            raise Misbehaved(f"it made more than {MOST_CALLS:,} calls")
        if len(dumps([args, kwargs])) > LONGEST_CALL:
            return {
                "op": "value",
                "error": f"ValueError: the arguments are too long (at most {LONGEST_CALL:,} bytes)",
            }
        try:
            return {"op": "value", "value": function(*args, **kwargs)}
        except (Exception, Unsendable) as error:
            return {"op": "value", "error": f"{type(error).__name__}: {error}"[:500]}


def clean(outputs: Any) -> list[dict]:
    """Outputs as nbformat wants them; what is none is left out."""
    if not isinstance(outputs, list):
        return []
    return [_whole(one) for output in outputs if (one := _output(output))]


def whole(text: str) -> str:
    """A text that can be written: half of a surrogate pair, which JSON lets through, cannot."""
    return text.encode("utf-8", "replace").decode()


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {_whole(key): _whole(part) for key, part in value.items()}
    return [_whole(part) for part in value] if isinstance(value, list) else value


def _output(output: Any) -> dict | None:
    match output:
        case {"output_type": "stream", "name": "stdout" | "stderr" as name, "text": str(text)}:
            return {"output_type": "stream", "name": name, "text": text}
        case {"output_type": "error", "ename": str(kind), "evalue": str(said), "traceback": list(lines)}:
            return {"output_type": "error", "ename": kind, "evalue": said, "traceback": [str(line) for line in lines]}
        case {"output_type": "display_data" | "execute_result" as kind, "data": dict(data), "metadata": dict(metadata)}:
            shown = {"output_type": kind, "data": _texts(data), "metadata": _texts(metadata)}
            return shown if kind == "display_data" else {**shown, "execution_count": None}
    return None


def _texts(data: dict) -> dict:
    return {key: value for key, value in data.items() if isinstance(key, str)}


def _is_outcome(value: Any) -> bool:
    """Whether every part of an outcome is of the kind that an honest student's side sends."""
    if not isinstance(value, Outcome) or not isinstance(value.printed, str):
        return False
    texts = all(text is None or isinstance(text, str) for text in (value.refused, value.unsendable))
    pair = value.args_after is None or (isinstance(value.args_after, tuple | list) and len(value.args_after) == 2)
    return texts and pair and (value.raised is None or _is_raised(value.raised))


def _is_raised(raised: Any) -> bool:
    match raised:
        case {"kinds": [str(_), *_], "text": str(_), "line": None}:
            return all(isinstance(kind, str) for kind in raised["kinds"])
        case {"kinds": [str(_), *_], "text": str(_), "line": {"function": str(_), "number": int(_), "source": str(_)}}:
            return all(isinstance(kind, str) for kind in raised["kinds"])
    return False
