"""The frame of an explorer: controls under a picture that moves with them, and its reading in words.

A slider is worth moving when the picture follows at once. Drawing a figure takes matplotlib about 50 ms, most of it for
what stays: axes, ticks, labels. So the frame keeps one figure, draws what stays once, and for each event puts that
background back and draws only the artists that moved (blitting, matplotlib's animation technique); the pixels go to the
notebook as one PNG in one message. A front end sends a control's next value only after the kernel is done with the last
and keeps only the newest until then, so that dragging never runs behind.

    def build(figure):
        axes = figure.subplots()
        axes.set(xlim=(0, 10), ylim=(0, 100), xlabel="context (tokens)", ylabel="time (ms)")
        return {"curve": axes.plot([], [])[0]}

    def update(artists, slope):
        artists["curve"].set_data([0, 10], [0, 10 * slope])
        return f"Each token costs {slope} ms."

    Explorer([Slider("slope", "slope", (0, 10, 1), start=2, unit="ms/token")], build, update, alt="Time over context.")
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from PIL import Image

from course_lib.explore import style
from course_lib.explore.controls import Control, has_front_end, named_image, widget_view


def animated(artist: Any) -> Any:
    """Marks an artist (or a container of artists, such as bars) as one that moves, and returns it."""
    for one in _artists(artist):
        one.set_animated(True)
    return artist


class Explorer:
    """A picture with controls. As the last value of a cell it shows itself; without a notebook it is a still picture and text.

    What `build` returns, and what it passes to `animated`, is redrawn at each event, along with whatever lies above it in
    its axes. All else is background. The background is drawn anew when `update` touches something in it (limits, ticks, a
    title, an artist added): nothing has to be announced, but that event costs a whole drawing instead of a redraw. So set
    limits only when they change; setting the present ones counts too. Where axes overlap, moving artists belong in the
    upper ones.

    Args:
        controls: at most four sliders, choices and distributions.
        build: draws into an empty figure, in the course's style, and returns the artists that move: one, or any dataclass,
            mapping, sequence or plain object that holds them. Axes in it are not artists that move.
        update: `update(artists, **values)` moves the artists and returns the reading: what the picture now says, in words.
        alt: what a reader who cannot see the picture should know about it.
        size: width and height in inches.

    Raises:
        ValueError: too many controls, two of one name, or no alternative text.
    """

    def __init__(
        self,
        controls: Sequence[Control],
        build: Callable[[Figure], Any],
        update: Callable[..., str],
        *,
        alt: str,
        size: tuple[float, float] = style.SIZE,
    ) -> None:
        self.controls = {control.name: control for control in controls}
        if not 1 <= len(controls) <= 4 or len(self.controls) < len(controls):
            names = ", ".join(control.name for control in controls) or "none"
            raise ValueError(f"controls: needs one to four, each with a name of its own, got {names}")
        if not alt.strip():
            raise ValueError(f"alt: needs words for those who cannot see the picture, got {alt!r}")
        self.alt = alt
        self._build, self._update, self._size = build, update, size
        self._values = {name: control.start for name, control in self.controls.items()}
        self._stage: Stage | None = None
        self._panel: Panel | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The present value of each control."""
        return dict(self._values)

    @property
    def reading(self) -> str:
        """What the picture says at the present values, in words."""
        return self._staged().reading

    def set(self, **values: Any) -> None:
        """Moves controls from code, as a reader would. Raises ValueError for a name or a value that is not there."""
        self._values = self._checked(values)
        if self._stage:
            self._stage.move(self._values)
        if self._panel:
            self._panel.follow()

    def reset(self) -> None:
        """Moves every control back to its start."""
        self.set(**{name: control.start for name, control in self.controls.items()})

    def redraw(self) -> bytes:
        """Moves the artists to the present values and returns the picture as PNG: what happens at each event."""
        stage = self._staged()
        stage.move(self._values)
        return stage.png()

    def static(self, **values: Any) -> style.Picture:
        """A still picture at the present values, or at those named. It is a figure of its own: the explorer stays as it is."""
        with style.use():
            picture = style.figure(self._size, alt=self.alt)
            artists = self._build(picture)
            picture.caption = _read(self._update, artists, self._checked(values))
        return picture

    def __repr__(self) -> str:
        moved = ", ".join(
            f"{control.label}: {control.text(self._values[name])}" for name, control in self.controls.items()
        )
        return f"{self.reading}\n({moved})\n[picture: {self.alt}]"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = self.static()._repr_mimebundle_()
        data["text/plain"] = repr(self)
        if has_front_end():
            self._panel = self._panel or Panel(self)
            data |= widget_view(self._panel.box)
        return data, metadata

    def _staged(self) -> "Stage":
        if self._stage is None:
            self._stage = Stage(self._build, self._update, self._size)
            self._stage.move(self._values)
        return self._stage

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        unknown = ", ".join(values.keys() - self.controls.keys())
        if unknown:
            raise ValueError(f"no control is named {unknown}; there is {', '.join(self.controls)}")
        return self._values | {name: self.controls[name].position(value) for name, value in values.items()}


