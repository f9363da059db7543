"""Plain data arrives as it was sent."""

import json
import struct
from collections import Counter, OrderedDict, defaultdict
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from course_lib.checks.cases import RECORDS, Close, Register, case, rounding
from course_lib.checks.values import DTYPES, Tensor, dumps, from_json, loads, to_json, to_torch

dtypes = st.builds(lambda order, name: np.dtype(order + name), st.sampled_from("<>"), st.sampled_from(sorted(DTYPES)))
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
hashable = st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.text(max_size=5) | st.binary(max_size=5)
leaves = hashable | st.floats() | st.complex_numbers() | arrays
plain = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(hashable | st.tuples(hashable, hashable), inner, max_size=3)
        | st.sets(hashable, max_size=3)
    ),
    max_leaves=8,
)


def alike(got, sent):
    """The same types, the same bits in every array; NaN is NaN."""
    if isinstance(sent, np.ndarray):
        little = sent.dtype.newbyteorder("<")
        return type(got) is np.ndarray and got.dtype == little and got.shape == sent.shape and (
            got.tobytes() == sent.astype(little).tobytes()
        )  # fmt: skip
    if type(got) is not type(sent):
        return False
    if isinstance(sent, list | tuple):
        return len(got) == len(sent) and all(map(alike, got, sent))
    if isinstance(sent, dict):
        return list(got) == list(sent) and all(alike(got[key], sent[key]) for key in sent)
    if isinstance(sent, complex):
        return alike([got.real, got.imag], [sent.real, sent.imag])
    if isinstance(sent, float):
        return (got != got and sent != sent) or struct.pack("d", got) == struct.pack("d", sent)
    return got == sent


@given(message=plain)
@settings(max_examples=150)
@example(message=[-0.0, float("inf"), float("-inf"), float("nan"), 5e-324, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1])
@example(message={"$": "array", "v": [], "d": "f4"})  # looks like the protocol's own
@example(message=[np.array(7), np.zeros((0, 3), "f2"), np.zeros(0, ">i8"), b"", "", (), {}, set()])
def test_plain_data_arrives_as_it_was_sent(message):
    assert alike(loads(dumps(message)), message)


@given(message=plain)
def test_the_same_data_as_text_survives_a_file(message):
    assert alike(from_json(json.loads(json.dumps(to_json(message)))), message)


@pytest.mark.parametrize(
    "view",
    [np.s_[::2], np.s_[::-1], np.s_[:, 1:4], np.s_[..., None], np.s_[1]],
    ids=["step", "flip", "cut", "new", "row"],
)
def test_a_view_arrives_as_the_array_it_shows(view):
    shown = np.arange(35.0).reshape(5, 7)[view]
    assert alike(loads(dumps(shown)), shown)
    assert alike(loads(dumps(shown.T)), shown.T)


def test_the_payload_of_a_nan_survives():
    sent = np.array([0x7FF8DEADBEEF0001, 0xFFF0000000000001], "u8").view("f8")
    assert loads(dumps(sent)).view("u8").tolist() == sent.view("u8").tolist()


def test_what_arrives_may_be_written_into_and_belongs_to_the_receiver():
    sent = np.zeros(3)
    got = loads(dumps([sent, sent]))
    got[0][:] = 1
    assert sent.tolist() == got[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "sent",
    [
        *(
            np.dtype(name).type(1)
            for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
        ),
        np.float32(0.1),
        np.uint64(2**64 - 1),
        np.longdouble(1),
    ],
    ids=lambda sent: f"{type(sent).__name__} {sent}",
)
def test_a_numpy_scalar_arrives_as_the_python_number_it_stands_for(sent):
    got = loads(dumps(sent))
    assert type(got) in (int, float, complex)
    assert got == sent


@pytest.mark.parametrize("sent", [True, False])
def test_a_numpy_bool_arrives_as_the_very_true_or_false(sent):
    assert loads(dumps(np.bool_(sent))) is sent
    assert loads(dumps({"found": np.array([1, 2]).sum() == (3 if sent else 4)}))["found"] is sent


class Part(NamedTuple):
    m: float
    rest: tuple


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        (Part(1.5, Part(2.0, ())), (1.5, (2.0, ()))),
        (torch.zeros(3, 5).shape, (3, 5)),
        (Counter("abca"), {"a": 2, "b": 1, "c": 1}),
        (OrderedDict([("z", 1), ("a", 2)]), {"z": 1, "a": 2}),
        (defaultdict(list, {1: [2]}), {1: [2]}),
        (frozenset([1, 2]), {1, 2}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_container_of_a_known_kind_arrives_as_the_plain_one(sent, got):
    arrived = loads(dumps(sent))
    assert type(arrived) is type(got)
    assert arrived == got


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "bfloat16", "bool", "uint8", "int8", "int16", "int32", "int64", "complex64"],
)
@pytest.mark.parametrize("shape", [(), (0,), (3, 5)], ids=str)
def test_a_tensor_arrives_as_its_numbers_and_comes_back_as_a_tensor(dtype, shape):
    sent = (torch.arange(15.0)[: int(np.prod(shape))].reshape(shape) / 7 - 1).to(getattr(torch, dtype))
    seen = loads(dumps(sent))
    assert (type(seen), seen.dtype, seen.array.shape) == (Tensor, dtype, shape)
    back = loads(dumps(seen), tensor=to_torch)
    assert back.dtype is sent.dtype
    assert torch.equal(back, sent)


@pytest.mark.parametrize(
    ("sent", "numbers"),
    [
        (torch.ones(2, 3, requires_grad=True) * 2, [[2, 2, 2], [2, 2, 2]]),
        (torch.nn.Parameter(torch.tensor([1.0])), [1]),
        (torch.arange(6).reshape(2, 3).T, [[0, 3], [1, 4], [2, 5]]),
        (torch.arange(3).expand(2, 3), [[0, 1, 2], [0, 1, 2]]),
        (torch.tensor([1 + 2j]).conj(), [1 - 2j]),
        (torch.tensor([1 + 2j]).conj().imag, [-2]),
    ],
    ids=["with a gradient", "parameter", "transposed", "expanded", "conjugated", "imaginary part"],
)
def test_a_tensor_arrives_whatever_way_it_is_stored(sent, numbers):
    assert loads(dumps(sent)).array.tolist() == numbers


def test_a_case_arrives_as_the_case_it_was():
    sent = case("two", (Register("k"), [1.5]), {"n": 3}, expect=Close((1.0, 2.0), rounding(5), "float32"), hint="look")
    assert loads(dumps(sent, RECORDS), RECORDS) == sent
