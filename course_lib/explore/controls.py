"""What a reader moves: sliders over listed positions, choices among named options, distributions over a few parts.

A control is plain data, so that an explorer can be built, moved and tested without a notebook; `widget()` makes its
ipywidgets form when a front end asks for one. A slider knows its positions beforehand, and an arrow key moves it by one:
what a key does is the same for a linear, a logarithmic and a hand-picked scale. The parts of a distribution are sliders too:
when one moves, the others make room.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Simplex:
    """A distribution over a few parts: an upright slider for each, side by side. When one moves, the others share the rest.

    They share it in the proportion that they had when the reader took hold of that one, so that moving it back brings
    all of them back. All probabilities are multiples of one step.

    Args:
        name: the keyword under which `update` receives the value, a tuple with a probability for each part.
        label: what stands above the sliders; each is named by its part, as in "p(A)".
        parts: the names of the parts.
        start: the distribution at first and after a reset.
        steps: how many steps there are from 0 to 1.

    Raises:
        ValueError: there are fewer than two parts or two of one name, or `start` is no distribution in these steps.
    """

    name: str
    label: str
    parts: Sequence[str]
    start: Sequence[float]
    steps: int = 20

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "parts", tuple(self.parts))
        if not 1 < len(self.parts) == len(set(self.parts)):
            raise ValueError(f"parts of {self.name!r}: needs two or more, all different, got {_few(self.parts)}")
        object.__setattr__(self, "start", self.position(self.start))

    def position(self, value: Sequence[float]) -> tuple[float, ...]:
        """The distribution that `value` names. Raises ValueError if it is none, or lies between two steps."""
        given = [_plain(part) for part in value] if isinstance(value, Iterable) else [value]
        units = [round(part * self.steps) if isinstance(part, Real) and isfinite(part) else -1 for part in given]
        steps = [unit / self.steps for unit in units]
        whole = min(units, default=-1) >= 0 and all(abs(a - b) < 1e-9 for a, b in zip(given, steps, strict=True))
        if not whole or len(units) != len(self.parts) or sum(units) != self.steps:
            need = f"{len(self.parts)} probabilities in steps of {1 / self.steps:g} that sum to 1"
            raise ValueError(f"{self.name}: needs {need}, got {value!r}")
        return tuple(steps)

    def moved(self, value: Sequence[float], part: int, to: float) -> tuple[float, ...]:
        """`value` with one part moved to `to`, the others sharing the rest in their proportion, or evenly if they have none.

        Raises:
            ValueError: `value` is no position, or `to` lies outside [0, 1].
        """
        if not 0 <= to <= 1:
            raise ValueError(f"to is {to!r}, needs a number from 0 to 1")
        weights, held = [round(share * self.steps) for share in self.position(value)], round(to * self.steps)
        weights[part] = 0
        weights = weights if any(weights) else [1] * len(weights)
        # Step by step to whoever is owed most (Sainte-Laguë): with one step more to share, nobody gets less.
        units = [0] * len(weights)
        for _ in range(self.steps - held):
            owed = [-1.0 if i == part else weights[i] / (2 * units[i] + 1) for i in range(len(weights))]
            units[owed.index(max(owed))] += 1
        units[part] = held
        return tuple(unit / self.steps for unit in units)

    def text(self, value: Sequence[float]) -> str:
        """`value` as the reader sees it."""
        return ", ".join(f"{part} {digits(share)}" for part, share in zip(self.parts, value, strict=True))

    def widget(self) -> Any:
        """The sliders in a box, whose `value` is the distribution."""
        from ipywidgets import HBox, Label, Layout, SelectionSlider, VBox
        from traitlets import Tuple

        options = [(f"{unit / self.steps:.2f}", unit / self.steps) for unit in range(self.steps + 1)]
        sliders = [
            SelectionSlider(
                options=options,
                value=share,
                description=f"{self.name}({part})",
                orientation="vertical",
                layout=Layout(height="210px", width="4.2em"),
            )
            for part, share in zip(self.parts, self.start, strict=True)
        ]

        class Sliders(VBox):
            value = Tuple(default_value=self.start)

        box = Sliders([Label(self.label), HBox(sliders)], layout=Layout(margin="2px 18px 2px 2px"))
        pull: list[Any] = [None, None, None]  # the part that a reader moves, and all of them before and now

        def moved(part: int, to: float) -> None:
            if to != box.value[part]:  # otherwise it only follows
                if (part, box.value) != (pull[0], pull[2]):
                    pull[:2] = part, box.value
                box.value = pull[2] = self.moved(pull[1], part, to)

        def follow(change: Mapping[str, Any]) -> None:
            for slider, share in zip(sliders, change["new"], strict=True):
                slider.value = share

        box.observe(follow, names="value")
        for part, slider in enumerate(sliders):
            slider.observe(lambda change, part=part: moved(part, change["new"]), names="value")
        return box


Control = Slider | Choice | Simplex


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
