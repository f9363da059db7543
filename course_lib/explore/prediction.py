"""Predictions that are locked before the measurement, and shown beside it afterwards.

A number that one has guessed is remembered, and a wrong guess is where something is learnt; but only if it cannot be bent
after the fact. So a prediction is a value with a confidence, it is locked before the cell that measures runs, and it stays
locked for as long as the kernel lives.

The confidence draws a band. A prediction made with confidence c covers the share 1 − c of the question's whole range: at 0
anything would have been a hit, at 1 nothing but the number itself. On a logarithmic range the share is one of factors.
"""

import warnings
from dataclasses import dataclass
from html import escape
from math import isfinite, log10
from numbers import Real
from textwrap import fill, shorten
from typing import Any

from matplotlib.figure import Figure

from course_lib.explore import style
from course_lib.explore.controls import digits, has_front_end, widget_view
from course_lib.explore.reference import ReferenceRun


@dataclass(frozen=True)
class Locked:
    """A prediction that can no longer change."""

    value: float
    confidence: float


_locked: dict[str, Locked] = {}  # by key, for the life of the kernel: a cell that runs again does not unlock anything


class Prediction:
    """A question whose answer the reader predicts, then measures. As the last value of a cell it shows a form.

    Args:
        key: the prediction's name; two objects with one key are one prediction. It is also the name of the value in a
            reference run that `reveal` compares with.
        question: what is to be predicted.
        unit: of the value.
        low, high: the range within which an answer makes sense; a prediction lies in it.
        log: the range is one of factors rather than of differences.

    Raises:
        ValueError: the range is empty, not finite or, with `log`, not positive.
    """

    def __init__(self, key: str, question: str, unit: str = "", *, low: float, high: float, log: bool = False) -> None:
        if not (isfinite(low) and isfinite(high) and low < high and (low > 0 or not log)):
            need = "0 < low < high" if log else "low < high"
            raise ValueError(f"low, high: needs {need}, both finite, got {low} and {high}")
        self.key, self.question, self.unit = key, question, unit
        self.low, self.high, self.log = low, high, log

    @property
    def locked(self) -> bool:
        """Whether a prediction has been locked."""
        return self.key in _locked

    @property
    def value(self) -> float | None:
        """The locked value, or None."""
        return _locked[self.key].value if self.locked else None

    @property
    def confidence(self) -> float | None:
        """The confidence it was locked with, from 0 to 1, or None."""
        return _locked[self.key].confidence if self.locked else None

    @property
    def band(self) -> tuple[float, float] | None:
        """The values that the locked prediction covers, or None: the share 1 − confidence of the range, around the value.

        Where that would reach beyond an end of the range, it reaches further to the other side.
        """
        if not self.locked:
            return None
        low, value, high = (log10(x) if self.log else x for x in (self.low, self.value, self.high))
        width = (1 - self.confidence) * (high - low)
        start = min(max(low, value - width / 2), high - width)
        ends = start, start + width
        first, last = (10**end for end in ends) if self.log else ends
        # The prediction itself is a hit, and nothing outside the range is, however the powers round.
        return max(self.low, min(first, self.value)), min(self.high, max(last, self.value))

    def lock(self, value: float, confidence: float) -> "Prediction":
        """Locks the prediction. Once locked it stays as it is: another value is refused with a warning.

        Raises:
            ValueError: `value` is not a number between `low` and `high`, or `confidence` not one between 0 and 1.
        """
        value = self._number("value", value, self.low, self.high, self.unit)
        confidence = self._number("confidence", confidence, 0, 1)
        wanted = Locked(value, confidence)
        if _locked.setdefault(self.key, wanted) != wanted:
            warnings.warn(f"{self._locked_words()} It stays.", stacklevel=2)
        return self

    def reveal(self, measured: float, reference: ReferenceRun | float | None = None) -> Figure:
        """The locked prediction, what was measured, and a recorded reference run, side by side.

        Without a locked prediction the picture says so and shows the rest, so that a notebook runs through unattended.

        Args:
            measured: in the prediction's unit.
            reference: a run whose values hold one under the prediction's key, or the number itself.

        Raises:
            ValueError: a value is not a finite number (with `log`: a positive one), or the run holds none under the key.
        """
        measured = self._number("measured", measured)
        rows = [("measured here", measured, "vermilion", "D")]
        if isinstance(reference, ReferenceRun):
            if self.key not in reference.values:
                raise ValueError(
                    f"reference: holds no value {self.key!r}; there is {', '.join(reference.values) or 'none'}"
                )
            where = f"reference run\n{shorten(reference.machine, 36, placeholder=' …')}"
            rows.append((where, self._number("reference", reference.values[self.key]), "green", "s"))
        elif reference is not None:
            rows.append(("reference", self._number("reference", reference), "green", "s"))
        if self.locked:
            rows.insert(0, (f"predicted\n({self.confidence:.0%} confident)", self.value, "blue", "o"))
        return self._draw(rows, self._verdict(measured))

    def _verdict(self, measured: float) -> str:
        if not self.locked:
            return f"Measured: {self._text(measured)}. No prediction was locked before."
        low, high = self.band
        hit = "inside" if low <= measured <= high else "outside"
        gap = f" ({measured / self.value:.2g} times as much)" if self.value > 0 and measured > 0 else ""
        return f"Predicted {self._text(self.value)}, measured {self._text(measured)}{gap}: {hit} your band."

    def _draw(self, rows: list[tuple[str, float, str, str]], verdict: str) -> style.Picture:
        words = "; ".join(f"{' '.join(label.split())}: {self._text(value)}" for label, value, *_ in rows)
        with style.use():
            picture = style.figure((9.6, 1.6 + 0.65 * len(rows)), alt=f"{self.question} {words}. {verdict}")
            axes = picture.subplots()
            if self.log:
                axes.set_xscale("log")
                style.plain_decades(axes.xaxis)
            if self.locked:
                low, high = self.band
                axes.fill_between([low, high], -0.5, len(rows) - 0.5, color=style.COLOURS["blue"], alpha=0.15)
                middle = (low * high) ** 0.5 if self.log else (low + high) / 2
                axes.text(middle, -0.45, "your band", ha="center", va="bottom", color=style.COLOURS["blue"])
            for row, (_, value, colour, marker) in enumerate(rows):
                height = len(rows) - 1 - row
                axes.plot(value, height, marker=marker, color=style.COLOURS[colour], markersize=12, linestyle="none")
                axes.annotate(self._text(value), (value, height), (0, 11), textcoords="offset points", ha="center")
            axes.set_yticks(range(len(rows)), [label for label, *_ in reversed(rows)])
            axes.set_ylim(-0.5, len(rows) - 0.25)
            # The whole range of the question, so that the width of the band says what the prediction was worth.
            shown = [self.low, self.high, *(value for _, value, *_ in rows)]
            low, high = min(shown), max(shown)
            room = (high / low) ** 0.04 if self.log else (high - low) * 0.04
            axes.set_xlim(*((low / room, high * room) if self.log else (low - room, high + room)))
            axes.set_xlabel(self.unit or "value")
            picture.suptitle(fill(verdict, 92), x=0.01, ha="left")
            axes.grid(axis="y", visible=False)
        return picture

    def _number(
        self, name: str, value: Any, low: float | None = None, high: float | None = None, unit: str = ""
    ) -> float:
        value = value.item() if hasattr(value, "item") else value
        need = "a positive number" if self.log else "a number"
        fine = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
        if low is not None:
            need = f"a number between {low:,g} and {high:,g} {unit}".rstrip()
            fine = fine and low <= value <= high
        elif self.log:
            fine = fine and value > 0
        if not fine:
            raise ValueError(f"{name}: needs {need}, got {value!r}")
        return float(value)

    def _text(self, value: float) -> str:
        return f"{digits(value)} {self.unit}".rstrip()

    def _locked_words(self) -> str:
        return f"Locked: {self._text(self.value)}, {self.confidence:.0%} confident."

    def __repr__(self) -> str:
        state = self._locked_words() if self.locked else "Not locked yet: .lock(value, confidence)"
        return f"{self.question} {state}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        data = {"text/plain": repr(self), "text/html": f'<p style="font-size: 16px">{escape(repr(self))}</p>'}
        return data | widget_view(Form(self).box) if has_front_end() else data


