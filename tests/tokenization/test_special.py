"""Special tokens: refused unless allowed, the longest first, and the text beside them as if it were alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.tokenization import SpecialTokens, Tokenizer

END = "<|endoftext|>"
TOKENS = {"<|a|>": 300, "<|a|>b": 301, "<|ab|>": 302, "[": 303}
SPECIAL = SpecialTokens(TOKENS)


def test_the_longest_of_those_that_begin_alike_is_meant_minbpe():
    for order in (TOKENS, dict(reversed(TOKENS.items()))):
        special = SpecialTokens(order)
        assert list(special.cut("x<|a|>b<|a|>c[<|ab|>", "all")) == ["x", 301, 300, "c", 303, 302]


def test_a_special_token_is_refused_unless_it_is_allowed():
    for allowed in ("none_raise", set(), {"["}):
        with pytest.raises(ValueError, match=r"text has the special token '<\|a\|>' at 2, needs it to be allowed"):
            list(SPECIAL.cut("x <|a|>", allowed))
    assert list(SPECIAL.cut("x <|a|>", {"<|a|>"})) == ["x ", 300]
    with pytest.raises(ValueError, match=r"special token '<\|a\|>b' at 0"):
        list(SPECIAL.cut("<|a|>b", {"<|a|>"}))  # the longer one is meant, and it is not allowed
    assert list(SPECIAL.cut("x <|a|>", "none")) == ["x <|a|>"]


def test_what_only_looks_like_one_is_ordinary_text():
    assert list(SPECIAL.cut("<|a|", "none_raise")) == ["<|a|"]
    assert list(SpecialTokens({}).cut("<|a|>", "all")) == ["<|a|>"]
    assert list(SPECIAL.cut("", "all")) == []


@given(parts=st.lists(st.sampled_from([*TOKENS, "b", "<", "|>", " x"]), max_size=12))
def test_nothing_is_lost_between_them(parts):
    text = "".join(parts)
    names = {i: token for token, i in TOKENS.items()}
    assert "".join(part if isinstance(part, str) else names[part] for part in SPECIAL.cut(text, "all")) == text


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
@pytest.mark.parametrize("text", [f"{END}", f"a {END} b\n", f"  {END}  {END}{END}x", "it's<|fim_prefix|> 'll"])
def test_ids_are_tiktokens_with_each_way_of_allowing(ours, theirs, name, text):
    mine, peer = ours(name), theirs(name)
    assert mine.encode(text, "all") == peer.encode(text, allowed_special="all")
    assert mine.encode(text, "none") == peer.encode(text, disallowed_special=())
    assert mine.decode(mine.encode(text, "all")) == text
    if END in text:
        assert mine.encode(text, {END}) == peer.encode(text, allowed_special={END})
        for encode in (mine.encode, peer.encode):
            with pytest.raises(ValueError, match=r"<\|endoftext\|>"):
                encode(text)


def test_training_gives_special_tokens_the_ids_after_the_last_merge():
    tokenizer = Tokenizer.train("ab" * 9, 3, special=["<|x|>", "<|y|>"])
    last = 255 + len(tokenizer.merges)
    assert tokenizer.encode("ab<|y|><|x|>", "all")[1:] == [last + 2, last + 1]
    assert tokenizer.size == last + 3


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("allowed", ["some", {"<|unknown|>"}, "<|a|>"])
def test_what_may_be_allowed_is_said(allowed):
    with pytest.raises(ValueError, match=r"allowed is .*, needs a set of"):
        list(SPECIAL.cut("x", allowed))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SpecialTokens({"": 300}), "special has an empty token"),
        (lambda: SpecialTokens({"a": 300, "b": 300}), "needs an id of its own"),
        (lambda: SpecialTokens({"a": -1}), "none negative"),
        (
            lambda: Tokenizer.from_merges([], special={"<|x|>": 97}),
            r"special has '<\|x\|>' at 97, which is the id of b'a'",
        ),
        (lambda: Tokenizer.train("ab", 1, special=["x", "x"]), "needs each token once"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
