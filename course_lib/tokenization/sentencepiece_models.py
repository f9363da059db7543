"""SentencePiece beside ours: the other family of subwords, trained and run by its own library.

It takes a text as characters, not bytes, writes a blank as ▁, and may fall back on bytes for a character that it has not seen.
Its BPE merges as ours does. Its unigram model goes the other way: it starts with far too many pieces, gives each a probability,
drops those that are missed least, and cuts a text so that the product of the probabilities is largest (Kudo, 2018).

    model     the bytes of a model file, as `train_sentencepiece` makes and Mistral ships them
    pieces    what it cuts a text into; "▁the", "<0x0A>" is a byte
"""

import io
from collections.abc import Iterable
from typing import Any, Literal


class SentencePieceModel:
    """A SentencePiece model: `encode`, `decode`, `pieces`, as plain as our own tokenizers.

    Raises:
        ValueError: the bytes are no model.
    """

    def __init__(self, model: bytes) -> None:
        from sentencepiece import SentencePieceProcessor

        self.model = model
        self._processor: Any = SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise ValueError("model is not what SentencePiece writes, needs the bytes of a .model file") from error

    @property
    def size(self) -> int:
        """Tokens in all."""
        return self._processor.get_piece_size()

    def encode(self, text: str) -> list[int]:
        """The text as token ids, without marks for beginning and end."""
        return self._processor.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens.

        Raises:
            ValueError: an id is no token.
        """
        ids = [int(token) for token in ids]
        if wrong := [token for token in ids if not 0 <= token < self.size]:
            raise ValueError(f"ids has a token {wrong[0]}, needs all of them in [0, {self.size})")
        return self._processor.decode(ids)

    def pieces(self, text: str) -> list[str]:
        """What the text is cut into."""
        return self._processor.encode(text, out_type=str)


def train_sentencepiece(
    texts: Iterable[str], size: int, kind: Literal["bpe", "unigram"] = "bpe", byte_fallback: bool = True
) -> SentencePieceModel:
    """Trains a model of `size` tokens on lines of text, on one thread, so that it comes out the same each time.

    Raises:
        ValueError: `kind` is neither word, or SentencePiece refuses, for example as the text has too little for `size` tokens.
    """
    if kind not in ("bpe", "unigram"):
        raise ValueError(f"kind is {kind!r}, needs to be 'bpe' or 'unigram'")
    if isinstance(texts, str):
        texts = texts.splitlines()
    from sentencepiece import SentencePieceTrainer

    written = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=written,
            vocab_size=size,
            model_type=kind,
            byte_fallback=byte_fallback,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=1 << 20,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ValueError(f"size is {size}, and SentencePiece refuses: {str(error).splitlines()[-1]}") from error
    return SentencePieceModel(written.getvalue())
