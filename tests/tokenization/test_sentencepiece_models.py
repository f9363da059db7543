"""SentencePiece beside ours: trained in both ways, and Mistral's own model."""

import pytest
from sentencepiece import SentencePieceProcessor

from course_lib.speculation.words import sample_text
from course_lib.tokenization import Tokenizer
from course_lib.tokenization.costs import languages
from course_lib.tokenization.sentencepiece_models import SentencePieceModel, train_sentencepiece
from course_lib.tokenization.vocabularies import fetched as path_of
from course_lib.tokenization.vocabularies import mistral

PROSE = sample_text("prose")
LINES = [line for line in PROSE.splitlines() if line]


@pytest.fixture(scope="module")
def trained() -> dict[str, SentencePieceModel]:
    return {kind: train_sentencepiece(LINES, 1000, kind) for kind in ("bpe", "unigram")}


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_trained_model_encodes_what_it_has_never_seen(trained, kind):
    model = trained[kind]
    assert model.size == 1000
    for text in (LINES[3], *languages().values(), "🙂 x  y"):
        ids = model.encode(text)
        assert all(0 <= token < 1000 for token in ids)
        assert model.decode(ids) == text
        assert len(model.pieces(text)) == len(ids)


def test_both_kinds_cut_english_about_as_ours_does(trained):
    ours = Tokenizer.train("\n".join(LINES), 1000 - 256)
    tokens = {kind: sum(len(model.encode(line)) for line in LINES) for kind, model in trained.items()}
    tokens["ours"] = sum(len(ours.encode(line)) for line in LINES)
    assert max(tokens.values()) < 1.2 * min(tokens.values())
    assert trained["bpe"].pieces(LINES[0]) != trained["unigram"].pieces(LINES[0])


def test_training_twice_gives_the_same_model(trained):
    assert train_sentencepiece(LINES, 1000, "bpe").model == trained["bpe"].model
    assert train_sentencepiece("\n".join(LINES), 1000, "bpe").model == trained["bpe"].model


def test_mistrals_model_gives_the_ids_of_the_library(ours):
    model = mistral()
    peer = SentencePieceProcessor(model_file=str(path_of("mistral")))
    assert model.size == 32_768
    for text in languages().values():
        assert model.encode(text) == peer.encode(text)
        assert model.decode(model.encode(text)) == text
    assert "▁language" in model.pieces(languages()["English"])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train_sentencepiece(LINES, 1000, "word"), "kind is 'word', needs to be 'bpe' or 'unigram'"),
        (lambda: train_sentencepiece(["a b c"], 5000), "size is 5000, and SentencePiece refuses"),
        (lambda: SentencePieceModel(b"no model"), "model is not what SentencePiece writes"),
        (lambda: SentencePieceModel(b""), "model is not what SentencePiece writes"),
    ],
)
def test_errors_say_what_was_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_id_that_is_no_token_is_refused(trained):
    with pytest.raises(ValueError, match=r"ids has a token 1000, needs all of them in \[0, 1000\)"):
        trained["bpe"].decode([1, 1000])
