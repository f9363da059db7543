"""Whole arrays of any library: the reference's merges on one piece, runs and ties included."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.tokenization import Tokenizer, batched, learn_merges, reference
from tests.tokenization.corpus import mixed_text

data = st.one_of(st.binary(max_size=60), st.binary(max_size=60).map(lambda b: bytes(x % 2 + 97 for x in b)))


def array(xp, given: bytes):
    return xp.array(list(given), "int64")


@given(given=data, n_merges=st.integers(0, 20))
@example(given=b"aaaaaaaaaaa", n_merges=5)
@example(given=b"", n_merges=1)
@example(given=b"a", n_merges=1)
def test_merges_are_the_references(xp, given, n_merges):
    ids = array(xp, given)
    assert batched.train(ids, n_merges) == reference.learn([given], n_merges)
    assert bytes(xp.numpy(ids).tolist()) == given  # and nothing was written into it


@given(ids=st.lists(st.integers(97, 99), max_size=40), a=st.integers(97, 99), b=st.integers(97, 99))
@example(ids=[97] * 7, a=97, b=97)
@example(ids=[98, 97, 97, 97, 98, 97, 97], a=97, b=97)
def test_a_merge_goes_from_left_to_right(xp, ids, a, b):
    merged = batched.merge(xp.array(np.array(ids, dtype=np.int64), "int64"), (a, b), 256)
    assert xp.numpy(merged).tolist() == reference.merge(ids, (a, b), 256)


def test_the_most_frequent_pair_is_the_smallest_of_equals(xp):
    assert batched.most_frequent_pair(array(xp, b"xyxy ab ab"), 256) == ((32, 97), 2)
    assert batched.most_frequent_pair(array(xp, b"aaa"), 256) == ((97, 97), 2)


def test_raw_bytes_of_a_real_text_merge_as_with_the_fast_trainer(xp):
    text = mixed_text(20_000).encode()
    merges = batched.train(array(xp, text), 60)
    tokenizer = Tokenizer.from_merges(merges)
    assert xp.numpy(batched.encode(array(xp, text), merges)).tolist() == tokenizer.encode_bytes(text)
    assert merges == learn_merges({text: 1}, 60)


def test_bytes_may_come_as_bytes():
    ids = np.frombuffer(b"abababab", dtype=np.uint8)
    assert batched.train(ids, 2) == [(97, 98), (256, 256)]


@pytest.mark.gpu
def test_the_gpu_learns_what_the_cpu_learns():
    import torch

    text = np.frombuffer(mixed_text(1_000_000).encode(), dtype=np.uint8)
    assert batched.train(torch.tensor(text, device="cuda"), 200) == batched.train(text, 200)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda xp: batched.train(xp.array([1.0]), 1), "ids has dtype .*float32 or entries outside"),
        (lambda xp: batched.train(xp.array([256], "int64"), 1), "needs whole numbers that are bytes"),
        (lambda xp: batched.train(xp.array([-1], "int64"), 1), "needs whole numbers that are bytes"),
        (lambda xp: batched.train(xp.array([1], "int64"), -1), "n_merges is -1"),
        (lambda xp: batched.most_frequent_pair(xp.array([1], "int64"), 256), "ids has 1 entries, needs at least 2"),
    ],
)
def test_errors_say_what_was_wrong(xp, call, message):
    with pytest.raises(ValueError, match=message):
        call(xp)
