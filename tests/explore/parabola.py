"""The explorer that these tests move: a parabola beside three bars, and its pixels two ways."""

import io

import numpy as np
from PIL import Image

from course_lib.explore import Choice, Explorer, Slider, animated

HEIGHTS = np.linspace(-1, 1, 41)


def build(figure):
    # Axes at fixed places: those that arrange themselves settle by another hundredth of a pixel with each drawing.
    figure.set_layout_engine("none")
    left, right = figure.add_axes((0.1, 0.2, 0.35, 0.7)), figure.add_axes((0.6, 0.2, 0.35, 0.7))
    left.set(xlim=(-1, 1), ylim=(-5, 5), xlabel="position", ylabel="height")
    curve = left.plot([], [], label="parabola")[0]
    left.legend(loc="upper left")
    bars = animated(right.bar([0, 1, 2], [1, 1, 1]))
    right.set_ylim(0, 10)
    return {"curve": curve, "bars": bars, "note": right.text(0.5, 9, "")}


def update(artists, slope, power):
    artists["curve"].set_data(HEIGHTS, slope * HEIGHTS**power)
    for height, bar in enumerate(artists["bars"]):
        bar.set_height(abs(slope) * (height + 1))
    artists["note"].set_text(f"slope {slope}")
    return f"The curve rises to {slope}."


def explorer(build=build, update=update, alt="A parabola beside three bars.") -> Explorer:
    return Explorer(
        [Slider("slope", "slope", (-3, 3, 1), 1), Choice("power", "power", [1, 2], 2)], build, update, alt=alt
    )


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def drawn(explorer: Explorer) -> np.ndarray:
    return pixels(explorer.redraw())


def from_scratch(explorer: Explorer) -> np.ndarray:
    return pixels(explorer.static().png())
