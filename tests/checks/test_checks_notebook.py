"""A check line in a notebook: the evidence at once, help in steps, the points so far, a number that nbgrader reads."""

import IPython
import nbformat.v4
import numpy as np
import pytest
from nbgrader.utils import determine_grade

from course_lib.checks import frozen, notebook
from course_lib.checks.cases import case
from course_lib.checks.definition import Lab, Mistake
from course_lib.checks.frozen import freeze, thaw
from course_lib.checks.judging import judge
from course_lib.checks.notebook import HINT_FROM, MISTAKE_FROM, Checker, answering
from course_lib.checks.perform import ask_here


def right(x):
    return 2 * x


def without_sign(x):
    return abs(2 * x)


@pytest.fixture
def published(small_lab):
    """The small lab as students have it, one mistake known."""
    check = small_lab.checks["double"]
    found = judge(check, check.visible_cases(), lambda steps: ask_here(steps, (without_sign,)))
    outcomes = {"double": {made.name: made.fingerprint for made in found.cases}}
    return thaw(freeze(small_lab, "1", [Mistake("It forgets the sign.", outcomes)]))


@pytest.fixture
def check(published):
    return Checker(published)


def test_a_right_answer_passes_and_needs_no_help(check):
    for _ in range(4):
        report = check.double(right)
        assert report.result.passed
        assert (report.hint, report.mistake) == (None, None)
        assert "4 of 4 cases · 4 / 4 points" in report.text()


def test_help_comes_in_steps_the_evidence_first(check):
    reports = [check.double(without_sign) for _ in range(4)]
    assert all("largest error" in report.text() for report in reports)
    assert [report.hint for report in reports[: HINT_FROM - 1]] == [None]
    assert [report.hint for report in reports[HINT_FROM - 1 :]] == ["Minus counts."] * 3
    assert [report.mistake for report in reports[: MISTAKE_FROM - 1]] == [None, None]
    assert [report.mistake for report in reports[MISTAKE_FROM - 1 :]] == ["It forgets the sign."] * 2
    assert "It forgets the sign." in reports[3].text()
    assert "It forgets the sign." in reports[3].html()


def test_a_mistake_is_named_only_when_it_matches_on_every_case(check):
    for answer in (lambda x: abs(2 * x) if x.shape else 2 * x, lambda x: abs(3 * x), lambda x: None):
        assert [check.double(answer).mistake for _ in range(4)] == [None] * 4


def test_hints_of_the_check_come_one_after_another_where_the_case_has_none(check):
    answer = lambda x: 2 * x + (x.shape == ())  # noqa: E731
    hints = [check.double(answer).hint for _ in range(5)]
    assert hints == [None, "Look at the factor.", "And at the sign.", "And at the sign.", "And at the sign."]


def test_looking_at_the_cases_before_writing_anything_is_no_attempt(check):
    def stub(x):
        raise NotImplementedError

    for _ in range(MISTAKE_FROM):
        assert (check.double(stub).hint, check.by_hand(None).hint) == (None, None)
    reports = [check.double(without_sign) for _ in range(HINT_FROM)]
    assert [report.hint for report in reports] == [None] * (HINT_FROM - 1) + ["Minus counts."]
    assert [check.by_hand(5).hint for _ in range(HINT_FROM)][-1] == "Add them up."


def test_attempts_are_counted_for_each_check_by_itself_and_only_when_they_fail(check):
    check.double(without_sign)
    check.by_hand(5)
    check.double(right)
    assert check.by_hand(5).hint == "Add them up."
    assert check.double(without_sign).hint == "Minus counts."
    assert check.double(without_sign).mistake == "It forgets the sign."


def rows(check):
    return {row["name"]: (row["mark"], row["points"], row["note"]) for row in check.progress().rows}


def test_progress_says_the_points_what_is_left_and_what_it_builds_on(check):
    assert rows(check) == {
        "double": ("·", "0 / 4", "not checked yet"),
        "by_hand": ("·", "0 / 2", "not checked yet; builds on double"),
        "why": ("✎", "– / 3", "in words; a person reads it"),
        "so far": ("", "0 / 9", "on the visible cases"),
    }
    check.double(without_sign)
    check.by_hand(5)
    assert rows(check)["double"] == ("✗", "1 / 4", "3 of 4 cases fail")
    assert rows(check)["by_hand"] == ("✗", "0 / 2", "1 of 1 cases fail; builds on double")
    assert rows(check)["so far"][1] == "1 / 9"
    check.double(right)
    check.by_hand(918273)
    assert rows(check)["double"] == ("✓", "4 / 4", "")
    assert rows(check)["by_hand"] == ("✓", "2 / 2", "")
    assert rows(check)["so far"][1] == "6 / 9"
    check.double(without_sign)
    assert rows(check)["so far"][1] == "3 / 9"


def test_progress_is_shown_as_text_and_as_a_table(check):
    check.by_hand(5)
    for shown in (repr(check.progress()), check.progress()._repr_html_()):
        for words in ("double", "0 / 4", "not checked yet", "1 of 1 cases fail; builds on double", "so far", "0 / 9"):
            assert words in shown


