"""Text and vocabulary: what was encoded comes back, whatever it is, and the same text gives the same tokens everywhere."""

import sysconfig
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.speculation import words
from course_lib.speculation.words import BYTES, Vocabulary, pieces, real_text, sample_text

SAMPLE = sample_text("prose")[:20_000]
TRAINED = Vocabulary.train(SAMPLE, 300)
EMPTY = Vocabulary(())
# Every character there is, halves of surrogate pairs among them, and texts in which blanks and marks are frequent.
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=60),
    st.text(st.sampled_from(" \n\t\r_a1é²—\u00a0\u2028\ud800\udc00"), max_size=60),
    st.lists(st.sampled_from(TRAINED.pieces), max_size=20).map("".join),
)


@given(text=texts)
@example(text="\ud83d\ude00")
def test_pieces_put_together_are_the_text(text):
    cut = pieces(text)
    assert "".join(cut) == text
    assert all(cut)


@given(text=texts)
@example(text="\ud83d\ude00")
@example(text=SAMPLE)
def test_what_was_encoded_comes_back_whatever_the_vocabulary(text):
    for vocabulary in (TRAINED, EMPTY):
        ids = vocabulary.encode(text)
        assert all(0 <= token < vocabulary.size for token in ids)
        assert vocabulary.decode(ids) == text


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("to be, or not", ["to", " be", ",", " or", " not"]),
        ("a  b\n    c", ["a", " ", " b", "\n    ", "c"]),
        ("x_1 = 20.5", ["x", "_", "1", " ", "=", " ", "20", ".", "5"]),
        ("f(x)  \n\n\tend\n", ["f", "(", "x", ")", "  ", "\n\n\t", "end", "\n"]),
        ("", []),
    ],
)
def test_a_text_is_cut_into_words_numbers_blanks_line_ends_and_marks(text, cut):
    assert pieces(text) == cut


def test_bytes_come_first_and_pieces_follow_by_how_often_they_came():
    vocabulary = Vocabulary.train("b a b a c b", 3)
    # " b" and " a" come twice, "b" and " c" once: equally frequent ones by their text, and a blank comes before letters.
    assert vocabulary.pieces == (" a", " b", " c")
    assert vocabulary.size == BYTES + 3
    assert vocabulary.encode("b a b") == [ord("b"), 256, 257]
    assert vocabulary.encode("é c") == [*"é".encode(), 258]
    assert vocabulary.show([98, 258]) == ["b", " c"]


@given(text=texts, n=st.integers(0, 30))
def test_the_most_frequent_pieces_are_kept_and_ties_go_by_their_text(text, n):
    kept = Vocabulary.train(text, n).pieces
    counts = Counter(pieces(text))
    assert len(kept) == min(n, len(counts))
    ranks = [(-counts[piece], piece) for piece in kept]
    assert ranks == sorted(ranks)
    assert all((-counts[piece], piece) > ranks[-1] for piece in set(counts) - set(kept) if kept)


def test_one_text_gives_one_vocabulary():
    assert Vocabulary.train(SAMPLE, 300) == TRAINED
    assert Vocabulary.train(SAMPLE, 299).pieces == TRAINED.pieces[:-1]
    assert len(TRAINED.encode(SAMPLE)) < len(SAMPLE) / 2


def test_bytes_that_are_no_text_show_as_replacements():
    assert EMPTY.decode([0xE2, 0x82, 0xAC]) == "€"
    assert EMPTY.decode([0xE2, 0x82]) == "\ufffd"
    assert EMPTY.show([0xE2, 0x41]) == ["\ufffd", "A"]


@pytest.mark.parametrize("kind", ["prose", "code"])
def test_samples_ship_with_the_course_and_end_their_lines_one_way(kind):
    text = sample_text(kind)
    assert 50_000 < len(text) < 70_000
    assert "\r" not in text
    assert all(line == line.rstrip() for line in text.split("\n"))
    # Far more regular than noise: the vocabulary of the lab spells most of it in whole words.
    vocabulary = Vocabulary.train(text, 500)
    assert len(vocabulary.encode(text)) < len(text) / 2


def test_the_samples_say_whose_they_are():
    readme = (words.SAMPLES / "README.txt").read_text(encoding="utf-8")
    assert "Python Software Foundation" in readme
    assert {path.name for path in words.SAMPLES.iterdir()} == {"README.txt", "prose.txt", "code.txt"}


@pytest.mark.parametrize("kind", ["prose", "code"])
def test_real_text_is_found_here_and_cut_at_its_limit(kind):
    text = real_text(kind, 200_000)
    assert len(text) == 200_000
    assert real_text(kind, 200_000) == text
    assert real_text(kind, 1_000) == text[:1_000]


def test_no_paragraph_of_the_prose_comes_twice():
    """What is held out must not have been read: several topics of the reference share whole paragraphs."""
    paragraphs = [part.strip("\n") for part in real_text("prose").split("\n\n")]
    repeated = [part for part, times in Counter(paragraphs).items() if times > 1 and len(part) > 200]
    assert not repeated


def test_code_is_read_in_the_order_of_its_names_without_tests_and_what_is_no_text(monkeypatch, tmp_path):
    sources = {
        "b.py": "two\n",
        "a.py": "one\n",
        "pack/c.py": "three\n",
        "site-packages/x.py": "not ours\n",
        "test/t.py": "a test\n",
        "pack/tests/t.py": "a test\n",
        "notes.txt": "no code\n",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert real_text("code") == "one\n\ntwo\n\nthree\n"
    assert real_text("code", 6) == "one\n\nt"


def test_a_python_without_its_texts_is_told_so(monkeypatch, tmp_path):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(ValueError, match=r"^kind is 'code', which this Python came without"):
        real_text("code")

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(words, "import_module", missing)
    with pytest.raises(ValueError, match=r"^kind is 'prose', which this Python came without"):
        real_text("prose")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: real_text("verse"), r"^kind is 'verse', needs to be one of"),
        (lambda: sample_text("verse"), r"^kind is 'verse'"),
        (lambda: sample_text("../words"), r"^kind is '\.\./words'"),
        (lambda: real_text("prose", 0), r"^limit is 0"),
        (lambda: Vocabulary.train("a", -1), r"^n_pieces is -1"),
        (lambda: Vocabulary(("a", "a")), r"^pieces has 2 entries"),
        (lambda: Vocabulary(("a", "")), r"^pieces has 2 entries"),
        (lambda: Vocabulary(("a",)).decode([97, 257]), r"^ids has a token 257, needs all of them in \[0, 257\)"),
        (lambda: Vocabulary(("a",)).decode([-1]), r"^ids has a token -1"),
        (lambda: Vocabulary(("a",)).show([300]), r"^ids has a token 300"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
