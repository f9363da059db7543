"""Words and characters as tokens: what each loses, and what each costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.speculation.words import sample_text
from course_lib.tokenization import Tokenizer
from course_lib.tokenization.simple import (
    UNKNOWN,
    ListTokenizer,
    embedding_parameters,
    measure,
    train_characters,
    train_words,
    words,
)

PROSE = sample_text("prose")
SEEN, HELD_OUT = PROSE[:48_000], PROSE[48_000:]


@given(text=st.text(max_size=80))
def test_words_put_together_are_the_text(text):
    assert "".join(words(text)) == text


def test_the_most_frequent_words_are_kept_and_ties_go_by_their_spelling():
    tokenizer = train_words("b a b c a b", 4)
    assert tokenizer.entries == (" a", " b", " c")  # two, two, and of the two that come once the smaller one
    assert tokenizer.encode("b c, b a") == [UNKNOWN, 3, UNKNOWN, 2, 1]
    assert tokenizer.decode([UNKNOWN, 3, UNKNOWN, 2, 1]) == "\ufffd c\ufffd b a"


@given(text=st.text(max_size=60))
def test_what_is_known_comes_back(text):
    for train in (train_characters, lambda text: train_words(text, 1000)):
        tokenizer = train(text)
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert UNKNOWN not in tokenizer.encode(text)


def test_more_words_are_unknown_less_often_and_cost_more():
    sizes = 100, 400, 1600
    found = [measure(train_words(SEEN, size).encode, size, HELD_OUT) for size in sizes]
    assert found[0].unknown_rate > found[1].unknown_rate > found[2].unknown_rate > 0.02
    assert [row.parameters for row in found] == [768 * size for size in sizes]
    assert [row.megabytes for row in found] == [768 * size * 2 / 1e6 for size in sizes]


def test_characters_lose_almost_nothing_and_make_the_text_several_times_longer():
    characters = train_characters(SEEN)
    by_character = measure(characters.encode, characters.size, HELD_OUT)
    by_word = measure(train_words(SEEN, 2000).encode, 2000, HELD_OUT)
    subwords = Tokenizer.train(SEEN, 1744)
    by_subword = measure(subwords.encode, subwords.size, HELD_OUT, unknown=None)
    assert by_character.unknown_rate < 0.001 < by_word.unknown_rate
    assert by_subword.unknown_rate == 0
    assert by_character.characters_per_token == 1
    assert by_word.tokens < by_subword.tokens < by_character.tokens / 3
    assert by_subword.size == by_word.size


def test_a_matrix_of_its_own_for_the_output_is_paid_twice():
    assert embedding_parameters(50_257, 768) == 38_597_376  # GPT-2's, which shares it
    assert embedding_parameters(32_000, 4096, tied=False) == 2 * 131_072_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train_words("a", 0), "size is 0"),
        (lambda: ListTokenizer(("a", "a"), list), "needs each once"),
        (lambda: train_characters("ab").decode([3]), r"ids has a token 3, needs all of them in \[0, 3\)"),
        (lambda: train_characters("ab").decode([-1]), "ids has a token -1"),
        (lambda: measure(list, 1, ""), "text is empty"),
        (lambda: embedding_parameters(0, 1), "size is 0"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
