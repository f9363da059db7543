"""Outputs as they are kept: what a student may have sent, made fit to be shown."""

import base64

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.records import showing
from autograder.records.showing import Shown
from tests.autograder.records.made_up import HIDDEN

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


def stream(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": text}


def display(**data) -> dict:
    return {
        "output_type": "display_data",
        "data": {key.replace("_", "/", 1): value for key, value in data.items()},
        "metadata": {},
    }


def test_what_is_harmless_stays_as_it_was():
    outputs = [
        stream("hello\n"),
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\x1b[31mValueError\x1b[0m: no"]},
        display(text_plain="5", text_html="<table><tr><td>5</td></tr></table>"),
        {**display(image_png=PNG, text_plain="<Figure>"), "metadata": {"image/png": {"width": 300, "height": 200}}},
        display(text_latex="$a < b$", text_markdown="**b**"),
    ]
    shown = Shown()
    assert shown.outputs(outputs, "softmax") == outputs
    assert not shown.notes


@pytest.mark.parametrize(
    "output",
    [
        stream(f"... {HIDDEN} ..."),
        display(text_html=f"<b>{HIDDEN}</b>"),
        display(text_html=HIDDEN.replace("−", "&minus;")),
        display(text_html=HIDDEN.replace("of", "<i>o</i>f")),
        display(text_plain="5", text_html=HIDDEN.replace(" ", "\n  ")),
        {"output_type": "error", "ename": "E", "evalue": HIDDEN, "traceback": []},
        {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["a", HIDDEN]},
    ],
)
def test_an_output_that_names_a_hidden_case_is_left_out_and_noted(output):
    shown = Shown(frozenset({HIDDEN, "another"}))
    kept = shown.outputs([stream("before"), output], "check_softmax")
    assert kept == [stream("before"), stream("[output left out]\n")]
    assert shown.notes == ["check_softmax: an output that names a hidden case was left out"]


def test_a_name_that_is_part_of_another_word_or_of_a_visible_case_is_no_hidden_case():
    shown = Shown(frozenset({"one round", "n = 1"}), frozenset({"one round, float32"}))
    outputs = [stream("n = 12\n"), stream("one rounded"), display(text_html="<b>one</b> round, float32")]
    assert shown.outputs(outputs, "a") == outputs
    assert shown.outputs([stream("one round, float64")], "a") == [stream("[output left out]\n")]


def test_huge_outputs_are_cut_and_a_notebook_has_an_end():
    shown = Shown()
    (kept,) = shown.outputs([stream("x" * 10**6)], "a")
    assert len(kept["text"]) < 1.1 * showing.MOST_TEXT
    assert "characters left out" in kept["text"]
    assert len(shown.outputs([stream("x")] * 1000, "b")) == showing.MOST_OUTPUTS
    pictures = [display(image_png="A" * 2_000_000)] * 20
    assert len(shown.outputs(pictures, "c")) < 7
    assert [note.split(":")[0] for note in shown.notes] == ["b", "c"]
    assert shown.outputs([display(image_png="A" * 4_000_000)], "d") == [display(text_plain="[image/png: left out]")]


def test_what_could_run_is_not_kept():
    shown = Shown()
    outputs = [
        display(application_javascript="alert(1)"),
        display(text_latex="<script>alert(1)</script>", text_plain="x"),
        display(image_png='x" onerror="alert(1)', text_plain="y"),
        {
            **display(image_png=PNG),
            "metadata": {"image/png": {"width": '1" onerror="alert(1)', "height": 5}, "isolated": True},
        },
    ]
    assert shown.outputs(outputs, "a") == [
        display(text_plain="[application/javascript: left out]"),
        display(text_plain="x"),
        display(text_plain="y"),
        {**display(image_png=PNG), "metadata": {"image/png": {"height": 5}}},
    ]


def test_a_widget_keeps_what_a_page_needs_to_find_it_and_no_more():
    view = {"model_id": "0a1b", "version_major": 2, "version_minor": 0, "x": "</script>"}
    kind = "application/vnd.jupyter.widget-view+json"
    (kept,) = Shown().outputs(
        [{"output_type": "display_data", "data": {kind: view, "text/plain": "IntSlider()"}, "metadata": {}}], "a"
    )
    assert kept["data"] == {kind: {key: view[key] for key in view if key != "x"}, "text/plain": "IntSlider()"}


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["output_type", "name", "text", "data", "metadata", "ename", "evalue", "traceback"])
KINDS = st.sampled_from(["stream", "error", "display_data", "execute_result"]) | ANY
DATA = st.dictionaries(
    st.sampled_from(["text/plain", "text/html", "image/png", "text/markdown", "image/svg+xml"]) | st.text(max_size=4),
    ANY,
)


@given(st.dictionaries(FIELDS, ANY), KINDS, DATA)
def test_whatever_is_sent_as_an_output_makes_a_valid_notebook_or_none(output, kind, data):
    for sent in (output | {"output_type": kind}, output | {"output_type": kind, "data": data}):
        kept = Shown(frozenset({"secret"})).outputs([sent], "a")
        cell = nbformat.v4.new_code_cell("", outputs=[nbformat.from_dict(one) for one in kept])
        nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