class Stage:
    """One figure kept between events: a saved background and the artists that move before it."""

    def __init__(self, build: Callable[[Figure], Any], update: Callable[..., str], size: tuple[float, float]) -> None:
        self.reading = ""
        self._update = update
        with style.use():
            self.figure = style.figure(size)
            self._artists = build(self.figure)
            animated(self._artists)
        self._background: Any = None

    def move(self, values: Mapping[str, Any]) -> None:
        """Lets `update` move the artists."""
        with style.use():
            self.reading = _read(self._update, self._artists, values)

    def pixels(self) -> np.ndarray:
        """The picture as bytes (height, width, RGBA): the background, drawn anew where it must be, and what moves before it."""
        canvas = self.figure.canvas
        # Artists that move do not make their figure stale: if it is, something in the background has changed.
        with style.use():
            if self._background is None or self.figure.stale:
                canvas.draw()
                self._moving, raised = _lift(self.figure)
                if raised:
                    canvas.draw()
                self._background = canvas.copy_from_bbox(self.figure.bbox)
            canvas.restore_region(self._background)
            for artist in self._moving:
                artist.draw(canvas.renderer)
        self.figure.stale = False  # a legend marks its own parts as stale while it is drawn
        return np.asarray(canvas.buffer_rgba())

    def png(self) -> bytes:
        """The picture as a PNG file. Level 1: higher ones take longer and save little on flat colours."""
        out = io.BytesIO()
        Image.fromarray(self.pixels()).convert("RGB").save(out, format="png", compress_level=1)
        return out.getvalue()


class Panel:
    """The widgets of an explorer: its reading, its picture, its controls, and a button that resets them."""

    def __init__(self, explorer: Explorer) -> None:
        from ipywidgets import HTML, Box, Button, Layout, VBox

        self._explorer = explorer
        self._following = False
        width, height = (round(side * style.DPI) for side in explorer._size)
        self._reading = HTML()
        self._picture = named_image(
            explorer.alt, format="png", width=width, height=height, layout=Layout(max_width="100%", height="auto")
        )
        self._controls = {name: control.widget() for name, control in explorer.controls.items()}
        reset = Button(description="Reset", icon="undo", layout=Layout(width="7em"))
        reset.on_click(lambda _: explorer.reset())
        for name, control in self._controls.items():
            control.observe(lambda change, name=name: self._moved(name, change["new"]), names="value")
        about = HTML(
            f'<details style="font-size: 16px"><summary>This picture in words</summary>{escape(explorer.alt)}</details>'
        )
        row = Box([*self._controls.values(), reset], layout=Layout(flex_flow="row wrap", align_items="center"))
        # The reading last: however many lines it takes, neither the picture nor a slider jumps.
        self.box = VBox([self._picture, row, self._reading, about], layout=Layout(padding="0 4px"))
        self.follow()

    def follow(self) -> None:
        """Brings controls, reading and picture to the explorer's present values."""
        self._following = True
        for name, control in self._controls.items():
            control.value = self._explorer.values[name]
        self._following = False
        self._draw()

    def _moved(self, name: str, value: Any) -> None:
        if not self._following:
            self._explorer._values[name] = value
            self._draw()

    def _draw(self) -> None:
        try:
            picture = self._explorer.redraw()
        except Exception as error:
            # A front end hides what a callback raises; the reader should see why the picture stands still.
            self._say(f"The picture could not be drawn: {type(error).__name__}: {error}")
            return
        self._picture.value = picture
        self._say(self._explorer.reading)

    def _say(self, words: str) -> None:
        looks = "font-size: 18px; line-height: 1.35"
        self._reading.value = f'<div role="status" aria-live="polite" style="{looks}">{escape(words)}</div>'


def _read(update: Callable[..., str], artists: Any, values: Mapping[str, Any]) -> str:
    reading = update(artists, **values)
    if not isinstance(reading, str):
        raise ValueError(f"update: needs to return the reading in words, got {reading!r}")
    return reading


def _lift(figure: Figure) -> tuple[list[Artist], bool]:
    """What has to be drawn at each event, lowest first, and whether some of it was background until now.

    Those are the moving artists and what lies above them within the same axes: frames, a legend, labels. It is marked as
    moving too; otherwise a curve would be drawn over the legend that should cover it.
    """
    moving, raised = [], False
    for room in _rooms(figure):
        hidden = [room.patch]
        if isinstance(room, Axes):  # what `Axes.draw` itself leaves out
            hidden += [] if room.axison else [room.xaxis, room.yaxis]
            hidden += [] if room.axison and room.get_frame_on() else list(room.spines.values())
        children = [one for one in room.get_children() if not isinstance(one, (Axes, FigureBase)) and one not in hidden]
        children.sort(key=Artist.get_zorder)
        first = next((i for i, child in enumerate(children) if child.get_animated()), len(children))
        for child in children[first:]:
            if not child.get_animated():
                if not child.get_window_extent(figure.canvas.renderer).overlaps(room.bbox):
                    continue
                child.set_animated(True)
                raised = True
            moving.append(child)
    return moving, raised


def _rooms(figure: Figure) -> Iterator[Any]:
    """Where artists live, in the order in which they are drawn: axes, axes inside axes, and the figure itself."""
    for axes in sorted(figure.axes, key=Artist.get_zorder):
        yield axes
        yield from axes.child_axes
    yield figure


def _artists(found: Any) -> Iterator[Artist]:
    """The artists in whatever `build` returned; axes and figures are where artists live and do not move themselves."""
    if isinstance(found, Artist):
        if not isinstance(found, (Axes, FigureBase)):
            yield found
        return
    if isinstance(found, Mapping):
        inside = list(found.values())
    elif isinstance(found, (list, tuple, set)):  # matplotlib's containers are tuples
        inside = list(found)
    elif isinstance(found, np.ndarray):
        inside = found.ravel().tolist() if found.dtype == object else []
    elif is_dataclass(found) and not isinstance(found, type):
        inside = [getattr(found, field.name) for field in fields(found)]
    else:
        inside = list(vars(found).values()) if hasattr(found, "__dict__") and not callable(found) else []
    for one in inside:
        yield from _artists(one)
