"""Special tokens: marks such as <|endoftext|> that stand for one id and never come out of merging.

They steer a model, so text from outside must not be able to write one: whoever encodes says which may be read as such, and any
other is refused where it stands in the text. Of several that begin at one place the longest is meant. The text between two of
them is cut and merged by itself, as if it were alone.

    allowed   the special tokens that may be read: a set of them, or one of
              "all"         every one
              "none_raise"  no one; a text that has one is refused (the usual)
              "none"        no one; what looks like one is ordinary text, merged like any other
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import regex

Allowed = Set[str] | Literal["all", "none_raise", "none"]


@dataclass(frozen=True)
class SpecialTokens:
    """The special tokens of a vocabulary and their ids.

    Raises:
        ValueError: a token is empty or an id is there twice or negative.
    """

    ids: Mapping[str, int]

    def __post_init__(self) -> None:
        if "" in self.ids:
            raise ValueError("special has an empty token, needs at least one character in each")
        if len(set(self.ids.values())) != len(self.ids) or any(i < 0 for i in self.ids.values()):
            raise ValueError(f"special is {dict(self.ids)}, needs an id of its own for each token, none negative")

    @property
    def longest(self) -> int:
        """Characters of the longest special token; 0 if there is none."""
        return max(map(len, self.ids), default=0)

    def cut(self, text: str, allowed: Allowed = "none_raise") -> Iterator[str | int]:
        """The text in turn as ordinary parts and ids of special tokens; no part is empty.

        Raises:
            ValueError: the text has a special token that is not allowed, or `allowed` names one that is not there.
        """
        end = 0
        for start, stop, token in self.find(text, allowed):
            if start > end:
                yield text[end:start]
            yield token
            end = stop
        if end < len(text):
            yield text[end:]

    def find(self, text: str, allowed: Allowed = "none_raise") -> Iterator[tuple[int, int, int]]:
        """Where special tokens stand in the text: start, end and id of each.

        Raises:
            ValueError: as `cut`.
        """
        if allowed not in ("all", "none_raise", "none") and (
            isinstance(allowed, str) or not allowed <= self.ids.keys()
        ):
            raise ValueError(
                f"allowed is {allowed!r}, needs a set of {sorted(self.ids)}, or one of 'all', 'none_raise' and 'none'"
            )
        if not self.ids or allowed == "none":
            return
        for match in self._any.finditer(text):
            token = match.group()
            if allowed == "none_raise" or (allowed != "all" and token not in allowed):
                raise ValueError(
                    f"text has the special token {token!r} at {match.start()}, needs it to be allowed: allowed={{{token!r}}}, "
                    "or allowed='none' to read it as ordinary text"
                )
            yield match.start(), match.end(), self.ids[token]

    @cached_property
    def _any(self) -> regex.Pattern[str]:
        # An alternation takes the first that fits: the longest must be tried first.
        return regex.compile("|".join(map(regex.escape, sorted(self.ids, key=len, reverse=True))))
