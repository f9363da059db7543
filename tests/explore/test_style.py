"""The plot style: told apart without colour, legible from afar, and the same bytes for the same picture."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from html import escape
from itertools import combinations

import matplotlib
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from course_lib.explore import style

# Okabe and Ito, 2008, "Color Universal Design", the table of eight colours in 8-bit RGB.
OKABE_ITO = {
    "black": (0, 0, 0),
    "orange": (230, 159, 0),
    "sky": (86, 180, 233),
    "green": (0, 158, 115),
    "yellow": (240, 228, 66),
    "blue": (0, 114, 178),
    "vermilion": (213, 94, 0),
    "purple": (204, 121, 167),
}
SVG = "{http://www.w3.org/2000/svg}"


def picture(n_curves=3):
    with style.use():
        drawn = style.figure(alt="Rising lines.")
        axes = drawn.subplots()
        for slope in range(1, n_curves + 1):
            axes.plot([0, 1], [0, slope], label=f"slope {slope}")
        axes.set(xlabel="time (s)", ylabel="tokens", title="Lines")
        axes.legend()
        axes.annotate("here", (0.5, 0.5))
    return drawn


def test_the_colours_are_those_that_colour_blind_readers_tell_apart():
    assert {
        name: tuple(round(255 * part) for part in to_rgb(code)) for name, code in style.COLOURS.items()
    } == OKABE_ITO


def test_curves_differ_in_their_line_as_well_as_in_their_colour():
    lines = picture(len(style.LINES)).axes[0].lines
    looks = [(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines]
    for one, other in combinations(looks, 2):
        assert one[0] != other[0]
        assert one[1] != other[1]


def test_areas_differ_in_their_hatching():
    assert len(set(style.HATCHES.values())) == len(style.HATCHES)
    assert set(style.HATCHES) <= set(style.COLOURS)


def test_no_word_is_smaller_than_twelve_points():
    drawn = picture()
    drawn.canvas.draw()
    sizes = {text.get_text(): text.get_fontsize() for text in drawn.findobj(Text) if text.get_text()}
    assert {"time (s)", "tokens", "Lines", "slope 1", "here"} < sizes.keys()
    assert min(sizes.values()) >= 12


def test_the_style_ends_with_its_block():
    before = dict(matplotlib.rcParams)
    with style.use():
        assert dict(matplotlib.rcParams) != before
    assert dict(matplotlib.rcParams) == before


def test_a_picture_looks_the_same_whatever_the_reader_has_set():
    expected = picture().png()
    with matplotlib.rc_context({"font.size": 30, "xtick.labelsize": 5, "lines.linewidth": 9, "savefig.dpi": 20}):
        assert picture().png() == expected


def test_a_picture_says_in_a_notebook_what_it_shows():
    drawn = picture()
    drawn.alt, drawn.caption = 'Where a < b & "c".', "Read it from the left."
    data, metadata = drawn._repr_mimebundle_()
    assert f'alt="{escape(drawn.alt)}"' in data["text/html"]
    assert drawn.caption in data["text/html"]
    assert metadata["image/png"]["alt"] == drawn.alt
    assert drawn.alt in data["text/plain"]


# SVG files


def save(path, **options):
    words = {"title": "Lines", "description": "They rise."} | options
    style.save_svg(picture(), path, **words)
    return path.read_bytes()


def test_the_same_picture_gives_the_same_bytes(tmp_path):
    assert save(tmp_path / "one.svg") == save(tmp_path / "two.svg")


def test_another_process_another_day_gives_the_same_bytes(tmp_path):
    program = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_style
test_style.save(Path(sys.argv[2]))
"""
    for number in (1, 2):
        today = os.environ | {"PYTHONHASHSEED": str(number), "SOURCE_DATE_EPOCH": str(10**9 * number)}
        command = [sys.executable, "-c", program, os.path.dirname(__file__), str(tmp_path / f"{number}.svg")]
        subprocess.run(command, env=today, check=True)
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()


def test_a_reader_of_the_screen_hears_title_and_description_first(tmp_path):
    root = ET.fromstring(save(tmp_path / "a.svg", title="a < b & c", description='Where "a" rises.'))
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert [child.text for child in root][:2] == ["a < b & c", 'Where "a" rises.']


def test_letters_are_shapes_so_that_no_font_need_be_installed(tmp_path):
    content = save(tmp_path / "a.svg")
    assert not list(ET.fromstring(content).iter(f"{SVG}text"))
    assert b"font-family" not in content


def test_an_svg_file_says_no_date_and_ends_its_lines_as_unix_does(tmp_path):
    content = save(tmp_path / "a.svg")
    assert b"dc:date" not in content
    assert b"\r" not in content
    assert content.endswith(b"\n")


@pytest.mark.parametrize("missing", ["title", "description"])
def test_an_svg_file_without_words_is_refused(tmp_path, missing):
    with pytest.raises(ValueError, match=f"^{missing}"):
        save(tmp_path / "a.svg", **{missing: " "})
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_leaves_the_older_one_whole(tmp_path, monkeypatch):
    before = save(tmp_path / "a.svg")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        save(tmp_path / "a.svg", title="Another")
    assert (tmp_path / "a.svg").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
