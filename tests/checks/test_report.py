"""What a student is shown: well-formed, safe whatever is in it, legible as text, with a picture of where arrays differ."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from course_lib.checks.cases import Case, Step, case, script, typed
from course_lib.checks.definition import Check
from course_lib.checks.judging import CheckResult, judge
from course_lib.checks.perform import ask_here
from course_lib.checks.report import GRID, Report, progress_html, progress_text

HOSTILE = "<script>alert('x')</script> & \"quotes\" </td></table><img src=x onerror=alert(1)>"
WANT = np.arange(15.0).reshape(3, 5)


def report(answer, *cases, doc="Twice.", name="double", **help_):
    check = Check(name, doc, 4.0, ("double(x)",), lambda draw: cases)
    result = judge(check, check.visible_cases(), lambda steps: ask_here(steps, (answer,)))
    return Report(result, **help_)


class Tags(HTMLParser):
    """Every tag opened and closed in order; what a browser would show."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("br", "img", "rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"closed and never opened: {tag}"
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def of(self, tag):
        return [attrs for name, attrs in self.seen if name == tag]


def wrong_at(*places, shape=(3, 5), value=99.0):
    want = np.arange(float(np.prod(shape))).reshape(shape)

    def answer(x):
        got = want.copy()
        for place in places:
            got[place] = value
        return got

    return answer, case("entries", (0,), expect=want)


def test_a_passed_report_is_well_formed_and_says_so():
    html = report(lambda x: 2 * x, case("one", (1,), expect=2)).html()
    page = Tags(html)
    assert "passed" in html
    assert "1 of 1 cases" in html
    assert not page.of("svg")


def test_a_failed_report_shows_every_case_with_its_evidence():
    found = report(
        lambda x: 2 * x, case("one", (1,), expect=2), case("two", (2,), expect=5), typed("three", 3), hint="Look."
    )
    words = "".join(Tags(found.html()).words)
    for text in (
        "double",
        "Twice.",
        "one",
        "two",
        "three",
        "got 4, expected 5",
        "1 of 3 cases",
        "1.33 / 4 points",
        "Look.",
    ):
        assert text in words


@pytest.mark.parametrize("part", ["case", "doc", "exception", "result", "printed", "hint", "mistake", "source", "name"])
def test_text_of_any_origin_is_shown_and_never_run(part, cell):
    answers = {
        "exception": lambda x: {}[HOSTILE],
        "result": lambda x: HOSTILE,
        "printed": lambda x: print(HOSTILE),
        "source": cell(f"def f(x):\n    return 1 / 0  # {HOSTILE}")["f"],
    }
    made = report(
        answers.get(part, lambda x: 1),
        case(HOSTILE if part == "case" else "one", (1,), expect=2),
        doc=HOSTILE if part == "doc" else "Twice.",
        name=HOSTILE if part == "name" else "double",
        hint=HOSTILE if part == "hint" else None,
        mistake=HOSTILE if part == "mistake" else None,
    )
    page = Tags(made.html())
    assert not page.of("script")
    assert not page.of("img")
    assert len(page.of("table")) == 1
    assert "<script>alert(" in "".join(page.words)


def test_progress_escapes_what_it_shows():
    row = {"mark": "✗", "name": HOSTILE, "points": "0 / 4", "note": HOSTILE}
    page = Tags(progress_html([row, row]))
    assert not page.of("script")
    assert len(page.of("tr")) == 3
    assert "".join(page.words).count(HOSTILE) == 4
    assert (
        progress_text([row, {**row, "name": "why", "note": ""}]).splitlines()[1]
        == "✗ why                             0 / 4"
    )


def picture(answer, ask):
    html = report(answer, ask).html()
    Tags(html)
    (drawing,) = re.findall(r"<svg.*?</svg>", html)
    svg = ElementTree.fromstring(drawing)  # well-formed XML of its own
    squares = svg.findall("rect[@fill='none']")
    return svg, len(squares), len(svg.findall("rect")) - len(squares), len(svg.findall("path"))


