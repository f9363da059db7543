"""Splitting: against other people's regular expressions, twice by our own two engines, and what settles never changes."""

import unicodedata

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from course_lib.tokenization import GPT2, GPT4, O200K, WHOLE, Splitter, Tokenizer, count_pieces, splitting
from tests.tokenization.corpus import EMOJI, ODD, mixed_text

SPLITTERS = {"gpt2": GPT2, "gpt4": GPT4, "o200k": O200K}
# As they were published: GPT-2's encoder.py, and cl100k in tiktoken before its patterns were made possessive.
PUBLISHED = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt4": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
every = pytest.mark.parametrize("split", SPLITTERS.values(), ids=SPLITTERS)
# What the patterns tell apart: capitals, small letters, letters that are neither, marks, digits, signs, blanks, line ends.
telling = st.text(st.sampled_from("aBreLsſ'中ǅʰ\u0301\u0e311½٣?/_🙂𝔘 \t\n\r\u00a0\x1c"), max_size=14)
texts = st.one_of(telling, st.text(max_size=40), st.lists(st.sampled_from([*EMOJI, *ODD]), max_size=12).map("".join))


@every
@given(text=texts)
def test_pieces_put_together_are_the_text(split, text):
    pieces = split(text)
    assert "".join(pieces) == text
    assert all(pieces)


@pytest.mark.parametrize("name", PUBLISHED)
@given(text=texts)
def test_pieces_are_those_of_the_published_patterns(name, text):
    """Blanks at the very end of a text that has a line end in them are the one difference: cl100k now takes them as one."""
    text += "x"
    assert SPLITTERS[name](text) == regex.findall(PUBLISHED[name], text)


@pytest.mark.parametrize("name", SPLITTERS)
def test_pieces_are_those_of_tokenizers(name):
    """Its engine reads {1,3}+ in another way, as groups of threes without end, and so needs the older pattern."""
    text = mixed_text(50_000) + "x"
    peer = Split(Regex(PUBLISHED.get(name, O200K.pattern)), "isolated").pre_tokenize_str(text)
    assert SPLITTERS[name](text) == [piece for piece, _ in peer]


@pytest.mark.parametrize(
    ("split", "text", "cut"),
    [
        (GPT4, "Hello, it's 12345!\n\n  x", ["Hello", ",", " it", "'s", " ", "123", "45", "!\n\n", " ", " x"]),
        (GPT2, "Hello, it's 12345!\n\n  x", ["Hello", ",", " it", "'s", " 12345", "!", "\n\n ", " x"]),
        (GPT4, "I'LL", ["I", "'LL"]),
        (GPT2, "I'LL", ["I", "'", "LL"]),
        (O200K, "I'LL parseHTMLFile", ["I'LL", " parse", "HTMLFile"]),
    ],
)
def test_words_take_their_blank_and_numbers_fall_into_threes(split, text, cut):
    assert split(text) == cut


@every
@given(text=texts)
def test_both_engines_cut_alike(split, text):
    text = "".join(character for character in text if ord(character) < splitting.BASIC)
    assert split(text) == regex.findall(split.pattern, text)


@every
def test_both_engines_know_every_character(split):
    assigned = [chr(i) for i in range(splitting.BASIC) if unicodedata.category(chr(i)) not in ("Cn", "Cs")]
    for between in (" ", "a", "1", "?", "\n"):
        text = between.join(assigned)
        assert split(text) == regex.findall(split.pattern, text)


@every
@settings(max_examples=300)
@given(start=texts, rest=texts)
@example(start="it'", rest="re")
@example(start="中ABC ", rest="")
@example(start="中ABCDE", rest="d")
@example(start="a  ", rest=" b")
@example(start="a\n  ", rest="\n")
@example(start="1234", rest="5")
@example(start="??", rest="\n")
def test_nothing_that_follows_changes_what_is_settled(split, start, rest):
    settled, length = split.settled(start)
    assert "".join(settled) == start[:length]
    assert split(start + rest)[: len(settled)] == settled
    # Nor does a text that goes on otherwise, when only a part of it is certain.
    settled, length = split.settled(start + rest, len(start))
    assert length <= len(start)
    assert split(start)[: len(settled)] == settled


@every
@given(text=texts)
def test_only_the_end_is_held_back(split, text):
    """What is not settled: one piece, and before it only what touches the last characters, or a run of blanks or letters."""
    _, length = split.settled(text)
    run = regex.search(r"(?:\s*|[\p{L}\p{M}]*)\Z", text).start()
    ends = [0]
    for piece in split(text):
        ends.append(ends[-1] + len(piece))
    assert length == max(end for end in ends if end <= max(0, min(run, len(text) - splitting.REACH)))


@every
@pytest.mark.parametrize("block", [1, 7, 100])
def test_long_texts_are_cut_in_blocks_as_they_are_in_one(split, block, monkeypatch):
    monkeypatch.setattr(splitting, "BLOCK", block)
    text = mixed_text(3000)
    blocks = list(split.pieces(text))
    assert [piece for pieces in blocks for piece in pieces] == split(text)
    assert len(blocks) > len(text) / block / 20


@every
def test_training_and_encoding_cut_alike_llms_from_scratch_pr_975(split, monkeypatch):
    """What training counts are the pieces that encoding looks up, also in texts of several blocks."""
    monkeypatch.setattr(splitting, "BLOCK", 500)
    text = mixed_text(5000)
    counted = count_pieces(text, split)
    tokenizer = Tokenizer.train(text, 100, split)
    asked = []
    monkeypatch.setattr(tokenizer, "encode_pieces", lambda pieces: asked.extend(pieces) or [])
    tokenizer.encode(text)
    assert {piece: asked.count(piece) for piece in set(asked)} == {key.decode(): n for key, n in counted.items()}


def test_a_pattern_of_ones_own_is_taken_if_it_covers_the_text():
    assert Splitter(r"\w+|\W")("a bc") == ["a", " ", "bc"]
    assert WHOLE("a b\nc") == ["a b\nc"]
    assert list(WHOLE.pieces(["ab", "", "c"])) == [["ab"], [], ["c"]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Splitter(r"("), "cannot be read"),
        (lambda: Splitter(r"(a)|."), "groups of the form"),
        (lambda: Splitter(r"\w+")("a b"), "leaves a part of the text out"),
        (lambda: WHOLE.settled("ab"), "needs to be one of the known"),
        (lambda: count_pieces("a \ud800b"), r"lone surrogate, U\+D800"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
