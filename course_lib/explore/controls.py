"""What a reader moves: sliders over listed positions and choices among named options.

A control is plain data, so that an explorer can be built, moved and tested without a notebook; `widget()` makes its
ipywidgets form when a front end asks for one. A slider knows its positions beforehand, and an arrow key moves it by one:
what a key does is the same for a linear, a logarithmic and a hand-picked scale.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isclose, isfinite, log10
from numbers import Real
from typing import Any

MOST_POSITIONS = 10_000


@dataclass(frozen=True)
class Slider:
    """A number that the reader moves along fixed positions.

    Args:
        name: the keyword under which `update` receives the value.
        label: what stands beside the slider.
        values: the positions. A tuple of three numbers is a range `(low, high, step)`; with `log` the step is the factor
            between neighbours, so `(1024, 131072, 2)` has eight positions. Any other sequence lists the positions itself.
        start: the position at first and after a reset.
        unit: printed after the value.
        log: the range grows by factors. Listed positions stand evenly spaced whatever they are.
        integer: positions are rounded to whole numbers. A range of whole numbers has whole positions without it.
        show: turns a value into its text, unit included; for values that want more than `12,345` or `0.25`.

    Raises:
        ValueError: the range is empty or not finite, or `start` is not a position.
    """

    name: str
    label: str
    values: Sequence[float]
    start: float
    unit: str = ""
    log: bool = False
    integer: bool = False
    show: Callable[[float], str] | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        positions = self._range() if _is_range(self.values) else [_plain(value) for value in self.values]
        if self.integer:
            positions = list(dict.fromkeys(round(value) for value in positions))
        if not positions or sorted(set(positions)) != positions:
            raise ValueError(f"values of slider {self.name!r}: needs ascending positions, got {_few(positions)}")
        object.__setattr__(self, "values", tuple(positions))
        object.__setattr__(self, "start", self.position(self.start))

    def _range(self) -> list[float]:
        low, high, step = (_plain(value) for value in self.values)
        fits = step > 1 and low > 0 if self.log else step > 0
        if not all(map(isfinite, (low, high, step))) or high < low or not fits:
            need = "0 < low ≤ high and a factor above 1" if self.log else "low ≤ high and a step above 0"
            raise ValueError(f"values of slider {self.name!r}: needs {need}, got (low, high, step) = {low, high, step}")
        count = (log10(high / low) / log10(step) if self.log else (high - low) / step) + 1e-9
        if count > MOST_POSITIONS:
            raise ValueError(
                f"values of slider {self.name!r}: {count:.3g} positions, at most {MOST_POSITIONS} are allowed"
            )
        steps = range(int(count) + 1)
        if all(isinstance(value, int) for value in (low, step)):
            return [low * step**i if self.log else low + i * step for i in steps]
        # Twelve digits: 3 steps of 0.1 are 0.3, not 0.30000000000000004.
        return [float(f"{low * step**i if self.log else low + i * step:.12g}") for i in steps]

    def position(self, value: float) -> float:
        """The position that `value` names. Raises ValueError, with the nearest positions, when it names none."""
        if not isinstance(value, Real) or not isfinite(value):
            raise ValueError(f"{self.name}: needs a number, got {value!r}")
        nearest = sorted(self.values, key=lambda position: abs(position - value))[:2]
        if not isclose(nearest[0], value, rel_tol=1e-9, abs_tol=1e-12):
            raise ValueError(f"{self.name}: {value!r} is no position of the slider; the nearest are {_few(nearest)}")
        return nearest[0]

    def text(self, value: float) -> str:
        """`value` as the reader sees it."""
        if self.show:
            return self.show(value)
        return f"{digits(value)} {self.unit}".rstrip()

    def widget(self) -> Any:
        """An ipywidgets slider over the positions."""
        from ipywidgets import SelectionSlider

        # Two positions may read alike; the selection needs distinct texts, and an invisible space makes them so.
        texts: dict[str, float] = {}
        for value in self.values:
            text = self.text(value)
            while text in texts:
                text += "\u200b"
            texts[text] = value
        return SelectionSlider(options=list(texts.items()), value=self.start, description=self.label, **_looks())


@dataclass(frozen=True)
class Choice:
    """One of a few options. By keyboard, Space opens the list: JupyterLab takes the arrow keys of a closed one for itself.

    Args:
        name: the keyword under which `update` receives the value.
        label: what stands beside the list.
        options: the values, or a mapping from the text that is shown to the value.
        start: the value at first and after a reset.

    Raises:
        ValueError: there are no options, or `start` is none of them.
    """

    name: str
    label: str
    options: Sequence[Any] | Mapping[str, Any]
    start: Any

    def __post_init__(self) -> None:
        _check_name(self.name)
        named = self.options if isinstance(self.options, Mapping) else {str(option): option for option in self.options}
        object.__setattr__(self, "options", dict(named))
        object.__setattr__(self, "start", self.position(self.start))

    def position(self, value: Any) -> Any:
        """`value`, if it is an option. Raises ValueError with those there are when it is none."""
        if not any(value == option for option in self.options.values()):
            raise ValueError(f"{self.name}: {value!r} is no option; there is {_few(list(self.options.values()))}")
        return value

    def text(self, value: Any) -> str:
        """`value` as the reader sees it."""
        return next(text for text, option in self.options.items() if option == value)

    def widget(self) -> Any:
        """An ipywidgets list to choose from."""
        from ipywidgets import Dropdown

        return Dropdown(options=list(self.options.items()), value=self.start, description=self.label, **_looks())


def digits(value: float) -> str:
    """A number as a reader sees it: whole if it is an int, else to four digits; thousands set apart."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.4g}"


def has_front_end() -> bool:
    """Whether a reader may be there to move a widget: ipywidgets is installed and a notebook front end runs this cell.

    Batch runs (nbclient, nbconvert, nbgrader) tell the kernel that nobody can answer an `input()`. They get the static
    picture: a page made from such a run has no kernel behind it and would show a dead widget, or nothing.
    """
    if "IPython" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return False
    request = shell.get_parent() or {}
    return bool(request.get("content", {}).get("allow_stdin", True))


def widget_view(widget: Any) -> dict[str, Any]:
    """The display data that makes a front end show `widget`; the same in ipywidgets 7 and 8."""
    return {
        "application/vnd.jupyter.widget-view+json": {
            "version_major": 2,
            "version_minor": 0,
            "model_id": widget.model_id,
        }
    }


def named_image(name: str, **settings: Any) -> Any:
    """An ipywidgets image with an accessible name.

    The widget has no alternative text of its own. In ipywidgets 8 a tooltip becomes the name, but only of a widget with an
    empty description, a property that an image lacks; in 7 both go unheeded.
    """
    from ipywidgets import Image
    from traitlets import Unicode

    class NamedImage(Image):
        description = Unicode("").tag(sync=True)
        tooltip = Unicode(name).tag(sync=True)

    return NamedImage(**settings)


def _looks() -> dict[str, Any]:
    from ipywidgets import Layout

    return {
        "style": {"description_width": "initial"},
        "layout": Layout(width="30em", max_width="100%", margin="2px 18px 2px 2px"),
    }


def _is_range(values: Any) -> bool:
    return isinstance(values, tuple) and len(values) == 3


def _plain(value: Any) -> float:
    # NumPy's scalars print their type, and their integers overflow.
    return value.item() if hasattr(value, "item") else value


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"name of a control: needs an identifier, the keyword that update receives, got {name!r}")


def _few(values: Sequence[Any]) -> str:
    shown = [repr(value) for value in values[:12]]
    return ", ".join(shown + ["…"] * (len(values) > 12)) or "nothing"
