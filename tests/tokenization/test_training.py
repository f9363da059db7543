"""The fast trainer against the reference, merge by merge, and against rustbpe at full size."""

from collections import Counter

import pytest
import rustbpe
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.speculation.words import real_text
from course_lib.tokenization import GPT2, GPT4, O200K, Tokenizer, count_pieces, learn_merges
from course_lib.tokenization.reference import learn, token_bytes, train
from tests.tokenization.corpus import mixed_text

# Few different bytes, so that ties, runs and pairs that overlap are the rule.
words = st.lists(st.binary(max_size=12).map(lambda b: bytes(x % 3 + 97 for x in b)), max_size=12)


def by_rustbpe(text: str, n_merges: int, pattern: str) -> list[bytes]:
    peer = rustbpe.Tokenizer()
    peer.train_from_iterator([text], 256 + n_merges, pattern=pattern)
    return [bytes(token) for token, _ in sorted(peer.get_mergeable_ranks(), key=lambda entry: entry[1])]


@given(words=words, n_merges=st.integers(0, 40))
@example(words=[b"aaaaaaa", b"aaa", b"aa"], n_merges=9)
@example(words=[b"abababa", b"bab", b"baba"], n_merges=9)
@example(words=[b"aabaabaab" * 3], n_merges=20)
@example(words=[b"", b"a", b""], n_merges=5)
@example(words=[], n_merges=5)
def test_every_merge_is_the_references(words, n_merges):
    assert learn_merges(Counter(words), n_merges) == learn(words, n_merges)


@given(data=st.binary(max_size=400), n_merges=st.integers(0, 60))
def test_raw_bytes_are_one_word(data, n_merges):
    assert learn_merges({data: 1}, n_merges) == learn([data], n_merges)


@pytest.mark.parametrize("split", [GPT2, GPT4, O200K], ids=["gpt2", "gpt4", "o200k"])
def test_texts_give_the_references_merges_in_every_cut(split):
    texts = mixed_text(1000, seed=3), mixed_text(900, seed=4)
    for text in texts:
        assert learn_merges(count_pieces(text, split), 40) == train(text, 40, split)
    joined = learn([piece.encode() for text in texts for piece in split(text)], 40)
    assert learn_merges(count_pieces(texts, split), 40) == joined


def test_a_thousand_merges_are_those_of_rustbpe():
    text = mixed_text(200_000)
    assert token_bytes(learn_merges(count_pieces(text), 1000)) == by_rustbpe(text, 1000, GPT4.pattern)


@pytest.mark.slow
def test_4096_merges_of_five_megabytes_are_those_of_rustbpe():
    text = real_text("code", 5_000_000)
    assert token_bytes(Tokenizer.train(text, 4096).merges) == by_rustbpe(text, 4096, GPT4.pattern)


def test_a_count_weighs_as_much_as_that_many_copies():
    counted = {b"hugs": 5, b"pug": 12, b"pun": 17, b"bun": 4, b"hug": 10}
    assert learn_merges(counted, 9) == learn(Counter(counted).elements(), 9)


def test_more_merges_than_pairs_end_with_the_last_pair_minbpe():
    assert learn_merges({b"ab": 1}, 100) == [(97, 98)]
    assert learn_merges({b"a": 7}, 100) == []


def test_ties_do_not_depend_on_the_order_of_the_words_minbpe_pr_90():
    words = [b"ab", b"xy", b"cd", b"aax"]
    assert learn_merges(dict.fromkeys(words, 3), 9) == learn_merges(dict.fromkeys(reversed(words), 3), 9)


@pytest.mark.parametrize(
    ("words", "n_merges", "message"),
    [({b"ab": 1}, -1, "n_merges is -1"), ({b"ab": 0}, 1, "words has a count below 1")],
)
def test_errors_say_what_was_wrong(words, n_merges, message):
    with pytest.raises(ValueError, match=message):
        learn_merges(words, n_merges)
