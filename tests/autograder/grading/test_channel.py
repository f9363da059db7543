"""The wire between judge and student: what is no frame, too large, too late or from nobody is told apart."""

import json
import socket
import struct
import time

import numpy as np
import pytest

from autograder.grading.channel import Channel, Gone, Late
from course_lib.checks.values import MAX_HEADER, Malformed, Unsendable


@pytest.fixture
def pair():
    mine, theirs = socket.socketpair()
    yield Channel(mine), theirs
    mine.close()
    theirs.close()


def frame(header: object, *buffers: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + b"".join(buffers)


def test_a_message_comes_through_as_it_was(pair):
    judge, raw = pair
    other = Channel(raw)
    judge.send({"op": "ask", "x": np.arange(6.0).reshape(2, 3), "n": 2**70})
    message = other.receive()
    assert message["op"] == "ask"
    assert message["n"] == 2**70
    assert np.array_equal(message["x"], np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack("<I", MAX_HEADER + 1),
        struct.pack("<I", 4) + b"\xff\xff\xff\xff",
        frame([{}, [2**40]]),
        frame([{}, [-1]]),
        frame([{}, ["a"]]),
        frame({}),
        frame([{"$": "dict", "v": [["op", 3]]}, []]),
        frame([3, []]),
        frame([{"$": "array", "d": "O", "s": [1]}, [1]], b"x"),
        frame([{"$": "dict", "v": []}, [0] * 20_000]),
    ],
)
def test_what_no_honest_sender_writes_is_malformed(pair, sent):
    judge, raw = pair
    raw.sendall(sent)
    with pytest.raises(Malformed):
        judge.receive(time.monotonic() + 2)


def test_silence_is_late_and_an_end_is_gone(pair):
    judge, raw = pair
    with pytest.raises(Late):
        judge.receive(time.monotonic() + 0.05)
    raw.sendall(struct.pack("<I", 100) + b"half")
    with pytest.raises(Late):
        judge.receive(time.monotonic() + 0.05)
    raw.close()
    with pytest.raises(Gone):
        judge.receive(time.monotonic() + 2)


def test_what_is_no_plain_data_is_not_sent(pair):
    judge, _ = pair
    with pytest.raises(Unsendable):
        judge.send({"op": "x", "value": object()})
