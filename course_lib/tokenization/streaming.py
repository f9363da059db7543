"""Encoding and decoding what arrives bit by bit, in bounded memory: the ids of the whole, whatever the chunks.

An encoder that took each chunk by itself would cut words in two. This one keeps back what a later chunk could still change (the
last piece, the blanks or letters at the end, what may be the beginning of a special token) and encodes the rest; `settled` in
`splitting` says why the rest is safe. A decoder keeps back the beginning of a character until its last byte has come.

    chunks   pieces of one text, of any length, empty ones too
    limit    characters that may be kept back: above a run of blanks or of letters, or a single pre-token, of this length
             memory would grow with the text, and the stream is refused instead of encoded otherwise than the whole
"""

import codecs
from collections.abc import Iterable, Iterator

from course_lib.tokenization.fast import Tokenizer
from course_lib.tokenization.special import Allowed
from course_lib.tokenization.splitting import BLOCK, KNOWN

LIMIT = 1 << 22


def encode_stream(
    tokenizer: Tokenizer,
    chunks: Iterable[str],
    allowed: Allowed = "none_raise",
    limit: int = LIMIT,
    block: int = BLOCK,
) -> Iterator[list[int]]:
    """The ids of the text that the chunks are, in lists; joined they are `tokenizer.encode` of the whole text.

    Ids come whenever `block` characters have been gathered, not after every chunk: smaller blocks are sooner and slower.

    Raises:
        ValueError: as `Tokenizer.encode`, where the fault stands; more than `limit` characters would have to be kept back;
            or the tokenizer's splitter is not one of those of which it is known what settles.
    """
    if tokenizer.split not in KNOWN:
        raise ValueError(
            "tokenizer has a splitter of its own, needs GPT2, GPT4 or O200K: what settles is not known of it"
        )
    held, waiting, wanted = [""], 0, block
    for chunk in chunks:
        held.append(chunk)
        waiting += len(chunk)
        if waiting < wanted:
            continue
        ids, rest = _settled(tokenizer, "".join(held), allowed)
        if len(rest) > limit:
            raise ValueError(
                f"chunks has {len(rest):,} characters without a place to cut, needs at most {limit:,}, or a larger limit"
            )
        held, waiting = [rest], len(rest)
        wanted = max(block, 2 * waiting)  # so that what is kept back is looked at again only when it has doubled
        if ids:
            yield ids
    if ids := tokenizer.encode("".join(held), allowed):
        yield ids


def decode_stream(tokenizer: Tokenizer, ids: Iterable[int]) -> Iterator[str]:
    """The text of ids as they arrive, each character as soon as it is whole; joined it is `tokenizer.decode` of all.

    Raises:
        ValueError: an id is no token.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token in ids:
        if text := decoder.decode(tokenizer.token(token)):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


def _settled(tokenizer: Tokenizer, text: str, allowed: Allowed) -> tuple[list[int], str]:
    """The ids of what no later text can change, and the text that is left."""
    ids: list[int] = []
    start = 0
    # A special token that begins here or later may not be all there, or be the beginning of a longer one.
    certain = len(text) - max(0, tokenizer.special.longest - 1)
    for begin, end, token in tokenizer.special.find(text, allowed):
        if begin >= certain:
            break
        ids += tokenizer.encode(text[start:begin], "none")
        ids.append(token)
        start = end
    pieces, length = tokenizer.split.settled(text[start:], max(0, certain - start))
    ids += tokenizer.encode_pieces(pieces)
    return ids, text[start + length :]