@pytest.mark.parametrize("answers", [(), (right, right), (1, 2, 3)])
def test_the_wrong_number_of_answers_is_said_and_counts_as_no_attempt(check, answers):
    with pytest.raises(ValueError, match=rf"check.double takes 1 answers \(double\(x\) -> y\), got {len(answers)}"):
        check.double(*answers)
    assert rows(check)["double"][2] == "not checked yet"


def test_an_unknown_check_names_those_there_are(check):
    with pytest.raises(AttributeError, match="lab_small has no check 'dobule'; there is double, by_hand"):
        check.dobule(right)
    assert not hasattr(check, "_repr_html_")
    assert dir(check) == ["by_hand", "double", "progress"]
    assert "double, by_hand" in repr(check)


def test_a_check_says_what_it_is_for_before_it_is_called(check):
    assert check.double.__doc__ == "Twice an array. (double(x) -> y; 4 points)"


def test_a_missing_lab_names_those_there_are(tmp_path, monkeypatch):
    (tmp_path / "lab_a.json").write_text("{}")
    load = frozen.load
    monkeypatch.setattr(frozen, "load", lambda name: load(name, tmp_path))
    with pytest.raises(ValueError, match="no lab 'lab_x'; there is lab_a"):
        notebook.lab("lab_x")


def test_a_grading_run_takes_the_place_of_the_notebooks_checks(monkeypatch, published):
    monkeypatch.setattr(frozen, "load", lambda name: published)
    with answering("outer"):
        assert notebook.lab("lab_small") == notebook.lab("lab of another name") == "outer"
        with answering("inner"):
            assert notebook.lab("lab_small") == "inner"
        assert notebook.lab("lab_small") == "outer"
    assert isinstance(notebook.lab("lab_small"), Checker)
    with pytest.raises(KeyError), answering("failing"):
        raise KeyError
    assert isinstance(notebook.lab("lab_small"), Checker)


def test_a_judge_that_looks_empty_takes_the_place_too(monkeypatch, published):
    monkeypatch.setattr(frozen, "load", lambda name: published)
    with answering(judge_ := []):
        assert notebook.lab("lab_small") is judge_


@pytest.fixture
def in_notebook(monkeypatch):
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)


def graded(report, points):
    output = nbformat.v4.new_output("execute_result", report._repr_mimebundle_(), execution_count=1)
    metadata = {"nbgrader": {"grade": True, "solution": False, "points": points, "grade_id": "a"}}
    return determine_grade(nbformat.v4.new_code_cell("check.double(double)", metadata=metadata, outputs=[output]))


@pytest.mark.usefixtures("in_notebook")
@pytest.mark.parametrize(
    ("answer", "plain", "score"),
    [(right, "4", 4), (without_sign, "1", 1), (lambda x: -2 * x, "0", 0), (None, "0", 0), (lambda x: 1 / 0, "0", 0)],
    ids=["full", "part", "none", "no answer", "raises"],
)
def test_nbgrader_reads_the_score_of_a_report(check, answer, plain, score):
    for _ in range(4):  # with help or without
        report = check.double(answer)
        assert report._repr_mimebundle_()["text/plain"] == plain
        assert graded(report, 4) == (score, 4)


@pytest.mark.usefixtures("in_notebook")
@pytest.mark.parametrize("points", [0.375, 2 / 3, 1.005, 3, 1000])
@pytest.mark.parametrize("right_cases", range(4))
def test_nbgrader_reads_every_score_whatever_the_points(points, right_cases):
    lab = Lab("lab_points", "Points", minutes=1)

    @lab.check(points=points, target="f(n)")
    def f(draw):
        """Itself."""
        for n in range(3):
            yield case(f"{n}", (n,), expect=float(n))

    report = Checker(lab).f(lambda n: n if n < right_cases else -1)
    got, most = graded(report, points)
    assert most == points
    assert got == pytest.approx(points * right_cases / 3, abs=0.0051)
    assert (got == points) == (right_cases == 3)


def test_a_terminal_shows_the_whole_report_as_text(check, monkeypatch):
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    report = check.double(without_sign)
    assert report._repr_mimebundle_()["text/plain"] == report.text() == repr(report)
    monkeypatch.setattr(IPython, "get_ipython", lambda: type("TerminalShell", (), {})())
    assert check.double(without_sign)._repr_mimebundle_()["text/plain"].startswith("✗ double")


def test_an_answer_is_seen_as_it_will_be_when_it_is_graded(check):
    scalar = {(): lambda x: np.float64(2 * x), (3, 5): lambda x: np.asfortranarray(2 * x)}
    assert check.double(lambda x: scalar.get(x.shape, right)(x)).result.passed
    assert check.by_hand(np.int32(918273)).result.passed
    assert check.by_hand(np.array(918273)).result.passed
    assert not check.by_hand([918273]).result.passed