def test_an_array_is_drawn_with_a_mark_where_it_is_wrong():
    svg, squares, wrong, missing = picture(*wrong_at((1, 2), (2, 4)))
    assert (squares, wrong, missing) == (15, 2, 0)
    marks = [rect for rect in svg.findall("rect") if rect.get("fill") != "none"]
    side = int(svg.findall("rect")[0].get("width"))
    assert [(int(mark.get("y")) // side, int(mark.get("x")) // side) for mark in marks] == [(1, 2), (2, 4)]


def test_what_is_not_a_number_has_a_mark_of_its_own():
    _, squares, wrong, missing = picture(*wrong_at((0, 0), (1, 1), value=np.nan))
    assert (squares, wrong, missing) == (15, 0, 2)
    _, squares, wrong, missing = picture(*wrong_at((0, 0), value=np.inf))
    assert (squares, wrong, missing) == (15, 1, 0)


def test_a_picture_has_its_meaning_in_words():
    svg, *_ = picture(*wrong_at((1, 2)))
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == svg.find("title").text
    assert svg.get("aria-label") == "Where the result of shape (3, 5) is wrong: 1 of 15 squares marked"


@pytest.mark.parametrize("shape", [(7,), (1, 9), (4, 1), (2, 3, 5), (2, 1, 3, 2)], ids=str)
def test_an_array_of_any_number_of_axes_is_drawn_a_square_an_entry(shape):
    _, squares, wrong, _ = picture(*wrong_at((-1,) * len(shape), (0,) * len(shape), shape=shape, value=-1.0))
    assert (squares, wrong) == (np.prod(shape), 2)


@pytest.mark.parametrize("shape", [(40, 50), (17, 3), (1000,), (3, 33, 5), (2, 70_000)], ids=str)
def test_a_large_array_is_drawn_in_blocks_and_none_of_its_errors_is_lost(shape):
    for place in ((0,) * len(shape), (-1,) * len(shape), tuple(size // 2 for size in shape)):
        svg, squares, wrong, _ = picture(*wrong_at(place, shape=shape, value=-1.0))
        assert wrong == 1
        assert squares <= GRID * GRID
        assert re.search(r"drawn as \d+×\d+ blocks: 1 of \d+ squares", svg.get("aria-label"))


def test_there_is_one_picture_beside_the_first_array_that_is_wrong():
    asks = [
        case("number", (1,), expect=5),
        case("good", (2,), expect=np.ones(3)),
        case("bad", (3,), expect=np.arange(3.0)),
    ]
    html = report(lambda x: np.ones(3), *asks, case("bad too", (4,), expect=np.full(3, 2.0))).html()
    assert len(Tags(html).of("svg")) == 1
    assert html.index(">bad<") < html.index("<svg") < html.index("bad too")


@pytest.mark.parametrize("want", [5, np.array(5.0), "five", [1, 2], np.array([5.0]), np.zeros((2, 7)), None], ids=repr)
def test_nothing_is_drawn_for_what_is_no_array_or_of_another_shape(want):
    assert not Tags(report(lambda x: np.ones(()), case("c", (1,), expect=want)).html()).of("svg")


def test_text_is_legible_line_by_line(cell):
    f = cell("def f(x):\n    print('a look at x:', x)\n    return 2 * x if x < 3 else x / 0")["f"]
    asks = [case(f"x = {x}", (x,), expect=2.0 * x) for x in (1, 3, 4)] + [case("five", (2,), expect=5)]
    lines = report(f, *asks, hint="Divide by something.", mistake="Divides by zero.").text().splitlines()
    assert lines[0].startswith("✗ double  ")
    assert lines[0].endswith("1 of 4 cases · 1 / 4 points")
    assert lines[1:4] == [
        "   ✓ x = 1",
        "   ✗ x = 3",
        "       raises ZeroDivisionError in line 3 of f: division by zero  ← return 2 * x if x < 3 else x / 0",
    ]
    assert lines[4:8] == ["   ✗ x = 4", "       the same", "   ✗ five", "       got 4, expected 5"]
    assert lines[8:] == [
        "   Your code printed: a look at x: 3",
        "   Hint: Divide by something.",
        "   This answer looks like one that makes a known mistake: Divides by zero.",
    ]
    assert max(map(len, lines)) <= 120


def test_only_the_last_lines_that_were_printed_are_shown():
    def chatty(x):
        print("\n".join(f"line {n}" for n in range(50)))

    (shown,) = [line for line in report(chatty, case("c", (1,), expect=1)).text().splitlines() if "printed" in line]
    assert shown.endswith("line 48 ⏎ line 49")
    assert "line 40" not in shown


def test_a_report_of_a_long_result_stays_short():
    found = report(lambda x: list(range(10**5)), *(case(f"c{n}", (n,), expect=[n]) for n in range(9)))
    assert len(found.text()) < 3_000
    assert len(found.html()) < 10_000


def test_a_step_that_goes_wrong_late_is_drawn_too():
    steps = (Step("call", 0, (1,)), *script("s", *[case("c", (2,), expect=WANT).steps[0]]).steps)
    check = Check("late", "Late.", 1.0, ("f",), lambda draw: [Case("s", steps)])
    result = judge(check, check.visible_cases(), lambda sent: ask_here(sent, (lambda x: WANT + (x == 2),)))
    assert isinstance(result, CheckResult)
    assert len(Tags(Report(result).html()).of("svg")) == 1


def test_a_warning_of_a_notebook_cell_names_its_line_and_not_a_temporary_file():
    def warns(x):
        print("/tmp/ipykernel_14059/3499018824.py:16: RuntimeWarning: overflow encountered in exp")
        return 0

    text = report(warns, case("c", (1,), expect=1)).text()
    assert "Your code printed: line 16: RuntimeWarning: overflow" in text
    assert "ipykernel" not in text
