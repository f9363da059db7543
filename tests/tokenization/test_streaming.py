"""Streams: the whole text's ids whatever the chunks, in memory that does not grow; and characters as soon as they are whole."""

import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course_lib.tokenization import GPT2, GPT4, O200K, WHOLE, Tokenizer, decode_stream, encode_stream
from course_lib.tokenization.streaming import LIMIT
from tests.tokenization.corpus import EMOJI, ODD, mixed_text

SPECIAL = "<|end|>", "<|end|>>", "<|x|>"
SPLITTERS = {"gpt2": GPT2, "gpt4": GPT4, "o200k": O200K}
TRAINED = {name: Tokenizer.train(mixed_text(10_000), 300, split, SPECIAL) for name, split in SPLITTERS.items()}
parts = st.lists(
    st.one_of(st.text(max_size=6), st.sampled_from([*EMOJI, *ODD, *SPECIAL, "<|e", "nd|", ">", " the", "中ABC", "d"])),
    max_size=14,
)


def streamed(tokenizer, chunks, allowed="none_raise", limit=LIMIT, block=1) -> list[int]:
    """In blocks of a character: whatever has settled is encoded after each chunk, as otherwise after a block of them."""
    return [token for ids in encode_stream(tokenizer, chunks, allowed, limit, block) for token in ids]


@pytest.mark.parametrize("name", TRAINED)
@settings(max_examples=150)
@given(parts=parts, data=st.data())
@example(parts=["<|end|>", ">", " x"], data=None)
@example(parts=["it'", "re", "  ", " b"], data=None)
@example(parts=["中ABC", "D", "E", "F", "d"], data=None)
def test_any_chunks_give_the_ids_of_the_whole(name, parts, data):
    tokenizer, text = TRAINED[name], "".join(parts)
    if data is not None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
        parts = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    for chunks in (parts, text):
        for allowed in ("all", "none"):
            assert streamed(tokenizer, chunks, allowed) == tokenizer.encode(text, allowed)


def test_ids_come_before_the_stream_ends():
    chunks = iter(["one two three ", "four", " five ", "six", " seven ", "eight"])
    first = next(encode_stream(TRAINED["gpt4"], chunks, block=1))
    assert "one two three ".startswith(TRAINED["gpt4"].decode(first))
    assert next(chunks) == "four"


def test_a_special_token_is_refused_though_it_comes_in_parts():
    with pytest.raises(ValueError, match=r"special token '<\|end\|>'"):
        streamed(TRAINED["gpt4"], ["a b c <|e", "nd|", "> d"])
    with pytest.raises(ValueError, match="lone surrogate"):
        streamed(TRAINED["gpt4"], ["a b c", "\ud83d", "\ude00 d"])


@pytest.mark.parametrize("run", ["a", " ", "\u0e01", "?"])
def test_what_cannot_be_cut_is_refused_above_the_limit_and_encoded_below_it(run):
    tokenizer = TRAINED["gpt4"]
    with pytest.raises(ValueError, match="characters without a place to cut, needs at most 100, or a larger limit"):
        streamed(tokenizer, [run] * 1000, limit=100)
    assert streamed(tokenizer, [run] * 1000, limit=1000) == tokenizer.encode(run * 1000)


def test_memory_does_not_grow_with_the_stream():
    """Between a stream and one ten times as long: less than the longer text has more."""
    tokenizer = TRAINED["gpt4"]
    text = mixed_text(20_000)

    def peak(times: int) -> int:
        tokenizer.encode(text)  # all pieces are remembered already
        tracemalloc.start()
        count = sum(len(ids) for ids in encode_stream(tokenizer, (text for _ in range(times))))
        reached = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count > times * 1000
        return reached

    assert peak(80) < 1.25 * peak(8)


def test_a_stream_of_letters_is_not_cut_again_for_each_letter(monkeypatch):
    """A run that is held back is looked at again only when it has doubled."""
    looked = []
    settled = type(GPT4).settled
    monkeypatch.setattr(type(GPT4), "settled", lambda *given: looked.append(len(given[1])) or settled(*given))
    assert streamed(TRAINED["gpt4"], "a" * 5000) == TRAINED["gpt4"].encode("a" * 5000)
    assert len(looked) < 15
    assert looked == sorted(looked)


@given(text=st.text(max_size=30))
def test_characters_come_as_soon_as_they_are_whole(text):
    tokenizer = Tokenizer.from_merges([])  # every token a byte
    arrived = list(decode_stream(tokenizer, iter(tokenizer.encode(text))))
    assert arrived == list(text)


@given(ids=st.lists(st.integers(0, 299), max_size=20))
def test_a_stream_of_any_ids_decodes_as_the_whole(ids):
    assert "".join(decode_stream(TRAINED["gpt4"], ids)) == TRAINED["gpt4"].decode(ids)


def test_a_splitter_of_ones_own_is_refused():
    with pytest.raises(ValueError, match="needs GPT2, GPT4 or O200K"):
        list(encode_stream(Tokenizer.from_merges([], WHOLE), ["a"]))
