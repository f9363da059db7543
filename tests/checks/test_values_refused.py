"""What is not plain data is refused when it is sent, and a frame that no honest sender writes when it arrives."""

import contextlib
import functools
import json
import struct

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.checks import values
from course_lib.checks.cases import RECORDS
from course_lib.checks.perform import OUTCOME, Outcome
from course_lib.checks.values import MAX_DEPTH, MAX_HEADER, Malformed, Unsendable, dumps, loads


def nested(depth):
    return functools.reduce(lambda inner, _: [inner], range(depth), 1)


def ring():
    around: list = []
    around.append(around)
    return around


class AlwaysEqual:
    def __eq__(self, other):
        return True

    def __array__(self, *args, **kwargs):
        return np.zeros(3)

    __hash__ = object.__hash__


class Shouts:
    def __repr__(self):
        raise KeyError("no repr for you")


class ClaimsToBeTorch:
    detach = None


ClaimsToBeTorch.__module__ = "torch"


class HasNoModule:
    __module__ = 5


class Loud(list):
    def __len__(self):
        return 0


class Text(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "value",
    [
        object(),
        AlwaysEqual(),
        {AlwaysEqual()},
        {Shouts()},
        ClaimsToBeTorch(),
        HasNoModule(),
        Loud([1]),
        Text("a"),
        type("Whole", (int,), {})(3),
        type("Real", (float,), {})(0.5),
        (x for x in [1]),
        range(3),
        iter([1]),
        len,
        lambda x: x,
        int,
        np,
        memoryview(b"abc"),
        np.array([1, "a", None], dtype=object),
        np.array(["a", "b"]),
        np.array(["2026-01-01"], "M8[D]"),
        np.zeros(2, [("a", "f4")]),
        np.str_("a"),
        np.datetime64("2026-01-01"),
        torch.float32,
        torch.nn.Linear(2, 3),
        torch.eye(2).to_sparse(),
        torch.zeros(2, device="meta"),
        torch.zeros(2).to(torch.float8_e4m3fn),
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__qualname__}",
)
def test_what_is_not_plain_data_is_refused_wherever_it_hides(value):
    for hidden in (value, [value], (1, value), {"a": value}):
        with pytest.raises(Unsendable):
            dumps(hidden)


def test_a_refusal_names_the_type_and_says_what_to_return_instead():
    with pytest.raises(Unsendable, match="a value of type AlwaysEqual cannot be checked; return numbers"):
        dumps([AlwaysEqual()])
    with pytest.raises(Unsendable, match="an array of dtype object"):
        dumps(np.array([None]))


