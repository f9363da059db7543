"""Lecture 04's explorers moved in JupyterLab: a round played step by step, the rule bent, the best γ found."""

import shutil
from pathlib import Path

import pytest

from tests.browser import reading
from tests.browser.jupyter import Notebook
from tests.browser.reading import index_of, run_cells

LECTURE = Path(__file__).parents[2] / "lectures" / "04_speculative_decoding.ipynb"
PLAYER, RULE, SPEEDUP = "round_player(", "rejection_rule_explorer(", "speedup_explorer("


def keep(notebook: Notebook, name: str, words: str) -> None:
    reading.keep(notebook, f"lecture04_{name}", words)


def status(notebook: Notebook, words: str):
    return notebook.page.get_by_role("status").filter(has_text=words)


@pytest.fixture(scope="module")
def lecture(lab) -> Notebook:
    (lab.root / "lectures").mkdir()
    shutil.copy(LECTURE, lab.root / "lectures")
    notebook = lab.open("lectures/04_speculative_decoding.ipynb")
    run_cells(notebook, index_of(notebook, SPEEDUP))
    return notebook


def test_a_round_is_played_forward_by_the_arrow_key(lecture):
    lecture.cell(index_of(lecture, PLAYER))
    status(lecture, "is rejected").wait_for()
    slider = lecture.slider("step")
    before = lecture.picture(slider).screenshot()
    lecture.press(slider, "ArrowRight")
    status(lecture, "is drawn from the residual").wait_for()
    assert lecture.picture(slider).screenshot() != before
    keep(lecture, "player", PLAYER)


def test_bending_p_moves_the_other_tokens_and_the_overlap(lecture):
    lecture.cell(index_of(lecture, RULE))
    first = status(lecture, "α = 0.70")
    first.wait_for()
    slider = lecture.slider("p(A)")
    before = lecture.picture(slider).screenshot()
    for _ in range(3):
        lecture.press(slider, "ArrowUp")
    first.wait_for(state="detached")
    assert lecture.picture(slider).screenshot() != before
    keep(lecture, "rule_bent", RULE)
    rules = lecture.page.locator(".widget-dropdown", has_text="replace from the residual").locator("select")
    rules.select_option(label="replace from p (wrong)")
    status(lecture, "this rule stays 0.").wait_for()
    keep(lecture, "rule_wrong", RULE)


def test_a_dearer_draft_moves_the_best_gamma(lecture):
    lecture.cell(index_of(lecture, SPEEDUP))
    status(lecture, "γ* = 6").wait_for()
    slider = lecture.slider("c")
    before = lecture.picture(slider).screenshot()
    for _ in range(2):
        lecture.press(slider, "ArrowRight")
    status(lecture, "γ* = 4").wait_for()
    assert lecture.picture(slider).screenshot() != before
    keep(lecture, "speedup_moved", SPEEDUP)
    assert lecture.errors() == []
    assert lecture.console == []
