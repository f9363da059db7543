"""A student's HTML and Markdown in an instructor's browser: what may be seen is seen, and nothing runs."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.records import markup, showing
from course_lib.checks import labs, variants
from course_lib.checks.report import Report
from tests.autograder.submissions import SOURCE

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<img src="https://example.org/seen.png">',
    "<svg onload=alert(1)></svg>",
    "<svg><script>alert(1)</script></svg>",
    '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="JaVa\tScript:alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    '<div style="background:url(https://example.org/seen)">x</div>',
    '<div style="position:fixed;top:0">18 / 18</div>',
    '<div style="width:expression(alert(1))">x</div>',
    '<div onmouseover="alert(1)">x</div>',
    '<iframe src="https://example.org"></iframe>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<object data=x></object><embed src=x>",
    '<form action="/formgrader/api/grade/1"><input name=score id=check_softmax></form>',
    '<meta http-equiv="refresh" content="0;url=https://example.org">',
    '<base href="https://example.org/">',
    '<link rel=stylesheet href="https://example.org/x.css">',
    "<style>body{display:none}</style>",
    "<title>the page ends here",
    "<textarea>the page ends here",
    "<!-- the page ends here",
    "</div></div></div></body></html>",
    "<table><td><script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    '<math><mtext><table><mglyph><style><img src=x onerror="alert(1)">',
    '<svg><style><a title="</style><img src=x onerror=alert(1)>">',
    '<rect fill="url(https://example.org/x)" width="1" height="1"/>',
    '<p title="<img src=x onerror=alert(1)>">x</p>',
    "<div title='\" onmouseover=\"alert(1)'>x</div>",
    '<details open ontoggle="alert(1)">x</details>',
]
MARKDOWN_ATTACKS = [
    *ATTACKS,
    "[x](javascript:alert(1))",
    "[x](  JAVASCRIPT:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    r"[x](javascript\:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x]: javascript:alert(1)\n\n[x]",
    "![x](javascript:alert(1))",
    "<javascript:alert(1)>",
    "`<script>`<script>alert(1)</script>",
    "[x](vbscript:alert(1))",
]


class Seen(HTMLParser):
    """What a browser would make of HTML: its tags, its attributes and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.text = ""
        self.balanced = True
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", *markup.EMPTY):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        self.balanced &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def runs(html: str) -> list[str]:
    """What in HTML would run, fetch or reach beyond its place."""
    seen = Seen(html)
    bad = [tag for tag, _ in seen.tags if tag not in markup.TAGS | {"img", "a"}]
    for _, attributes in seen.tags:
        for name, value in attributes.items():
            address = re.sub(r"[\x00-\x20]", "", (value or "").lower())
            bad += [name] if name.startswith("on") or name in ("id", "class", "srcdoc", "action") else []
            bad += [address] if "script:" in address or "url(" in address or "position" in address else []
            if name == "src" and not address.startswith("data:image/"):
                bad.append(address)
            if name.endswith("href") and re.match(r"(?!https?:|mailto:)[a-z]+:", address):
                bad.append(address)
    return bad if seen.balanced and not seen.open else [*bad, "unbalanced"]


def shown(text: str) -> str:
    """Markdown as formgrader shows it."""
    from nbconvert.filters import markdown2html

    return str(markdown2html(text))


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_in_html_runs_or_reaches_out(attack):
    assert not runs(markup.html(f"<p>before</p>{attack}"))
    assert "before" in Seen(markup.html(f"<p>before</p>{attack}")).text


@pytest.mark.parametrize("attack", MARKDOWN_ATTACKS)
def test_nothing_in_markdown_runs_or_reaches_out(attack):
    text = markup.markdown(f"before\n\n{attack}\n\nbehind")
    seen = Seen(shown(text))
    scripts = [
        tag for tag, _ in seen.tags if tag in ("script", "iframe", "style", "svg", "input", "object", "title", "meta")
    ]
    handlers = [name for _, attributes in seen.tags for name in attributes if name.startswith("on")]
    addresses = [value for _, attributes in seen.tags for name, value in attributes.items() if name in ("href", "src")]
    assert not scripts
    assert not handlers
    assert not [
        value for value in addresses if re.match(r"(java|vb)script:|data:", re.sub(r"[\x00-\x20]", "", value.lower()))
    ]
    assert "before" in seen.text
    assert "behind" in seen.text


