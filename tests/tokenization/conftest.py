"""What the tests of this room share: real vocabularies, fetched once by the command that readers use."""

from collections.abc import Callable

import pytest
import tiktoken

from course_lib.house import fetch
from course_lib.tokenization import Tokenizer
from course_lib.tokenization.vocabularies import vocabulary

NAMES = "gpt2", "cl100k", "o200k"


@pytest.fixture(scope="session")
def fetched() -> None:
    """All vocabularies are in the cache: from an earlier run, or now."""
    fetch.vocabularies()


@pytest.fixture(scope="session")
def ours(fetched) -> Callable[[str], Tokenizer]:
    """ours(name): our tokenizer with a real vocabulary."""
    return vocabulary


@pytest.fixture(scope="session")
def theirs(ours) -> Callable[[str], tiktoken.Encoding]:
    """theirs(name): tiktoken with the same vocabulary."""
    made: dict[str, tiktoken.Encoding] = {}

    def encoding(name: str) -> tiktoken.Encoding:
        if name not in made:
            mine = ours(name)
            made[name] = tiktoken.Encoding(
                name, pat_str=mine.split.pattern, mergeable_ranks=mine.ranks, special_tokens=dict(mine.special.ids)
            )
        return made[name]

    return encoding
