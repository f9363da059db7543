"""Every figure is drawn by its file, byte for byte, says what it shows, and its caption's numbers are the library's."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from course_lib.costs import DEVICES, PRESETS, decode_bound, forward_flops, kv_cache_bytes, parameter_count

FOLDER = Path(__file__).parents[1] / "figures"
FIGURES = sorted(path.stem for path in FOLDER.glob("*.py"))
SVG = "{http://www.w3.org/2000/svg}"


def test_every_picture_has_its_file_and_its_caption():
    assert FIGURES
    assert (
        FIGURES
        == sorted(path.stem for path in FOLDER.glob("*.svg"))
        == sorted(path.stem for path in FOLDER.glob("*.md"))
    )


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_again_byte_for_byte_from_another_folder(name, tmp_path):
    """The file is copied, so that the committed picture stays; what it draws it draws beside itself."""
    copy = tmp_path / f"{name}.py"
    copy.write_bytes((FOLDER / f"{name}.py").read_bytes())
    subprocess.run([sys.executable, copy], cwd=tmp_path, check=True)
    assert (tmp_path / f"{name}.svg").read_bytes() == (FOLDER / f"{name}.svg").read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_small_and_says_what_it_shows(name):
    path = FOLDER / f"{name}.svg"
    root = ET.parse(path).getroot()
    assert path.stat().st_size < 200_000
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title")
    assert len(root.findtext(f"{SVG}desc")) > 40
    assert not root.findall(f".//{SVG}text"), "letters are drawn as paths, the same on every machine"


def test_the_numbers_in_the_caption_of_the_two_walls_are_the_librarys():
    caption = (FOLDER / "two_walls.md").read_text(encoding="utf-8")
    said = [float(number.replace(",", "")) for number in re.findall(r"about ([\d,]+)", caption)]
    shape, device = PRESETS["Llama-3.1-8B"], DEVICES["H100 SXM"]
    crossover = forward_flops(shape, 1).weights / (4 * shape.n_layers * shape.n_heads * shape.d_head)
    a_token = kv_cache_bytes(shape, 1, batch=8)
    larger = 2 * parameter_count(shape).total / a_token
    full = (device.memory - 2 * parameter_count(shape).total) / a_token
    assert said == pytest.approx([crossover, larger, full], rel=0.01)
    for context in (256, 2**20):
        assert decode_bound(shape, context, device, batch=8).wall == "bandwidth"
