"""Asking a student's process what its answers give: steps out, outcomes back, and calls of functions that live here."""

import secrets
from collections.abc import Callable
from typing import Any

from autograder.grading.channel import Channel
from autograder.grading.outcomes import explained, is_outcome
from course_lib.checks.cases import Step, kept_in
from course_lib.checks.definition import Check, Lab
from course_lib.checks.perform import Outcome
from course_lib.checks.values import Unsendable, dumps

MOST_CALLS = 100_000  # of functions that live here, by one check
LONGEST_CALL = 1 << 16  # bytes of the arguments of one such call


class Misbehaved(Exception):
    """The student's side broke the protocol, as no honest notebook does."""


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
