"""The fast tokenizer: the reference's ids, tiktoken's with real vocabularies, tokenizers' with our merges."""

import random

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.tokenization import GPT2, GPT4, O200K, WHOLE, Tokenizer, reference
from course_lib.tokenization.fast import MEMORABLE
from tests.tokenization.corpus import mixed_text

TRAINED = Tokenizer.train(mixed_text(20_000, seed=1), 400)
texts = st.one_of(st.text(max_size=60), st.text(st.sampled_from("ab é中🙂'\n1"), max_size=120))


@given(text=texts, trained_on=texts, split=st.sampled_from([GPT2, GPT4, O200K, WHOLE]))
@example(text="aaaaaaa", trained_on="aaaa aaaaa aaa", split=WHOLE)
def test_ids_are_the_references(text, trained_on, split):
    merges = reference.train(trained_on, 40, split)
    tokenizer = Tokenizer.from_merges(merges, split)
    assert tokenizer.encode(text) == reference.encode(text, merges, split)
    assert tokenizer.merges == merges


def test_ids_are_the_references_on_real_text():
    text = mixed_text(6000, seed=2)
    assert TRAINED.encode(text) == reference.encode(text, TRAINED.merges)


@given(text=texts)
def test_what_was_encoded_comes_back(text):
    assert TRAINED.decode(TRAINED.encode(text)) == text
    assert all(0 <= token < TRAINED.size for token in TRAINED.encode(text))


@given(piece=st.binary(max_size=300))
def test_bytes_need_not_be_text(piece):
    assert TRAINED.decode_bytes(TRAINED.encode_bytes(piece)) == piece


def test_encoding_goes_by_rank_and_not_by_the_longest_match():
    bc_before_ab = Tokenizer.from_merges([(ord("b"), ord("c")), (ord("a"), ord("b")), (257, ord("d"))])
    assert bc_before_ab.encode("abc") == [ord("a"), 256]
    assert bc_before_ab.encode("abcabd") == [ord("a"), 256, 258]


def test_ids_are_those_of_tokenizers_with_the_same_merges():
    """It writes bytes as characters of its own; the order of the bytes in its alphabet is that of the pattern below."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    shown = {byte: chr(byte) for byte in visible} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}
    written = ["".join(shown[byte] for byte in TRAINED.token(i)) for i in range(TRAINED.size)]
    peer = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            vocab={token: i for i, token in enumerate(written)},
            merges=[(written[a], written[b]) for a, b in TRAINED.merges],
        )
    )
    cut = tokenizers.pre_tokenizers.Split(tokenizers.Regex(GPT4.pattern.replace("{1,3}+", "{1,3}")), "isolated")
    as_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([cut, as_bytes])
    text = mixed_text(50_000, seed=5)
    assert TRAINED.encode(text) == peer.encode(text).ids


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_every_line_of_a_mixed_text_has_tiktokens_ids(ours, theirs, name):
    lines_and_whole(ours(name), theirs(name), mixed_text(200_000))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_every_line_of_five_megabytes_has_tiktokens_ids(ours, theirs, name):
    lines_and_whole(ours(name), theirs(name), mixed_text(5_000_000, seed=7))


def lines_and_whole(mine, peer, text: str) -> None:
    for line in [text, *text.splitlines(keepends=True)]:
        ids = mine.encode(line)
        assert ids == peer.encode(line)
        assert mine.decode(ids) == line


@pytest.mark.parametrize("kind", ["one letter", "letters", "bytes"])
def test_a_long_piece_is_merged_without_quadratic_cost_tiktoken_195_harmony_151(ours, theirs, kind):
    """100,000 bytes in one piece: with a scan for each merge this test would take an hour."""
    rng = random.Random(0)
    n = 100_000
    if kind == "bytes":
        piece = rng.randbytes(n)
        ids = ours("cl100k").encode_bytes(piece)
        assert ours("cl100k").decode_bytes(ids) == piece
        assert ids[:40] == ours("cl100k").encode_bytes(piece[:500])[:40]
    else:
        text = "a" * n if kind == "one letter" else "".join(rng.choices("etaoinshrdlu", k=n))
        ids = ours("cl100k").encode(text)
        assert ours("cl100k").decode(ids) == text
        assert ids == theirs("cl100k").encode(text)


def test_what_is_remembered_stays_bounded(monkeypatch):
    monkeypatch.setattr("course_lib.tokenization.fast.REMEMBERED", 50)
    tokenizer = Tokenizer.from_merges(TRAINED.merges)
    for text in (mixed_text(3000), "x" * (MEMORABLE + 1)):
        assert tokenizer.encode(text) == TRAINED.encode(text)
        assert len(tokenizer._seen) <= 50
    assert max(map(len, tokenizer._seen)) <= MEMORABLE


@pytest.mark.parametrize("text", ["\ud800", "a\udfff b", "\ud83d\ude00"])
def test_half_a_character_is_refused(text):
    with pytest.raises(ValueError, match=r"text has a lone surrogate, U\+D[89AB]|text has a lone surrogate, U\+DFFF"):
        TRAINED.encode(text)


def test_more_merges_than_pairs_end_with_the_last_pair_minbpe():
    assert Tokenizer.train("ab", 50).size == 257


def test_tokens_of_0x80_and_above_stay_bytes_nanochat_693():
    for byte in range(256):
        assert TRAINED.token(byte) == bytes([byte])
    assert b"".join(map(TRAINED.token, TRAINED.encode("é€中🙂\x80ÿ"))) == "é€中🙂\x80ÿ".encode()


def test_half_a_character_of_utf8_shows_as_the_replacement_character():
    assert TRAINED.decode([0xC3]) == "\ufffd"
    assert TRAINED.decode([0xC3, 0xA9]) == "é"


ALL_BYTES = {bytes([byte]): byte for byte in range(256)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Tokenizer({b"a": 0}), "ranks lacks the byte 0x00"),
        (lambda: Tokenizer(ALL_BYTES | {b"ab": 7}), "ranks has an id twice"),
        (lambda: Tokenizer(ALL_BYTES | {b"ab": -7}), "or a negative one"),
        (lambda: Tokenizer(ALL_BYTES | {b"abc": 256}).merges, "ranks has b'abc' at 256, which no two tokens"),
        (lambda: Tokenizer.from_merges([(97, 98), (97, 98)]), "merges has b'ab' at 256 and again at 257"),
        (lambda: Tokenizer.from_merges([(97, 300)]), r"merges has \(97, 300\) for token 256"),
        (lambda: TRAINED.decode([TRAINED.size]), f"ids has {TRAINED.size}, which is no token"),
        (lambda: TRAINED.token(-1), "ids has -1, which is no token"),
        (lambda: Tokenizer.train("ab", -1), "n_merges is -1"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
