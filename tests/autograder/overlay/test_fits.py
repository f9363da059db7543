"""An overlay that does not fit its lab is refused in words, before anybody is graded by it."""

import pytest

from autograder.overlay.folder import Overlay, find, needed
from autograder.overlay.personal import Drawn, Overlaid
from autograder.versions import current

VARIANT = """

@lab.variant("total", "{}", target="total(n)")
def other(draw):
    \"\"\"Other.\"\"\"
    yield case("1", (1,), expect=1)
"""
ORPHAN, LATER = VARIANT.format("cubes"), VARIANT.format("times")
PERSONAL = '\n\n@lab.personal\ndef others(draw):\n    return {"n": 1}\n'
LIST = '\n\n@lab.personal\ndef others(draw):\n    return {"m": [1]}\n'
HIDDEN = '\n\n@lab.hidden("total", variant="cubes")\ndef cubes(draw):\n    yield case("1", (1,), expect=1)\n'
WITHOUT_HEADING = ("variants/total/times.py", "# ## 2. Three numbers, {{n}} times, or none", "# Three numbers")
TWO_HEADINGS = (
    "variants/total/times.py",
    "check.total(total)\n",
    "check.total(total)\n\n# %% [markdown]\n# ## 3. More\n",
)
OTHER_NAME = ("variants/total/times.py", "def total(", "def weigh(")
OTHER_CHECK = ("variants/total/times.py", "check.total(total)", "check.double(total)")
MARKERS = ("variants/total/times.py", "    ### END SOLUTION\n", "")
MISSPELT = ("variants/total/times.py", "{{n}} times the sum", "{{m}} times the sum")


def fits(folder, lab_folder):
    """Makes a notebook of each variant."""
    overlaid = Overlaid(current(lab_folder), Overlay(folder))
    for variant in ("times", "squares"):
        overlaid.release_of(Drawn(1, overlaid.lab.drawn(1), {"total": variant}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ORPHAN, "'cubes' of 'total' has no file"),
        (LATER, "two variants called 'times'"),
        (PERSONAL, "names of their own, each an identifier, got 'n'"),
        (LIST, "'m' must be a plain number or text, got list"),
        (HIDDEN, "its variants are \\['times', 'squares'\\]"),
    ],
)
def test_definitions_that_say_too_little_or_too_much_are_refused(own, lab_folder, text, words):
    (own / "overlay.py").write_text((own / "overlay.py").read_text("utf-8") + text, "utf-8")
    with pytest.raises(ValueError, match=words):
        fits(own, lab_folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (WITHOUT_HEADING, "must begin with the heading of its section"),
        (TWO_HEADINGS, "and hold no other"),
        (OTHER_NAME, "must have the graded cells .*check_total, total.*, has check_total, weigh"),
        (OTHER_CHECK, "has check 'double'; the lab has total"),
        (MARKERS, "markers must be whole lines, in pairs"),
        (MISSPELT, r"has \{\{m\}\}, and the numbers are n"),
    ],
)
def test_a_variant_that_is_not_one_whole_section_is_refused(own, lab_folder, change, words):
    name, old, new = change
    text = (own / name).read_text("utf-8")
    assert text.count(old) == 1
    (own / name).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ValueError, match=words):
        fits(own, lab_folder)


def test_a_variant_without_cases_or_for_nothing_is_refused(own, lab_folder):
    source = (own / "variants/total/times.py").read_text("utf-8")
    (own / "variants/total/cubes.py").write_text(source, "utf-8")
    with pytest.raises(ValueError, match=r'needs @lab.variant\("total", "cubes", target=…\)'):
        fits(own, lab_folder)
    (own / "variants/total/cubes.py").unlink()
    (own / "variants/sums").mkdir()
    (own / "variants/sums/times.py").write_text(source, "utf-8")
    with pytest.raises(ValueError, match="variants/sums is for no check and no written item of lab_small"):
        fits(own, lab_folder)


def test_an_answer_in_words_has_variants_too_and_needs_no_cases(own, lab_folder):
    (own / "variants/why").mkdir()
    (own / "variants/why/other.py").write_text(
        '# %% [markdown]\n# ## 3. Why {{n}}?\n\n# %% [markdown] written="why"\n# Because of {{n}}.\n', "utf-8"
    )
    overlaid = Overlaid(current(lab_folder), Overlay(own))
    drawn = Drawn(1, {"n": 17}, {"why": "other"})
    text = "\n".join(cell.source for cell in overlaid.release_of(drawn).cells)
    assert "Why 17?" in text
    assert "Because" not in text


def test_a_folder_that_holds_nothing_for_the_lab_is_said(instructor, tmp_path):
    assert find(None, "lab_small") is None
    assert find(instructor, "lab_other") is None
    with pytest.raises(ValueError, match="holds no overlay of lab_other"):
        needed(instructor, "lab_other")
    with pytest.raises(ValueError, match="is no folder"):
        find(tmp_path / "nowhere", "lab_small")
    (tmp_path / "lab_small").mkdir()
    with pytest.raises(ValueError, match=r"overlay.py is missing"):
        find(tmp_path, "lab_small")