class Form:
    """The widgets of a prediction: a field for the value, a slider for the confidence, a button that locks both."""

    def __init__(self, prediction: Prediction) -> None:
        from ipywidgets import HTML, Box, Button, IntSlider, Layout, Text, VBox

        self._prediction = prediction
        # A field of text and not of numbers: one of numbers starts at some number, and that would be a suggestion.
        unit = f" {prediction.unit}" if prediction.unit else ""
        self.value = Text(
            description="Prediction",
            placeholder=f"from {digits(prediction.low)} to {digits(prediction.high)}{unit}",
            style={"description_width": "7em"},
            layout=Layout(width="26em", max_width="100%"),
        )
        self.confidence = IntSlider(
            value=50, min=0, max=100, step=5, description="Confidence, %", style={"description_width": "8em"}
        )
        self.lock = Button(description="Lock", icon="lock", layout=Layout(width="7em"))
        self.lock.on_click(lambda _: self._lock())
        self._message = HTML()
        question = HTML(f'<div style="font-size: 16px">{escape(prediction.question)}</div>')
        row = Box([self.value, self.confidence, self.lock], layout=Layout(flex_flow="row wrap", align_items="center"))
        self.box = VBox([question, row, self._message])
        if prediction.locked:
            self._close()

    def _lock(self) -> None:
        try:
            value = float(self.value.value.replace(",", "").replace("_", ""))
        except ValueError:
            self._say("Type a number first, such as 1500 or 1.5e3.")
            return
        try:
            if not self._prediction.locked:
                self._prediction.lock(value, self.confidence.value / 100)
        except ValueError as error:
            self._say(str(error))
            return
        self._close()

    def _close(self) -> None:
        prediction = self._prediction
        self.value.value = digits(prediction.value)
        self.confidence.value = round(100 * prediction.confidence)
        for control in (self.value, self.confidence, self.lock):
            control.disabled = True
        low, high = (digits(end) for end in prediction.band)
        self._say(
            f"{prediction._locked_words()} It counts as a hit from {low} to {high} {prediction.unit}".rstrip() + "."
        )

    def _say(self, words: str) -> None:
        self._message.value = f'<div role="status" style="font-size: 16px">{escape(words)}</div>'
