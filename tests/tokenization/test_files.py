"""Files: what was saved comes back, tiktoken reads it, and a malformed line is named."""

import base64
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

from course_lib.tokenization import GPT2, O200K, Tokenizer, files
from tests.tokenization.corpus import mixed_text

TRAINED = Tokenizer.train(mixed_text(20_000), 600, O200K, ["<|end|>", "a special ␣ \n one"])
PERMUTED = Tokenizer({bytes([byte ^ 1]): byte for byte in range(256)} | {b"ab": 256})
tokens = st.one_of(st.binary(min_size=1, max_size=8), st.text(min_size=1, max_size=5).map(str.encode))


@given(token=tokens, other=tokens)
@example(token=b"\\x41", other=b"A")
@example(token="␣".encode(), other=b" ")
@example(token=b"\xe2\x90\xa3\xff\\", other=b"\n\t\r \x85")
def test_any_bytes_can_be_written_so_that_one_reads_them_and_come_back(token, other):
    for each in (token, other):
        shown = files.readable(each)
        assert files.from_readable(shown) == each
        assert len(shown.split()) == len(shown.splitlines()) == 1
    assert (files.readable(token) == files.readable(other)) == (token == other)


def test_readable_means_readable():
    shown = [files.readable(token.encode()) for token in (" the", "\n", "é", "语言", "\\", "␣")]
    assert shown == ["␣the", r"\x0a", "é", "语言", r"\x5c", r"\xe2\x90\xa3"]
    assert files.readable("é".encode()[:1]) == r"\xc3"


def test_merges_bring_back_the_whole_tokenizer(tmp_path):
    files.save_merges(TRAINED, tmp_path / "new" / "merges.txt")
    loaded = files.load_merges(tmp_path / "new" / "merges.txt")
    assert (loaded.ranks, loaded.split, loaded.special.ids) == (TRAINED.ranks, O200K, TRAINED.special.ids)
    assert loaded.merges == TRAINED.merges
    files.save_merges(loaded, tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "new" / "merges.txt").read_bytes()
    assert list(tmp_path.glob("**/.*")) == []


def test_ranks_are_read_by_tiktoken_and_by_us(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # it would keep a copy, and read that one the next time
    for tokenizer in (TRAINED, PERMUTED):
        files.save_ranks(tokenizer, tmp_path / "ranks.tiktoken")
        assert load_tiktoken_bpe(str(tmp_path / "ranks.tiktoken")) == tokenizer.ranks
        assert files.load_ranks(tmp_path / "ranks.tiktoken", GPT2).ranks == tokenizer.ranks


def test_every_byte_is_in_the_file_as_a_byte_nanochat_693(tmp_path):
    pairs = [(byte, 0xFF) for byte in range(0x80, 0x100)]
    files.save_merges(Tokenizer.from_merges(pairs), tmp_path / "merges.txt")
    assert files.load_merges(tmp_path / "merges.txt").merges == pairs


def test_a_save_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "merges.txt"
    files.save_merges(TRAINED, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        files.save_merges(Tokenizer.from_merges([]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_ids_of_another_order_are_only_in_the_rank_format(tmp_path):
    with pytest.raises(ValueError, match="needs save_ranks"):
        files.save_merges(PERMUTED, tmp_path / "merges.txt")


BYTE_LINES = [base64.b64encode(bytes([byte])) + b" %d" % byte for byte in range(256)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"YWI=", r"line 258: b'YWI=', needs a token in base64"),
        (b"YWI= x", "line 258"),
        (b"YWI= -3", "line 258"),
        (b"YWI= 1 2", "line 258"),
        (b"YW!= 257", "line 258"),
        (b"YWI 257", "line 258"),
        (b" 257", "line 258"),
        (b"YQ== 257", "line 258: b'a' is there already"),
        (b"YWI= 7", "ranks has an id twice"),
    ],
)
def test_a_malformed_rank_is_named_by_its_line(tmp_path, line, message):
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(b"\n".join([*BYTE_LINES, b"", line, b""]))
    with pytest.raises(ValueError, match=message):
        files.load_ranks(path)
    path.write_bytes(b"\n".join([*BYTE_LINES, b"", b"YWI= 257", b""]))
    assert files.load_ranks(path).encode("ab") == [257]


@pytest.mark.parametrize(
    ("number", "line", "message"),
    [
        (1, "#version: 0.2", "line 1: '#version: 0.2', needs '# byte-pair"),
        (2, "# {}", "line 2: needs pattern and special tokens as JSON"),
        (2, '# {"pattern": "(", "special": {}}', "line 2: .*cannot be read"),
        (2, '# {"pattern": 3, "special": {}}', "line 2"),
        (2, '# {"pattern": ".", "special": {"x": 97}}', "special has 'x' at 97"),
        (3, "ab", "line 3: 'ab', needs two tokens with a blank between"),
        (3, "a b c", "line 3"),
        (3, "", "line 3"),
        (3, "a \\y", "line 3: .*backslash that begins no byte"),
        (3, "zz b", "line 3: b'zz' is no byte, nor made by a line before"),
        (4, "a b", "line 4: b'ab' is there already"),
    ],
)
def test_a_malformed_merge_is_named_by_its_line(tmp_path, number, line, message):
    path = tmp_path / "merges.txt"
    files.save_merges(Tokenizer.from_merges([(97, 98), (98, 99), (256, 99)]), path)
    lines = path.read_text("utf-8").split("\n")
    lines[number - 1] = line
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        files.load_merges(path)
    assert str(path) in str(error.value)


def test_a_merges_file_that_was_cut_short_or_is_no_text_is_refused(tmp_path):
    path = tmp_path / "merges.txt"
    files.save_merges(TRAINED, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-2])
    with pytest.raises(ValueError, match=r"line \d+: cut short"):
        files.load_merges(path)
    path.write_bytes(whole + b"\xff")
    with pytest.raises(ValueError, match=rf"line {whole.count(bytes([10])) + 1}: not UTF-8"):
        files.load_merges(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="line 1"):
        files.load_merges(path)