@pytest.mark.parametrize(
    "value", [nested(MAX_DEPTH + 2), nested(5000), ring()], ids=["too deep", "far too deep", "ring"]
)
def test_data_nested_too_deeply_is_refused(value):
    assert loads(dumps(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(Unsendable, match="nested deeper than 40"):
        dumps(value)


@pytest.mark.parametrize(
    "value",
    [
        np.broadcast_to(np.float32(0), (10**9, 10**9)),
        torch.zeros(1, 1).expand(10**9, 10**9),
        "a" * (MAX_HEADER + 1),
    ],
    ids=["an array of far more than there is memory", "a tensor of that size", "a text"],
)
def test_data_that_is_too_large_is_refused(value):
    with pytest.raises(Unsendable, match="too large"):
        dumps(value)


def test_the_limit_on_arrays_is_on_all_of_them_together(monkeypatch):
    monkeypatch.setattr(values, "MAX_BODY", 80)
    assert loads(dumps([np.zeros(5), np.zeros(5)]))[1].shape == (5,)
    with pytest.raises(Unsendable, match="too large"):
        dumps([np.zeros(5), np.zeros(5), np.zeros(1, "u1")])


def test_a_lying_array_is_sent_as_the_numbers_it_holds():
    class Liar(np.ndarray):
        dtype = np.dtype("O")
        shape = (99,)

        def __eq__(self, other):
            return np.True_

        def tobytes(self, *args):
            return b"lies"

    assert loads(dumps(np.arange(3.0).view(Liar))).tolist() == [0, 1, 2]


def frame(body, lengths=(), tail=b"", length=None):
    header = json.dumps([body, list(lengths)]).encode()
    return struct.pack("<I", len(header) if length is None else length) + header + tail


def array(**fields):
    return {"$": "array", "d": "f4", "s": [1], **fields}


FLOAT = struct.pack("<f", 1.5)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\x01",
        b"\0\0\0\0",
        frame(1)[:-1],
        frame(1) + b"x",
        frame(1, length=2**32 - 1),
        frame(1, length=MAX_HEADER + 1),
        frame(1, length=3),
        struct.pack("<I", 2) + b"\xff\xfe",
        struct.pack("<I", 1) + b"7",
        struct.pack("<I", 3) + b"[1]",
        struct.pack("<I", 100_000) + b"[" * 100_000,
        struct.pack("<I", 9_000) + b"[" + b"9" * 8_994 + b",[]]",
        frame(array(), [-4], FLOAT),
        frame(array(), [4, -4, 4], FLOAT),
        frame(array(), [4.0], FLOAT),
        frame(array(), [True], b"x"),
        frame(array(), [2**62], FLOAT),
        frame(array(), [8], FLOAT),
        frame(array(), [3, 1], FLOAT),
        frame(array(), []),
        frame([array(), array()], [4], FLOAT),
        frame({"$": "bytes"}),
        frame(array(s=[-1]), [4], FLOAT),
        frame(array(s=[2]), [4], FLOAT),
        frame(array(s=[2**70, 0]), [0]),
        frame(array(s=[2**40, 2**40]), [4], FLOAT),
        frame(array(s=[1.0]), [4], FLOAT),
        frame(array(s=[True]), [4], FLOAT),
        frame(array(s="1"), [4], FLOAT),
        frame(array(s=None), [4], FLOAT),
        frame(array(s=[1] * 17), [4], FLOAT),
        frame(array(d="O"), [4], FLOAT),
        frame(array(d="|O8"), [8], FLOAT * 2),
        frame(array(d=["f4"]), [4], FLOAT),
        frame(array(d=None), [4], FLOAT),
        frame({"$": "array"}, [4], FLOAT),
        frame({**array(), "$": "tensor"}, [4], FLOAT),
        frame({**array(), "$": "tensor", "t": {"a": 1}}, [4], FLOAT),
        frame({"$": "pickle", "v": "Y29z"}),
        frame({"$": ["array"]}),
        frame({"a": 1}),
        frame({"$": "int", "v": 5}),
        frame({"$": "int", "v": "1_0z"}),
        frame({"$": "complex", "v": [10**400, 0]}),
        frame(nested(300)),
        frame({"$": "tuple", "v": 5}),
        frame({"$": "dict", "v": [[1]]}),
        frame({"$": "dict", "v": [[[1], 2]]}),
        frame({"$": "set", "v": [[1]]}),
        frame({"$": "Bound", "v": [10**400]}),
        frame({"$": "Bound", "v": ["a", "b"]}),
        frame({"$": "Step", "v": [1] * 40}),
        frame({"$": "object", "v": []}),
        frame({"$": "__class__", "v": []}),
    ],
    ids=lambda bad: repr(bad[4:60])[2:-1],
)
def test_a_frame_that_no_honest_sender_writes_is_malformed(bad):
    with pytest.raises(Malformed):
        loads(bad, RECORDS)


def harmless(blob):
    with contextlib.suppress(Malformed):
        loads(blob, {**RECORDS, **OUTCOME})


@given(blob=st.binary(max_size=60) | st.binary(max_size=60).map(lambda tail: struct.pack("<I", len(tail)) + tail))
@settings(max_examples=200)
def test_random_bytes_are_malformed_and_nothing_worse(blob):
    harmless(blob)


HONEST = dumps(
    Outcome(value=[1, (np.arange(3), b"ab"), {"a": {2}, 3: 1j}, 2**90], args_after=(None, np.zeros(2))), OUTCOME
)


@given(cut=st.integers(0, len(HONEST) - 1))
@settings(max_examples=100)
def test_a_truncated_frame_is_malformed(cut):
    with pytest.raises(Malformed):
        loads(HONEST[:cut], OUTCOME)


@given(at=st.integers(0, len(HONEST) - 1), byte=st.integers(0, 255))
@settings(max_examples=300)
def test_a_frame_with_one_byte_changed_is_malformed_or_other_data(at, byte):
    harmless(HONEST[:at] + bytes([byte]) + HONEST[at + 1 :])


kinds = st.sampled_from(["array", "tensor", "tuple", "dict", "set", "int", "complex", "bytes", *RECORDS, *OUTCOME, "?"])
small = (
    st.none()
    | st.booleans()
    | st.sampled_from([-1, 0, 1, 2, 2**64, 10**400, 0.5, float("nan"), "f4", "b1", "O", "0x1f", ""])
)
bodies = st.recursive(
    small,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.builds(
            lambda kind, fields: {"$": kind, **fields},
            kinds,
            st.dictionaries(st.sampled_from("vdst"), inner, max_size=4),
        )
    ),
    max_leaves=10,
)


@given(body=bodies, lengths=st.lists(st.integers(0, 9), max_size=3))
@settings(max_examples=300)
def test_a_header_of_any_json_is_malformed_or_plain_data(body, lengths):
    harmless(frame(body, lengths, b"x" * sum(lengths)))
