"""The section of an exercise, found in every lab that there is."""

from pathlib import Path

import nbformat
import pytest

from autograder.overlay import sections
from autograder.overlay.folder import Overlay
from autograder.overlay.personal import Overlaid
from autograder.versions import current

ROOT = Path(__file__).parents[3]
LABS = sorted(path.parent for path in ROOT.glob("solutions/*/checks.py"))
TOGETHER = ("failing_input", "speculative_step")


@pytest.mark.parametrize("folder", LABS, ids=lambda folder: folder.name)
def test_every_graded_cell_stands_in_one_section_that_begins_with_its_heading(folder):
    cells = current(folder).released.cells
    places = {}
    for name in sections.graded(cells):
        place = sections.section(cells, name.removeprefix("check_"))
        assert sections.is_heading(cells[place.start])
        assert not any(map(sections.is_heading, cells[place.start + 1 : place.stop]))
        assert name in sections.graded(cells[place])
        places[place.start] = place
    ends = [places[start].stop for start in sorted(places)]
    assert all(end <= start for end, start in zip(ends, sorted(places)[1:], strict=False))


def test_two_checks_of_one_section_are_varied_together_or_not_at_all(tmp_path):
    (folder,) = (folder for folder in LABS if folder.name.startswith("lab04"))
    overlay = tmp_path / folder.name
    for item in TOGETHER:
        (overlay / "variants" / item).mkdir(parents=True)
        (overlay / "variants" / item / "other.py").touch()
    cases = [
        f'@lab.variant("{item}", "other", target="f()")\ndef {item}(draw):\n    """Other."""\n    yield'
        for item in TOGETHER
    ]
    (overlay / "overlay.py").write_text("from .checks import lab\n\n" + "\n\n".join(cases), "utf-8")
    with pytest.raises(ValueError, match="failing_input and speculative_step, which share a section"):
        Overlaid(current(folder), Overlay(overlay))
    (overlay / "variants/failing_input/other.py").unlink()
    found = Overlaid(current(folder), Overlay(overlay))
    lab = found.lab_of(found.drawn(1))
    assert {name for name in TOGETHER if lab.checks[name].doc == "Other."} == set(TOGETHER)


def test_what_has_no_heading_before_it_has_no_section():
    cell = nbformat.v4.new_code_cell("check.total(total)", metadata={"nbgrader": {"grade_id": "check_total"}})
    text = nbformat.v4.new_markdown_cell("# A lab\n\n## not its first line")
    with pytest.raises(ValueError, match="no heading"):
        sections.section([text, cell], "total")
    with pytest.raises(ValueError, match="no check and no written item 'double'"):
        sections.section([text, cell], "double")
    assert sections.section([text, nbformat.v4.new_markdown_cell("## 2. Total"), cell], "total") == slice(1, 3)
