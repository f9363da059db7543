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
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

MAX_HEADER = 4 << 20
MAX_BODY = 64 << 20
MAX_DEPTH = 40
MAX_PARTS = 1_000_000
LEFT_OUT = {"left out": True}
"""The metadata of a record's last field that does not travel while it is None: frames from before it was there stay the same."""
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


class Packer:
    """Turns a value into JSON-ready data; the bytes of its arrays collect in `buffers`.

    `records` names the dataclasses that may travel as such. `pack` raises Unsendable for anything that is not plain data,
    and says what it was.
    """

    def __init__(self, records: Mapping[str, type] | None = None) -> None:
        self.buffers: list[bytes] = []
        self._records = records or {}
        self._parts = 0

    def pack(self, value: Any, depth: int = 0) -> Any:
        self._parts += 1
        if depth > MAX_DEPTH or self._parts > MAX_PARTS:
            raise Unsendable(f"it is nested deeper than {MAX_DEPTH} levels or has more than {MAX_PARTS:,} parts")
        kind = type(value)
        if value is None or kind in (bool, str, float):
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else {"$": "int", "v": hex(value)}
        if kind is complex:
            return {"$": "complex", "v": [value.real, value.imag]}
        if kind is list:
            return self._all(value, depth)
        if issubclass(kind, tuple) and (kind is tuple or hasattr(kind, "_fields") or kind.__name__ == "Size"):
            return {"$": "tuple", "v": self._all(tuple.__iter__(value), depth)}
        if issubclass(kind, dict):
            return {"$": "dict", "v": [self._all(pair, depth) for pair in dict.items(value)]}
        if kind in (set, frozenset):
            return {"$": "set", "v": self._all(sorted(value, key=repr), depth)}
        if kind is bytes:
            self.buffers.append(value)
            return {"$": "bytes"}
        if isinstance(value, np.generic):
            if value.dtype.kind not in "biufc":
                _refuse(f"a NumPy {value.dtype} scalar")
            plain = value.item()
            return self.pack(float(plain) if isinstance(plain, np.generic) else plain, depth)
        if isinstance(value, np.ndarray):
            return self._array(np.ndarray.view(value, np.ndarray), "array")
        if kind is Tensor:
            return self._array(value.array, "tensor", t=value.dtype)
        if is_tensor(value):
            return self._tensor(value)
        if self._records.get(kind.__name__) is kind:
            parts = [getattr(value, field.name) for field in fields(value)]
            if parts[-1] is None and fields(value)[-1].metadata == LEFT_OUT:
                parts.pop()
            return {"$": kind.__name__, "v": self._all(parts, depth)}
        return _refuse(f"a value of type {kind.__name__}")

    def _all(self, parts: Iterable, depth: int) -> list:
        return [self.pack(part, depth + 1) for part in parts]

    def _array(self, array: np.ndarray, kind: str, **more: str) -> dict:
        dtype = array.dtype.newbyteorder("<").str[1:]
        if dtype not in DTYPES:
            _refuse(f"an array of dtype {array.dtype}")
        if array.nbytes > MAX_BODY:
            raise Unsendable(f"it is too large ({array.nbytes / 1e6:.0f} MB, at most {MAX_BODY / 1e6:.0f} MB)")
        self.buffers.append(np.ascontiguousarray(array, dtype="<" + dtype).tobytes())
        return {"$": kind, "d": dtype, "s": list(array.shape), **more}

    def _tensor(self, tensor: Any) -> dict:
        import torch

        if tensor.numel() * tensor.element_size() > MAX_BODY:
            raise Unsendable(f"it is too large (at most {MAX_BODY / 1e6:.0f} MB)")
        plain = torch.Tensor.detach(tensor)
        if plain.is_meta or plain.layout is not torch.strided or plain.is_quantized:
            kind = "meta" if plain.is_meta else "quantised" if plain.is_quantized else "sparse"
            _refuse(f"a {kind} tensor")
        plain = plain.cpu().resolve_conj().resolve_neg()
        # NumPy has no bfloat16; every bfloat16 is a float32.
        array = plain.float().numpy() if plain.dtype is torch.bfloat16 else plain.numpy()
        return self._array(array, "tensor", t=str(plain.dtype).removeprefix("torch."))


