"""The self-check proves an overlay too: every variant's answer scores everything, its notebook as handed out nothing."""

import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.overlay.folder import Overlay
from autograder.overlay.proof import plans
from autograder.proving.apart import carried_out
from course_lib.house import paths

WRONG = {
    "an answer": ("variants/total/times.py", "sum(numbers) * {{n}}", "sum(numbers)", "answers", "total scores"),
    "a hunt that scores": (
        *("variants/total/squares.py", "# return sum(", "# return 21 or sum("),
        *("as given", "total scores 1.25, must score 0"),
    ),
    "a hidden case": ("overlay.py", "2 * draw.mine", "draw.mine", "answers", "double scores 3, must score 4"),
    "a number": (
        "overlay.py",
        '7 * draw.mine["n"]',
        '7 * draw.mine["m"]',
        "",
        "the lab's cases could not be made: KeyError",
    ),
}


def faults(lab_folder, overlay) -> dict[str, list[str]]:
    found = list(carried_out(plans(lab_folder, Overlay(overlay), [3, 4]), jobs=1))
    assert {variant for row in found for variant in ("times", "squares") if variant in row.plan.text} == {
        "times",
        "squares",
    }
    return {row.name: row.faults for row in found if row.faults}


def test_an_overlay_that_tells_right_from_wrong_has_no_faults(lab_folder, own):
    assert faults(lab_folder, own) == {}


@pytest.mark.parametrize(("name", "old", "new", "row", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_it_is_found(lab_folder, own, name, old, new, row, words):
    text = (own / name).read_text("utf-8")
    assert old in text
    (own / name).write_text(text.replace(old, new), "utf-8")
    found = faults(lab_folder, own)
    assert found
    assert all(row in student and all(words in fault for fault in said) for student, said in found.items()), found


def test_the_command_proves_the_overlay_after_the_lab(lab_folder, own, monkeypatch):
    monkeypatch.setattr(paths, "root", lambda: lab_folder.parents[1])
    words = ["selfcheck", "--seeds", "1", "--first-seed", "3", "--instructor", str(own.parent)]
    done = CliRunner().invoke(main, words)
    assert "✓ student 1: answers" in done.output, done.output
    assert "✓ student 3: as given" in done.output
    (own / "variants/total/times.py").unlink()
    failed = CliRunner().invoke(main, words)
    assert failed.exit_code == 1
    assert "the variant 'times' of 'total' has no file" in failed.output
