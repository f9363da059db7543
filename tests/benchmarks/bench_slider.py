"""From a key on a slider to new pixels, in JupyterLab under a headless Chromium: the explorer against `savefig` into a widget.

python tests/benchmarks/bench_slider.py    prints both medians, and their ratio as one line of JSON

The peer is what one would write first: the same figure drawn by the same code, saved whole as a PNG into an image widget
whenever its slider moves. The two are timed in turn, in one page.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parents[2]))

from course_lib.explore.reference import this_machine
from course_lib.house.notebooks import METADATA
from tests.browser.jupyter import Lab, Notebook, chromium

ROUNDS, KEYS = 3, 7
OURS = "from course_lib.explore.two_walls import two_walls_explorer\ntwo_walls_explorer()"
PEER = """
import io
import ipywidgets as widgets
from course_lib.explore import style
from course_lib.explore.two_walls import build, update, two_walls_explorer

values = two_walls_explorer().values
contexts = two_walls_explorer().controls["context"].values
figure = style.figure((9.6, 4.6))
artists = build(figure)
picture = widgets.Image(format="png")
slider = widgets.SelectionSlider(options=contexts, value=values["context"], description="saved")

def draw(change=None):
    update(artists, **values | {"context": slider.value})
    out = io.BytesIO()
    figure.savefig(out, format="png")
    picture.value = out.getvalue()

slider.observe(draw, "value")
draw()
widgets.VBox([picture, slider])
"""


def main() -> None:
    """Opens the page, times, prints."""
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as home:
        notebook = nbformat.v4.new_notebook(metadata=METADATA)
        notebook.cells = [nbformat.v4.new_code_cell(source.strip()) for source in (OURS, PEER)]
        nbformat.write(notebook, Path(root, "walls.ipynb"))
        with chromium() as browser, Lab(Path(root), browser, Path(home)) as lab:
            page = lab.open("walls.ipynb")
            page.run_all()
            times: dict[str, list[float]] = {"context": [], "saved": []}
            for _ in range(ROUNDS):
                for label, taken in times.items():
                    taken += timed(page, label)
    ours, peer = (statistics.median(taken) for taken in times.values())
    print(f"key to new pixels, explorer    {ours:6.0f} ms   (mark: 80, to chase: 50)")
    print(f"the same by savefig            {peer:6.0f} ms")
    summary = {
        "bench": "slider_to_pixels",
        "ours_ms": round(ours, 1),
        "peer": "savefig into an image widget",
        "peer_ms": round(peer, 1),
        "ratio": round(peer / ours, 2),
        "input": f"two walls, context slider, {2 * ROUNDS * KEYS} keys each",
        "machine": this_machine(),
    }
    print(json.dumps(summary))


def timed(page: Notebook, label: str) -> list[float]:
    """Some presses to the left and as many back, after one that is not counted."""
    slider = page.slider(label)
    page.time_keys(slider, "ArrowLeft", events=1)
    page.time_keys(slider, "ArrowRight", events=1)
    return page.time_keys(slider, "ArrowLeft", events=KEYS) + page.time_keys(slider, "ArrowRight", events=KEYS)


if __name__ == "__main__":
    main()
