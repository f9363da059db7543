"""Functions that stay with the judge, called from a sealed copy: each case has its own, and what they raise arrives."""

import os
import shutil
import tempfile

import pytest

from autograder.grading.judge import Cell, Limits, judge_notebook
from autograder.sandbox import NOBODY
from course_lib.checks import Lab, Register, call, put, script
from course_lib.checks.cases import Kept

lab = Lab("lab96_kept", "Kept", minutes=1)
GUESS = """
def guess(number):
    if number is None:
        raise NotImplementedError
    if not isinstance(number, int):
        raise TypeError("a whole number is needed")
    if number < 0:
        b"\\xff".decode()
    return "right" if number == {secret} else "too small" if number < {secret} else "too large"
"""


@lab.check(points=2, target="answer")
def answer(draw):
    """A number that the judge alone knows."""
    for name, secret in (("seven", 7), ("at most seven", 8)):
        expect = "right" if secret == 7 else "too small"
        kept = Kept("guess", GUESS.format(secret=secret))
        yield script(name, put("guess", kept), call("guess", Register(0), expect=expect), hint="Guess.")


@pytest.fixture
def seen(zygote):
    """What the judge said of an answer, by case."""

    def see(source: str) -> dict[str, str]:
        folder = tempfile.mkdtemp()
        if zygote.uid is not None:
            os.chown(folder, NOBODY, NOBODY)
        start = "from course_lib.checks import lab\ncheck = lab('lab96_kept')"
        cells = [Cell(0, "", start), Cell(1, "answer", source), Cell(2, "check_answer", "check.answer(answer)")]
        try:
            judged = judge_notebook(zygote, lab, cells, folder, 3, Limits(cell=20, notebook=60, check=20))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return {case.name: case.said for case in judged.checks["answer"].cases}

    return see


def test_each_case_calls_its_own_function_though_they_share_a_name(seen):
    assert seen("answer = 7") == {"seven": "", "at most seven": ""}
    assert seen("answer = 8") == {
        "seven": "got 'too large', expected 'right'",
        "at most seven": "got 'right', expected 'too small'",
    }


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("answer = None", "not written yet"),
        ("answer = 'seven'", "raises TypeError: a whole number is needed"),
        ("answer = -1", "raises ValueError: UnicodeDecodeError: "),
        ("answer = list(range(40_000))", "raises ValueError: the arguments are too long"),
        ("answer = object()", "raises Unsendable: a value of type object cannot be checked"),
    ],
    ids=["a stub", "a type", "an error with parts", "too long", "no data"],
)
def test_what_goes_wrong_there_is_said_as_it_would_be_in_the_notebook(seen, source, said):
    assert seen(source)["seven"].startswith(said)
