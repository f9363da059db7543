"""Lab 04: the faulty code that its checks hunt is the one that was handed out, and its minutes keep their promise."""

import ast
import json
import re
from pathlib import Path

import pytest

from course_lib.checks import labs
from course_lib.checks.cases import kept_in

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "solutions" / "lab04_speculative_decoding"
RELEASE = ROOT / "labs" / FOLDER.name / f"{FOLDER.name}.ipynb"


def functions(source: str) -> dict[str, str]:
    """What each function of some code does, without its docstring and however it is set."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            found[node.name] = ast.unparse(ast.Module(body, [])).replace(", strict=False", "")
    return found


def test_the_checks_hunt_the_code_that_was_handed_out():
    cells = json.loads(RELEASE.read_text(encoding="utf-8"))["cells"]
    handed_out = functions("\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    hunted = functions((FOLDER / "hunts.py").read_text(encoding="utf-8"))
    assert handed_out["speculative_step"] == hunted["faulty_step"]
    assert handed_out["verify_draft"] == hunted["faulty_verify"]


def test_the_core_takes_at_most_three_hours_and_the_minutes_of_the_text_are_those_of_the_checks():
    text = (FOLDER / f"{FOLDER.name}.py").read_text(encoding="utf-8")
    exercises = re.findall(
        r"^# ## \d+\. [^\n]*\((core|stretch)\)(.*?)(?=^# ## |\Z)", text, flags=re.DOTALL | re.MULTILINE
    )
    assert len(exercises) == 15
    minutes = {"core": 0, "stretch": 0}
    for kind, body in exercises:
        minutes[kind] += sum(map(int, re.findall(r"^# minutes: (\d+)", body, flags=re.MULTILINE)))
    lab = labs.load(FOLDER)
    assert minutes["core"] <= 180
    assert sum(minutes.values()) == lab.minutes
    said = re.search(r"\(core\) takes at most (\d+) minutes, what is marked \(stretch\) another (\d+)", text)
    assert [int(said[1]), int(said[2])] == [minutes["core"], minutes["stretch"]]


def test_the_points_are_a_hundred_and_the_known_mistakes_many():
    lab = labs.load(FOLDER)
    assert lab.points == 100
    assert len(labs.known_wrong(FOLDER)) >= 10


def test_no_verdict_of_a_hunt_is_reached_or_known_where_answers_are():
    lab = labs.load(FOLDER)
    for name, word in (
        ("failing_input", "nothing smaller"),
        ("counterexample", "not how often"),
        ("is_wrong", "passes"),
    ):
        check = lab.checks[name]
        steps = [step for case in check.graded_cases(5) for step in case.steps]
        assert word in repr(steps)
        assert word not in repr([step.without_expectation().without_sources() for step in steps])


def test_who_is_not_shown_a_pair_of_verifiers_cannot_say_what_the_judge_wants_to_hear():
    check = labs.load(FOLDER).checks["is_wrong"]
    last = {seed: [case.steps[-1].expect.value for case in check.hidden_cases(seed)] for seed in range(4)}
    words = [word for several in last.values() for word in several]
    assert len(set(words)) == len(words)
    tells = [kept_in([step.args])[0] for case in check.hidden_cases(3) for step in case.steps if step.kind == "put"]
    assert {tell.compile()(True, False).startswith("told apart") for tell in tells} == {True, False}
    again = tells[0].compile()
    again(True, False)
    with pytest.raises(ValueError, match="asked twice"):
        again(False, True)
