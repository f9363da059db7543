"""What is paid: rates by language and kind of text, premiums, and money."""

from math import inf

import pytest

from course_lib.speculation.words import sample_text
from course_lib.tokenization import Tokenizer
from course_lib.tokenization.costs import ILLUSTRATIVE, Price, bill, languages, premiums, rates

BYTES = Tokenizer.from_merges([])
PRICE = Price(3.0, 15.0, "EUR", "2026-01-01", "made up for this test")


def test_the_languages_are_twenty_and_say_three_sentences_each():
    assert len(languages()) == 20
    assert next(iter(languages())) == "English"
    assert len(set(languages().values())) == 20
    for text in languages().values():
        assert text == text.strip()
        assert len(text) > 40
        assert not set(text) & set("\t\n\ufffd")


def test_without_merges_a_token_is_a_byte_and_other_scripts_pay_for_it():
    for rate in rates(BYTES.encode, languages()):
        assert rate.tokens == rate.utf8_bytes == len(languages()[rate.text].encode())
        assert rate.bytes_per_token == 1
        assert rate.tokens_per_character == rate.utf8_bytes / rate.characters >= 1
    assert premiums(BYTES.encode, languages())["Greek"] > 1.7


def test_a_vocabulary_is_cheap_for_what_it_was_trained_on():
    tokenizer = Tokenizer.train(sample_text("code"), 1000)
    code, prose = rates(tokenizer.encode, {"code": sample_text("code"), "prose": sample_text("prose")})
    assert code.bytes_per_token > 1.3 * prose.bytes_per_token > 1.3


def test_real_vocabularies_charge_other_scripts_more_and_the_newest_least(ours):
    old, new = (premiums(ours(name).encode, languages()) for name in ("gpt2", "o200k"))
    assert old["English"] == new["English"] == 1
    for name in ("Hindi", "Thai", "Greek", "Hebrew", "Korean"):
        assert old[name] > 3
        assert new[name] < 2.2
    assert all(new[name] < old[name] for name in languages() if name != "English")


def test_money_is_tokens_by_the_million():
    assert PRICE.of(1_000_000) == 3
    assert PRICE.of(200_000, 100_000) == pytest.approx(0.6 + 1.5)
    assert bill(BYTES.encode, ["é" * 500, "a"], ["b" * 200], PRICE) == pytest.approx((1001 * 3 + 200 * 15) / 1e6)
    assert all("no provider" in price.source for price in ILLUSTRATIVE.values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Price(-1.0, 1.0, "EUR", "", ""), "read is -1"),
        (lambda: Price(1.0, inf, "EUR", "", ""), "written is inf"),
        (lambda: PRICE.of(-1), "read is -1"),
        (lambda: rates(BYTES.encode, {"nothing": ""}), "'nothing'"),
        (lambda: premiums(BYTES.encode, {"German": "a"}), "base is 'English', needs to be one of"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
