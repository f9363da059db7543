"""The reference: by hand on five words, the rules of ties and overlaps, and against rustbpe, which has the same tie rule."""

from itertools import permutations

import pytest
import rustbpe
from hypothesis import given
from hypothesis import strategies as st

from course_lib.tokenization import GPT2, GPT4, WHOLE
from course_lib.tokenization.reference import count_pairs, decode, encode, learn, merge, token_bytes, train
from tests.tokenization.corpus import mixed_text

FIVE_WORDS = [b"low"] * 5 + [b"lower"] * 2 + [b"newest"] * 6 + [b"widest"] * 3
# Every character but halves of surrogate pairs, and texts in which repetitions are frequent.
texts = st.one_of(st.text(max_size=80), st.text(st.sampled_from("ab é中🙂'\n"), max_size=80))


def test_the_five_words_of_the_paper_by_hand():
    """Sennrich et al. (2016), §3.2, in bytes, with our tie rule: es 9 and st 9, and e < s."""
    merges = learn(FIVE_WORDS, 6)
    assert [token.decode() for token in token_bytes(merges)[256:]] == ["es", "est", "lo", "low", "ew", "new"]
    assert merges[:2] == [(ord("e"), ord("s")), (256, ord("t"))]


def test_encoding_goes_by_rank_and_not_by_the_longest_match():
    bc_before_ab = [(ord("b"), ord("c")), (ord("a"), ord("b"))]
    assert encode("abc", bc_before_ab) == [ord("a"), 256]
    assert encode("ab", bc_before_ab) == [257]
    abc_as_well = [(ord("a"), ord("b")), (ord("b"), ord("c")), (256, ord("c"))]
    assert encode("abcbc", abc_as_well) == [258, 257]


def test_a_run_has_each_of_its_pairs_and_is_merged_from_the_left():
    assert count_pairs([[97, 97, 97]]) == {(97, 97): 2}
    assert merge([97] * 5, (97, 97), 256) == [256, 256, 97]
    assert learn([b"aaa", b"bcbc"], 1) == [(97, 97)]  # two each: the smaller ids


def test_ties_do_not_depend_on_the_order_of_the_texts_minbpe_pr_90():
    for words in permutations([b"ab", b"xy", b"cd"]):
        assert learn(words, 3) == [(ord("a"), ord("b")), (ord("c"), ord("d")), (ord("x"), ord("y"))]


def test_more_merges_than_pairs_end_with_the_last_pair_minbpe():
    assert learn([b"ab"], 10) == [(97, 98)]
    assert learn([b"a", b"", b"b"], 10) == []
    assert train("", 10) == []


def test_bytes_of_0x80_and_above_stay_bytes_nanochat_693():
    """Each of them goes through training, the token table and decoding as it is, none as a character of that number."""
    merges = learn([bytes([byte, 0xFF]) * 2 for byte in range(0x80, 0x100)], 128)
    assert set(token_bytes(merges)[256:]) >= {bytes([byte, 0xFF]) for byte in range(0x80, 0xFF)}
    text = "é€中🙂\x80ÿ"
    trained = train(text * 3, 20)
    assert decode(encode(text, trained), trained) == text
    assert b"".join(token_bytes(trained)[token] for token in encode(text, trained)) == text.encode()


@given(text=texts, trained_on=texts, split=st.sampled_from([GPT2, GPT4, WHOLE]))
def test_what_was_encoded_comes_back_whatever_was_learned(text, trained_on, split):
    merges = train(trained_on, 30, split)
    ids = encode(text, merges, split)
    assert decode(ids, merges) == text
    assert len(ids) <= len(text.encode())


def test_merges_are_those_of_rustbpe():
    text = mixed_text(3000)
    peer = rustbpe.Tokenizer()
    peer.train_from_iterator([text], 256 + 60, pattern=GPT4.pattern)
    assert token_bytes(train(text, 60)) == [
        bytes(token) for token, _ in sorted(peer.get_mergeable_ranks(), key=lambda x: x[1])
    ]


def test_half_a_character_of_utf8_shows_as_the_replacement_character():
    assert decode([*"é".encode()[:1], ord("a")], []) == "\ufffda"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: learn([b"ab"], -1), "n_merges is -1, needs to be at least 0"),
        (lambda: decode([256], []), r"ids has a token 256, needs all of them in \[0, 256\)"),
        (lambda: decode([-1], []), "ids has a token -1"),
        (lambda: token_bytes([(97, 256)]), r"merges has \(97, 256\) for token 256"),
        (lambda: train("a\ud800", 1), r"text has a lone surrogate, U\+D800"),
        (lambda: encode("\udc00", []), r"text has a lone surrogate, U\+DC00"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
