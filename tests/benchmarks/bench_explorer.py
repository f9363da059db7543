"""A redraw of an explorer against what one would write first: savefig of the same figure.

python tests/benchmarks/bench_explorer.py    prints both, and their ratio as one line of JSON

The explorer is lecture 00's. Each round moves the context slider by one position and redraws, which is the kernel's own part
of a slider event; then it moves a second copy and saves that one's figure whole. Before anything is timed, the blitted pixels
must equal the saved ones at every position.
"""

import argparse
import io
import json
from itertools import cycle, islice
from statistics import median
from time import perf_counter

import numpy as np
from PIL import Image

from course_lib.explore import Explorer, style
from course_lib.explore.reference import this_machine
from course_lib.explore.two_walls import two_walls_explorer

ROUNDS = 50
SLIDER = "context"


def main() -> None:
    """Checks, measures, prints."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    explorer, peer = settled(), settled()
    positions = explorer.controls[SLIDER].values
    for position in positions:
        if not np.array_equal(pixels(redrawn(explorer, position)), pixels(saved(peer, position))):
            raise SystemExit(f"at {position} blitting and savefig differ: a ratio would mean nothing")

    ours, peers = [], []
    for position in islice(cycle(positions), ROUNDS):
        start = perf_counter()
        picture = redrawn(explorer, position)
        middle = perf_counter()
        saved(peer, position)
        peers.append(perf_counter() - middle)
        ours.append(middle - start)
    ours_ms, peer_ms = median(ours) * 1e3, median(peers) * 1e3

    print(f"redraw, blitted        {ours_ms:6.1f} ms   (largest {max(ours) * 1e3:.1f} ms, {len(picture) / 1e3:.0f} kB)")
    print(f"the same by savefig    {peer_ms:6.1f} ms")
    height, width, _ = pixels(picture).shape
    summary = {
        "bench": "explorer_redraw",
        "ours_ms": round(ours_ms, 1),
        "peer": "matplotlib savefig",
        "peer_ms": round(peer_ms, 1),
        "ratio": round(peer_ms / ours_ms, 2),
        "input": f"two walls, {width} x {height} pixels, {ROUNDS} redraws",
        "machine": this_machine(),
    }
    print(json.dumps(summary))


def settled() -> Explorer:
    """The explorer, drawn once. The layout is kept from then on: it is found step by step, and each whole drawing, which
    savefig is, would move the axes by a fraction of a pixel."""
    explorer = two_walls_explorer()
    explorer.redraw()
    explorer._stage.figure.set_layout_engine("none")
    explorer.redraw()
    return explorer


def redrawn(explorer: Explorer, position: float) -> bytes:
    """What a slider event does in the kernel."""
    explorer.set(**{SLIDER: position})
    return explorer.redraw()


def saved(explorer: Explorer, position: float) -> bytes:
    """The same picture as savefig draws it, everything anew, with the same compression."""
    explorer.set(**{SLIDER: position})
    out = io.BytesIO()
    with style.use():
        explorer._stage.figure.savefig(out, format="png", pil_kwargs={"compress_level": 1})
    return out.getvalue()


def pixels(png: bytes) -> np.ndarray:
    """A PNG's pixels, without an alpha channel."""
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


if __name__ == "__main__":
    main()
