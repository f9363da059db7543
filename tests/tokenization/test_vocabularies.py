"""Real vocabularies: known ids, what is said when one is missing or spoilt, and nothing fetched while loading."""

import socket

import pytest

from course_lib.tokenization import vocabularies
from course_lib.tokenization.vocabularies import SOURCES, cache_folder, fetched, mistral, vocabulary


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    return tmp_path / "vocabularies"


@pytest.mark.parametrize(
    ("name", "size", "ids"),
    [
        ("gpt2", 50_257, [31373, 995]),
        ("cl100k", 100_277, [15339, 1917]),
        ("o200k", 200_019, [24912, 2375]),
    ],
)
def test_real_vocabularies_say_hello_world(ours, name, size, ids):
    tokenizer = ours(name)
    assert tokenizer.size == size
    assert tokenizer.encode("hello world") == ids
    assert tokenizer is ours(name)


@pytest.mark.parametrize(
    "name", ["gpt2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cl100k", "o200k"))]
)
def test_every_token_is_made_by_one_merge(ours, name):
    tokenizer = ours(name)
    assert len(tokenizer.merges) == len(tokenizer.ranks) - 256
    a, b = tokenizer.merges[-1]
    assert tokenizer.token(a) + tokenizer.token(b) == max(tokenizer.ranks, key=tokenizer.ranks.__getitem__)


def test_a_missing_vocabulary_says_which_command_gets_it(elsewhere, monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("a connection was opened"))
    for load in (lambda: vocabulary("cl100k"), mistral):
        with pytest.raises(ValueError, match="`course fetch vocabularies` gets it") as error:
            load()
        assert str(elsewhere) in str(error.value)


def test_a_spoilt_file_is_not_loaded(ours, elsewhere, monkeypatch):
    monkeypatch.delenv("COURSE_CACHE")
    content = fetched("gpt2").read_bytes()
    monkeypatch.setenv("COURSE_CACHE", str(elsewhere.parent))
    elsewhere.mkdir()
    (elsewhere / SOURCES["gpt2"].file).write_bytes(content[:-1])
    with pytest.raises(ValueError, match="is not the vocabulary gpt2"):
        vocabulary("gpt2")


@pytest.mark.parametrize("name", ["gpt5", "mistral", ""])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError, match=r"needs to be one of \['gpt2', 'cl100k', 'o200k'\]"):
        vocabulary(name)


@pytest.mark.parametrize(
    ("platform", "variables", "end"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/tokens-per-second/vocabularies"),
        ("linux", {}, "/home/me/.cache/tokens-per-second/vocabularies"),
        ("darwin", {}, "/home/me/Library/Caches/tokens-per-second/vocabularies"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/tokens-per-second/vocabularies"),
        ("linux", {"COURSE_CACHE": "/mine"}, "/mine/vocabularies"),
    ],
)
def test_the_cache_is_where_the_system_keeps_such_things(monkeypatch, platform, variables, end):
    for name in ("COURSE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(vocabularies.sys, "platform", platform)
    monkeypatch.setattr(vocabularies.Path, "home", lambda: vocabularies.Path("/home/me"))
    assert cache_folder().as_posix() == end
