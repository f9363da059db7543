"""The one plot style: what every explorer, lecture and figure of the course draws with.

Colours are those of Okabe and Ito (2008, "Color universal design"), told apart by colour-blind readers, and each comes with
its own kind of line, so that a picture still reads in black and white. Nothing is smaller than 12 points on a picture of
9.6 × 4.2 inches: it should be legible from the last row. Pictures are made without pyplot, whose registry of open figures
grows with every cell, and carry the words that say what they show.

    with style.use():
        picture = style.figure(alt="A straight line from (0, 0) to (1, 1).")
        axes = picture.subplots()
        axes.plot([0, 1], [0, 1])
    style.save_svg(picture, path, title="A line", description="It rises from (0, 0) to (1, 1).")
"""

import base64
import io
import os
from contextlib import AbstractContextManager
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from course_lib.files import replace_file

SIZE = (9.6, 4.2)  # inches
DPI = 100  # dots per inch of an explorer: 960 × 420 pixels, a notebook's width
SMALLEST = 12  # points

COLOURS = {
    "black": "#000000",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
}
"""Okabe and Ito's eight colours by name. Yellow is for areas: a line of it is lost on white."""

LINES = {
    "blue": "-",
    "vermilion": (0, (5, 2)),
    "green": (0, (1, 1.4)),
    "purple": (0, (6, 1.6, 1, 1.6)),
    "orange": (0, (9, 2.5)),
    "sky": (0, (3, 1.4, 1, 1.4, 1, 1.4)),
    "black": (0, (2, 3)),
}
"""The kind of line that belongs to each colour, in the order in which curves take them."""

HATCHES = {"blue": "", "vermilion": "///", "green": "...", "purple": "xxx", "orange": "\\\\\\", "sky": "---"}
"""The hatching that belongs to each colour where areas or bars stand side by side."""

_RC = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.labelsize": 13,
    "xtick.labelsize": SMALLEST,
    "ytick.labelsize": SMALLEST,
    "legend.fontsize": SMALLEST,
    "legend.frameon": False,
    "legend.handlelength": 3.2,  # long enough to show a dash pattern
    "figure.titlesize": 14,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.8,
    "lines.linewidth": 2.2,
    "lines.markersize": 8,
    "axes.prop_cycle": cycler(color=[COLOURS[name] for name in LINES], linestyle=list(LINES.values())),
    "figure.dpi": DPI,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": "figure",
    "svg.fonttype": "path",
    "svg.hashsalt": "tokens-per-second",  # ids in the file follow from its content alone
    "path.simplify": True,
}


class Picture(Figure):
    """A matplotlib figure outside pyplot that says what it shows: notebooks display it with its alternative text.

    Attributes:
        alt: what a reader who cannot see the picture should know.
        caption: one line printed under it, or "".
    """

    def __init__(self, *args: Any, alt: str = "", caption: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.alt = alt
        self.caption = caption
        FigureCanvasAgg(self)

    def png(self) -> bytes:
        """The picture as a PNG file."""
        out = io.BytesIO()
        with use():  # matplotlib asks again while it draws: the number of ticks follows from the size of their labels
            self.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self.caption, f"[picture: {self.alt}]"]))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        png = base64.b64encode(self.png()).decode()
        width = round(self.get_figwidth() * self.dpi)
        # JupyterLab ignores alternative text in an image's metadata, so the picture goes out inside HTML as well.
        html = (
            '<figure style="margin: 0">'
            f'<img src="data:image/png;base64,{png}" alt="{escape(self.alt)}" style="max-width: 100%; width: {width}px">'
            f'<figcaption style="font-size: 16px">{escape(self.caption)}</figcaption></figure>'
        )
        data = {"text/plain": repr(self), "text/html": html, "image/png": png}
        return data, {"image/png": {"alt": self.alt, "width": width}}


def use() -> AbstractContextManager[None]:
    """The style, for as long as the `with` block lasts. Draw inside it: matplotlib asks for sizes when artists are made."""
    return matplotlib.rc_context(_RC)


def figure(size: tuple[float, float] = SIZE, *, alt: str = "") -> Picture:
    """An empty picture of `size` inches whose axes arrange themselves (`picture.subplots()` adds them)."""
    with use():
        return Picture(figsize=size, alt=alt, layout="constrained")


def plain_decades(axis: Axis) -> None:
    """Numbers as one writes them along a logarithmic axis, at 1, 2 and 5 of each decade: 0.5, 20, 1,000."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    axis.set_minor_formatter(NullFormatter())


def save_svg(figure: Figure, path: str | os.PathLike, *, title: str, description: str) -> None:
    """Writes `figure` to `path` as SVG: the same figure gives the same bytes, today and tomorrow.

    `title` and `description` go in as `<title>` and `<desc>`, which screen readers read out.

    Raises:
        ValueError: `title` or `description` is empty.
    """
    for name, words in (("title", title), ("description", description)):
        if not words.strip():
            raise ValueError(f"{name}: needs words for those who cannot see the picture, got {words!r}")
    out = io.StringIO()
    nothing_of_today = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with use():
        figure.savefig(out, format="svg", metadata=nothing_of_today)
    head, svg, body = out.getvalue().partition("<svg ")
    attributes, _, body = body.partition(">")
    words = f" <title>{escape(title)}</title>\n <desc>{escape(description)}</desc>"
    replace_file(Path(path), f'{head}{svg}role="img" {attributes}>\n{words}{body}'.encode())
