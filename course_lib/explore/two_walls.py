"""The two walls of a language model, as an explorer: what a context costs, and how fast it can be decoded at best.

Three pictures share one axis, the context. Operations for a token: attention grows with the context and somewhere overtakes
the weights. Bytes: the cache grows with context and batch, until it is larger than the weights and then than the device.
Tokens a second: whichever of reading and multiplying takes longer sets the speed. All numbers are counted from the model's
shape and the device's data sheet by `course_lib.costs`; nothing here is measured, and a real program reaches less.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from course_lib.costs import DEVICES, PRESETS, Device, ModelShape, decode_bound, forward_flops
from course_lib.explore import Choice, Explorer, Slider
from course_lib.explore.style import COLOURS, LINES

CONTEXTS = [2**i for i in range(8, 21)]
BATCHES = [2**i for i in range(9)]
CURVE = np.geomspace(CONTEXTS[0], CONTEXTS[-1], 65)

ALT = (
    "Three diagrams over the context from 256 to about a million tokens, all axes logarithmic. Left: operations for one "
    "token; the line of the weights is level, attention's rises and crosses it. Middle: bytes in memory; the cache rises "
    "in proportion to the context, past the level of the weights and the level of the device's memory. Right: tokens a "
    "second of the whole batch; two limits, reading memory and multiplying, both fall as the context grows, and the lower "
    "one holds. A vertical line marks the chosen context."
)


@dataclass
class Walls:
    """The artists that move: curves over the context, levels, and what marks the chosen context."""

    weight_work: Line2D
    attention_work: Line2D
    weights: Line2D
    cache: Line2D
    memory: Line2D
    reading: Line2D
    multiplying: Line2D
    here: list[Line2D]
    dots: list[Line2D]


def two_walls_explorer(
    models: Mapping[str, ModelShape] = PRESETS,
    devices: Mapping[str, Device] = DEVICES,
    model: str = "Llama-3.1-8B",
    device: str = "H100 SXM",
) -> Explorer:
    """Context, batch, model and device as controls; operations, bytes and tokens a second over the context.

    Args:
        models, devices: what there is to choose from, by name.
        model, device: the names chosen at first.

    Raises:
        ValueError: `model` or `device` names none of them.
    """
    for argument, name, known in (("model", model, models), ("device", device, devices)):
        if name not in known:
            raise ValueError(f"{argument} is {name!r}, needs to be one of {', '.join(known)}")
    return Explorer(
        [
            Slider("context", "context", CONTEXTS, start=32_768, unit="tokens"),
            Slider("batch", "batch", BATCHES, start=8, unit="sequences"),
            Choice("shape", "model", models, start=models[model]),
            Choice("device", "device", devices, start=devices[device]),
        ],
        build,
        update,
        alt=ALT,
        size=(9.6, 4.6),
    )


def build(figure: Figure) -> Walls:
    """Draws the three diagrams, with limits wide enough for every preset, and returns what moves."""
    work, memory, speed = figure.subplots(1, 3)
    _axes(work, "operations a token", (1e6, 1e14), _power)
    _axes(memory, "bytes held", (1e6, 2e14), _bytes)
    _axes(speed, "tokens a second, at best", (1e-2, 1e7), _rate)
    walls = Walls(
        weight_work=_line(work, "blue", "weights"),
        attention_work=_line(work, "vermilion", "attention"),
        weights=_line(memory, "blue", "weights"),
        cache=_line(memory, "vermilion", "cache"),
        memory=_line(memory, "black", "device memory"),
        reading=_line(speed, "green", "limit of reading"),
        multiplying=_line(speed, "purple", "limit of multiplying"),
        here=[axes.axvline(CONTEXTS[0], color="#888888", linestyle="-", linewidth=1) for axes in (work, memory, speed)],
        dots=[
            axes.plot([], [], marker="o", color=COLOURS["black"], clip_on=False)[0] for axes in (work, memory, speed)
        ],
    )
    for axes in (work, memory, speed):
        # A distance in points: one in parts of the axes would shift as the layout settles, from one drawing to the next.
        below = axes.transAxes + ScaledTranslation(-8 / 72, -38 / 72, figure.dpi_scale_trans)
        axes.legend(loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, borderaxespad=0, labelspacing=0.25)
    return walls


def update(walls: Walls, context: int, batch: int, shape: ModelShape, device: Device) -> str:
    """Moves the artists to one choice of the controls and returns what they say, in words."""
    work = forward_flops(shape, 1, CURVE - 1)
    bound = decode_bound(shape, CURVE, device, batch)
    ends = CURVE[[0, -1]]
    stored = decode_bound(shape, 1, device, batch)
    stored_weights = stored.memory_bytes - stored.cache_bytes
    walls.weight_work.set_data(ends, [work.weights] * 2)
    walls.attention_work.set_data(CURVE, work.attention)
    walls.weights.set_data(ends, [stored_weights] * 2)
    walls.cache.set_data(CURVE, bound.cache_bytes)
    walls.memory.set_data(ends, [device.memory] * 2)
    walls.reading.set_data(CURVE, batch / bound.bandwidth_seconds)
    walls.multiplying.set_data(CURVE, batch / bound.compute_seconds)

    now = decode_bound(shape, context, device, batch)
    heights = forward_flops(shape, 1, context - 1).attention, now.cache_bytes, now.tokens_per_second
    for line, dot, height in zip(walls.here, walls.dots, heights, strict=True):
        line.set_xdata([context, context])
        dot.set_data([context], [height])
    return reading(shape, context, batch, device)


def reading(shape: ModelShape, context: int, batch: int, device: Device) -> str:
    """What the walls are for one choice, in words."""
    now = decode_bound(shape, context, device, batch)
    work = forward_flops(shape, 1, context - 1)
    stored_weights = now.memory_bytes - now.cache_bytes
    cache = "larger" if now.cache_bytes > stored_weights else "smaller"
    holds = "holds both" if now.fits else f"holds {_bytes(device.memory)}, too little for both"
    crossover = work.weights / (work.attention / context)
    setter = "Reading memory" if now.wall == "bandwidth" else "Multiplying"
    each = f", {_digits(now.per_sequence)} for each sequence" if batch > 1 else ""
    text = (
        f"At {context:,} tokens and batch {batch} the cache ({_bytes(now.cache_bytes)}) is {cache} than the weights "
        f"({_bytes(stored_weights)}); {device.name} {holds}. Attention is {_digits(work.attention / work.weights)} times "
        f"the work of the weights (equal at {_digits(crossover)} tokens). {setter} sets the speed: at most "
        f"{_digits(now.tokens_per_second)} tokens a second{each}."
    )
    if context > shape.context_length:
        text += f" ({shape.name} was published for at most {shape.context_length:,} tokens.)"
    return text


def _axes(axes: Axes, title: str, limits: tuple[float, float], label: Callable[[float], str]) -> None:
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(CONTEXTS[0], CONTEXTS[-1]),
        ylim=limits,
        title=title,
        xlabel="context (tokens)",
    )
    axes.set_xticks([2**8, 2**12, 2**16, 2**20], ["256", "4k", "64k", "1M"])
    powers = range(round(np.log10(limits[0])), round(np.log10(limits[1])) + 1)
    axes.set_yticks([10.0**power for power in powers if power % 2])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())


def _line(axes: Axes, colour: str, label: str) -> Line2D:
    return axes.plot([], [], color=COLOURS[colour], linestyle=LINES[colour], label=label)[0]


def _power(value: float) -> str:
    return f"$10^{{{round(np.log10(value))}}}$"


def _rate(value: float) -> str:
    scale, unit = next(pair for pair in ((1e6, "M"), (1e3, "k"), (1, "")) if value >= pair[0] or pair[0] == 1)
    return f"{value / scale:g}{unit}"


def _bytes(value: float) -> str:
    """1.6e10 as "16 GB", in powers of 1,000."""
    scale, unit = next(pair for pair in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1, "bytes")) if value >= pair[0])
    return f"{_digits(value / scale)} {unit}"


def _digits(value: float) -> str:
    """Two significant digits of a small number, whole thousands separated of a large one."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
