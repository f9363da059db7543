"""Lab 04: the faulty code that its checks hunt is the one that was handed out, and its minutes keep their promise."""

import ast
import json
import re
from pathlib import Path

from course_lib.checks import labs

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
