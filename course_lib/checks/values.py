"""Plain data that may travel between a student's code and the judge: capped JSON and raw array buffers.

A verdict is reached outside the process that runs a student's code, so everything that passes between the two is plain:
numbers, strings, lists, dictionaries, arrays. Nothing is pickled, no object array and no subclass gets through, and a
NumPy scalar arrives as the Python number it stands for. The notebook sends its values through the same two functions, so
that an answer is seen there exactly as it will be seen when it is graded.

    frame   4-byte length of the header · the header as JSON · the array buffers, one after the other
    header  [value, [length of each buffer]]      an array is {"$": "array", "d": dtype, "s": shape} and takes one buffer
"""

import base64
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

MAX_HEADER = 4 << 20
MAX_BODY = 64 << 20
MAX_DEPTH = 40
DTYPES = frozenset(["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])


class Malformed(ValueError):
    """A frame that no honest sender would write."""


class Unsendable(TypeError):
    """A value that is not plain data, or too large."""


@dataclass(frozen=True)
class Tensor:
    """A torch tensor as the judge sees it: its numbers, and the fact that it was one (the judge never imports torch)."""

    array: np.ndarray
    dtype: str


def pack(value: Any, buffers: list, records: Mapping[str, type] | None = None, depth: int = 0) -> Any:
    """`value` as JSON-ready data; the bytes of its arrays are appended to `buffers`.

    `records` names the dataclasses that may travel as such. Raises Unsendable for anything that is not plain data, and
    says what it was.
    """
    if depth > MAX_DEPTH:
        raise Unsendable(f"it is nested deeper than {MAX_DEPTH} levels")

    def inner(part: Any) -> Any:
        return pack(part, buffers, records, depth + 1)

    kind = type(value)
    if value is None or kind in (bool, str, float):
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**63 else {"$": "int", "v": hex(value)}
    if kind is complex:
        return {"$": "complex", "v": [value.real, value.imag]}
    if kind is list:
        return [inner(part) for part in value]
    if issubclass(kind, tuple) and (kind is tuple or hasattr(kind, "_fields")):
        return {"$": "tuple", "v": [inner(part) for part in tuple.__iter__(value)]}
    if issubclass(kind, dict):
        return {"$": "dict", "v": [[inner(key), inner(part)] for key, part in dict.items(value)]}
    if kind in (set, frozenset):
        return {"$": "set", "v": [inner(part) for part in sorted(value, key=repr)]}
    if kind is bytes:
        buffers.append(value)
        return {"$": "bytes"}
    if isinstance(value, np.generic):
        return inner(value.item()) if value.dtype.kind in "biufc" else _refuse(f"a NumPy {value.dtype} scalar")
    if isinstance(value, np.ndarray):
        return _pack_array(np.ndarray.view(value, np.ndarray), buffers, "array")
    if kind is Tensor:
        return _pack_array(value.array, buffers, "tensor", t=value.dtype)
    if kind.__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return _pack_tensor(value, buffers)
    if records and records.get(kind.__name__) is kind:
        return {"$": kind.__name__, "v": [inner(getattr(value, field.name)) for field in fields(value)]}
    return _refuse(f"a value of type {kind.__name__}")


def unpack(
    value: Any,
    buffers: Iterator[bytes],
    records: Mapping[str, type] | None = None,
    tensor: Callable[[np.ndarray, str], Any] = Tensor,
) -> Any:
    """The inverse of `pack`. `tensor` makes what stands for a torch tensor. Raises Malformed."""

    def inner(part: Any) -> Any:
        return unpack(part, buffers, records, tensor)

    if isinstance(value, list):
        return [inner(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind: str = value.get("$", "")
    content: Any = value.get("v")
    if kind == "tuple":
        return tuple(inner(part) for part in content)
    if kind == "dict":
        return {inner(key): inner(part) for key, part in content}
    if kind == "set":
        return {inner(part) for part in content}
    if kind == "int":
        return int(content, 16)
    if kind == "complex":
        return complex(*content)
    if kind == "bytes":
        return bytes(next(buffers))
    if kind == "array":
        return _unpack_array(value, next(buffers))
    if kind == "tensor":
        return tensor(_unpack_array(value, next(buffers)), value["t"])
    if records and kind in records:
        return records[kind](*(inner(part) for part in content))
    raise Malformed(f"unknown kind {kind!r}")


def to_torch(array: np.ndarray, dtype: str) -> Any:
    """The torch tensor that `pack` saw. Only the side that runs a student's code asks for it."""
    import torch

    return torch.from_numpy(array).to(getattr(torch, dtype))


def dumps(message: Any, records: Mapping[str, type] | None = None) -> bytes:
    """One frame. Raises Unsendable when `message` is not plain data or is too large."""
    buffers: list = []
    body = pack(message, buffers, records)
    header = json.dumps([body, [len(buffer) for buffer in buffers]], separators=(",", ":")).encode()
    total = sum(len(buffer) for buffer in buffers)
    if len(header) > MAX_HEADER or total > MAX_BODY:
        raise Unsendable(f"it is too large ({(len(header) + total) / 1e6:.0f} MB, at most {MAX_BODY / 1e6:.0f} MB)")
    return b"".join([struct.pack("<I", len(header)), header, *buffers])


def loads(frame: bytes, records: Mapping[str, type] | None = None, tensor: Callable = Tensor) -> Any:
    """The message of one frame. Raises Malformed, whatever the bytes are."""
    try:
        (length,) = struct.unpack_from("<I", frame)
        if length > MAX_HEADER:
            raise Malformed(f"a header of {length} bytes")
        body, lengths = json.loads(frame[4 : 4 + length])
        if any(type(size) is not int or size < 0 for size in lengths) or 4 + length + sum(lengths) != len(frame):
            raise Malformed("buffer lengths that do not add up")
        return unpack(body, _slices(frame, 4 + length, lengths), records, tensor)
    except Malformed:
        raise
    except (ValueError, TypeError, KeyError, StopIteration, RuntimeError, RecursionError, struct.error) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from None


def to_json(message: Any, records: Mapping[str, type] | None = None) -> Any:
    """`message` as one JSON value, its buffers as base64: how visible cases are shipped."""
    buffers: list = []
    body = pack(message, buffers, records)
    return {"value": body, "buffers": [base64.b64encode(buffer).decode() for buffer in buffers]}


def from_json(data: Any, records: Mapping[str, type] | None = None, tensor: Callable = Tensor) -> Any:
    """The inverse of `to_json`."""
    return unpack(data["value"], iter([base64.b64decode(text) for text in data["buffers"]]), records, tensor)


def _refuse(what: str) -> Any:
    raise Unsendable(f"{what} cannot be checked; return numbers, texts, arrays, or lists, tuples and dicts of them")


def _slices(frame: bytes, start: int, lengths: list[int]) -> Iterator[bytes]:
    for length in lengths:
        yield frame[start : start + length]
        start += length


def _pack_array(array: np.ndarray, buffers: list, kind: str, **more: str) -> dict:
    dtype = array.dtype.newbyteorder("<").str[1:]
    if dtype not in DTYPES:
        _refuse(f"an array of dtype {array.dtype}")
    shape = list(array.shape)
    buffers.append(np.ascontiguousarray(array, dtype="<" + dtype).tobytes())
    return {"$": kind, "d": dtype, "s": shape, **more}


def _pack_tensor(tensor: Any, buffers: list) -> dict:
    import torch

    plain = torch.Tensor.detach(tensor).cpu()
    name = str(plain.dtype).removeprefix("torch.")
    # NumPy has no bfloat16; every bfloat16 is a float32.
    array = plain.float().numpy() if plain.dtype is torch.bfloat16 else plain.numpy()
    return _pack_array(array, buffers, "tensor", t=name)


def _unpack_array(value: dict, buffer: bytes) -> np.ndarray:
    shape, dtype = value["s"], value["d"]
    if dtype not in DTYPES or len(shape) > 16 or any(type(size) is not int or size < 0 for size in shape):
        raise Malformed(f"an array of shape {shape!r} and dtype {dtype!r}")
    return np.frombuffer(bytearray(buffer), "<" + dtype).reshape(shape)