@given(
    st.lists(
        st.sampled_from([*ATTACKS, *"<>\"'&;= /", "div", "svg", "<p>", "</p>", "<br>", "style", "title", "x", "\n"]),
        max_size=8,
    ).map("".join)
)
def test_html_that_is_left_as_it_is_holds_nothing_that_runs(text):
    assert not runs(markup.html(text))
    if markup.is_plain(text):
        assert markup.html(text) == text


@given(
    st.lists(
        st.sampled_from([*MARKDOWN_ATTACKS, *"<>`&;[]() \n", "java", "script:", "&#58;", "a < b", "**b**"]), max_size=8
    ).map("".join)
)
def test_markdown_made_safe_twice_is_as_made_safe_once(text):
    once = markup.markdown(text)
    assert markup.markdown(once) == once
    assert once.replace(markup.APART, "") == text


@pytest.mark.parametrize(
    "text",
    [
        "The **compute** wall, since $a < b$ and 5 > 3: see `x<y`, [a link](https://example.org) & more.",
        "> a quotation\n\n- a list\n- `if a<b and c>d`",
        "H<sub>2</sub>O<br>and <details><summary>more</summary>\n\nwords\n\n</details>",
    ],
)
def test_an_honest_answer_is_left_as_it_is(text):
    assert markup.markdown(text).replace(markup.APART, "") == text
    assert Seen(shown(markup.markdown(text))).text.replace(markup.APART, "") == Seen(shown(text)).text


def test_a_tag_in_an_answer_is_shown_as_it_was_typed():
    assert "vector<int>" in Seen(shown(markup.markdown("a `vector<int>` or a <b>bold</b> <x-tag>"))).text.replace(
        markup.APART, ""
    )


def test_every_report_of_a_check_is_recognised_as_plain():
    lab = labs.load(SOURCE)
    cells = variants.solution_cells(SOURCE)
    for wrong in [None, *labs.known_wrong(SOURCE)]:
        answers = cells if wrong is None else variants.replaced(cells, wrong)
        for result in variants.run(answers, lab, lambda check: check.visible_cases()).values():
            html = Report(result, hint="a < b & c", mistake='it\'s "so"').html()
            assert markup.is_plain(html)
            assert not runs(html)


def test_a_table_of_pandas_keeps_its_cells():
    cells = "<thead><tr><th>n</th></tr></thead><tbody><tr><td>1.5</td></tr></tbody></table>"
    table = f'<div><style scoped>th {{x: y}}</style><table border="1" class="dataframe">{cells}</div>'
    kept = markup.html(table)
    assert f'<table border="1">{cells}' in kept
    assert "th {" not in kept


def test_colours_and_tables_typed_by_hand_stay():
    text = '<p style="color: rgb(1, 2, 3); position: fixed">x<table><tr><td colspan=2 onclick=a()>y</table><br/>z</p>'
    kept = '<p style="color: rgb(1, 2, 3)">x<table><tr><td colspan="2">y</td></tr></table><br>z</p>'
    assert markup.html(text) == kept


@pytest.mark.parametrize(
    "unit", ["<b>", "<b><p>", "<div>", "<", "<a href=x>", "<p a='", "<table><td>", "&#", "<script", " ", "j "]
)
def test_no_text_keeps_a_grader_busy(unit):
    start = time.monotonic()
    text = ("<x" + unit * 100_000)[:200_000]
    assert not runs(markup.html(text))
    markup.markdown(text)
    showing.names_one([text], frozenset({"n = 3"}))
    assert time.monotonic() - start < 2