class Unpacker:
    """The inverse of a Packer. `tensor` makes what stands for a torch tensor. `unpack` raises Malformed."""

    def __init__(
        self, buffers: Iterable[bytes], records: Mapping[str, type] | None = None, tensor: Callable = Tensor
    ) -> None:
        self._buffers = iter(buffers)
        self._records = records or {}
        self._make_tensor = tensor

    def unpack(self, value: Any, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise Malformed(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, list):
            return self._all(value, depth)
        if not isinstance(value, dict):
            return value
        kind: str = value.get("$", "")
        content: Any = value.get("v")
        if kind == "tuple":
            return tuple(self._all(content, depth))
        if kind == "dict":
            return dict(tuple(self._all(pair, depth)) for pair in content)
        if kind == "set":
            return set(self._all(content, depth))
        if kind == "int":
            return int(content, 16)
        if kind == "complex":
            return complex(*content)
        if kind == "bytes":
            return bytes(self._next())
        if kind == "array":
            return self._array(value)
        if kind == "tensor":
            if type(value["t"]) is not str:
                raise Malformed(f"a tensor of dtype {value['t']!r}")
            return self._make_tensor(self._array(value), value["t"])
        if kind in self._records:
            return self._records[kind](*self._all(content, depth))
        raise Malformed(f"unknown kind {kind!r}")

    def _all(self, parts: list, depth: int) -> list:
        return [self.unpack(part, depth + 1) for part in parts]

    def _next(self) -> bytes:
        for buffer in self._buffers:
            return buffer
        raise Malformed("fewer buffers than the header speaks of")

    def _array(self, value: dict) -> np.ndarray:
        shape, dtype = value["s"], value["d"]
        if dtype not in DTYPES or len(shape) > 16 or any(type(size) is not int or size < 0 for size in shape):
            raise Malformed(f"an array of shape {shape!r} and dtype {dtype!r}")
        return np.frombuffer(bytearray(self._next()), "<" + dtype).reshape(shape)


def is_tensor(value: Any) -> bool:
    """Whether this is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_torch(array: np.ndarray, dtype: str) -> Any:
    """The torch tensor that `pack` saw. Only the side that runs a student's code asks for it."""
    import torch

    return torch.from_numpy(array).to(getattr(torch, dtype))


def dumps(message: Any, records: Mapping[str, type] | None = None) -> bytes:
    """One frame. Raises Unsendable when `message` is not plain data or is too large, whatever it does when it is read."""
    packer = Packer(records)
    body = _packed(packer, message)
    sizes = [len(buffer) for buffer in packer.buffers]
    header = json.dumps([body, sizes], separators=(",", ":")).encode()
    if len(header) > MAX_HEADER or sum(sizes) > MAX_BODY:
        total = (len(header) + sum(sizes)) / 1e6
        raise Unsendable(f"it is too large ({total:.0f} MB, at most {MAX_BODY / 1e6:.0f} MB)")
    return b"".join([struct.pack("<I", len(header)), header, *packer.buffers])


def loads(frame: bytes, records: Mapping[str, type] | None = None, tensor: Callable = Tensor) -> Any:
    """The message of one frame. Raises Malformed, whatever the bytes are."""
    try:
        (length,) = struct.unpack_from("<I", frame)
        if length > MAX_HEADER:
            raise Malformed(f"a header of {length} bytes")
        body, lengths = json.loads(frame[4 : 4 + length])
        if any(type(size) is not int or size < 0 for size in lengths) or 4 + length + sum(lengths) != len(frame):
            raise Malformed("buffer lengths that do not add up")
        return Unpacker(_slices(frame, 4 + length, lengths), records, tensor).unpack(body)
    except Malformed:
        raise
    except (ArithmeticError, ValueError, TypeError, LookupError, RuntimeError, AttributeError, struct.error) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from None


def to_json(message: Any, records: Mapping[str, type] | None = None) -> Any:
    """`message` as one JSON value, its buffers as base64: how visible cases are shipped."""
    packer = Packer(records)
    body = _packed(packer, message)
    return {"value": body, "buffers": [base64.b64encode(buffer).decode() for buffer in packer.buffers]}


def from_json(data: Any, records: Mapping[str, type] | None = None, tensor: Callable = Tensor) -> Any:
    """The inverse of `to_json`. Raises Malformed."""
    try:
        buffers = [base64.b64decode(text) for text in data["buffers"]]
        return Unpacker(buffers, records, tensor).unpack(data["value"])
    except Malformed:
        raise
    except (ArithmeticError, ValueError, TypeError, LookupError, RuntimeError, AttributeError) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from None


def _packed(packer: Packer, message: Any) -> Any:
    try:
        return packer.pack(message)
    except Unsendable:
        raise
    except (Exception, MemoryError, RecursionError) as error:  # a student's object may do anything when it is looked at
        raise Unsendable(f"it cannot be read ({type(error).__name__})") from None


def _refuse(what: str) -> Any:
    raise Unsendable(f"{what} cannot be checked; return numbers, texts, arrays, or lists, tuples and dicts of them")


def _slices(frame: bytes, start: int, lengths: list[int]) -> Iterator[bytes]:
    for length in lengths:
        yield frame[start : start + length]
        start += length
