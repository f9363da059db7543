"""Vocabularies of real models, from the user's own disk: GPT-2, cl100k (GPT-4), o200k (GPT-4o), and Mistral's SentencePiece.

`course fetch vocabularies` gets them once, out of packages that carry them, and checks them by hash; nothing here opens a
connection. They are their makers' work and are not part of the course: MIT (tiktoken's files) and Apache-2.0 (Mistral's).

    COURSE_CACHE   where fetched files lie, in a folder for each kind; by default the user's cache folder
"""

import hashlib
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.tokenization.fast import Tokenizer
from course_lib.tokenization.files import load_ranks
from course_lib.tokenization.sentencepiece_models import SentencePieceModel
from course_lib.tokenization.splitting import GPT2, GPT4, O200K, Splitter


@dataclass(frozen=True)
class Source:
    """A vocabulary's file, and the package that has it."""

    file: str
    """Its name in the cache."""
    package: str
    version: str
    member: str
    """Its place in the package's wheel."""
    sha256: str
    split: Splitter | None = None
    """How its pieces were cut; None for a SentencePiece model, which knows by itself."""
    special: tuple[tuple[str, int], ...] = ()


END_OF_TEXT, END_OF_PROMPT = "<|endoftext|>", "<|endofprompt|>"
FILL_IN_THE_MIDDLE = ("<|fim_prefix|>", 100258), ("<|fim_middle|>", 100259), ("<|fim_suffix|>", 100260)
SOURCES = {
    "gpt2": Source(
        "gpt2.tiktoken",
        "mlx-whisper",
        "0.4.3",
        "mlx_whisper/assets/gpt2.tiktoken",
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        GPT2,
        ((END_OF_TEXT, 50256),),
    ),
    "cl100k": Source(
        "cl100k_base.tiktoken",
        "llama-index-core",
        "0.14.25",
        "llama_index/core/_static/tiktoken_cache/9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        GPT4,
        ((END_OF_TEXT, 100257), *FILL_IN_THE_MIDDLE, (END_OF_PROMPT, 100276)),
    ),
    "o200k": Source(
        "o200k_base.tiktoken",
        "llama-index-core",
        "0.14.25",
        "llama_index/core/_static/tiktoken_cache/fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        O200K,
        ((END_OF_TEXT, 199999), (END_OF_PROMPT, 200018)),
    ),
    "mistral": Source(
        "mistral.v3.model",
        "mistral-common",
        "1.13.1",
        "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3",
        "9addc8bdce5988448ae81b729336f43a81262160ae8da760674badab9d4c7d33",
    ),
}


def vocabulary(name: str) -> Tokenizer:
    """The tokenizer of "gpt2", "cl100k" or "o200k", with its special tokens; read once, then kept.

    Raises:
        ValueError: there is no such vocabulary here, it has not been fetched, or its file is not what was fetched.
    """
    source = SOURCES.get(name)
    if source is None or source.split is None:
        known = [known for known, source in SOURCES.items() if source.split]
        raise ValueError(f"name is {name!r}, needs to be one of {known}")
    return _tokenizer(name, cache_folder())


def mistral() -> SentencePieceModel:
    """Mistral's SentencePiece model, version 3: BPE over characters with bytes to fall back on.

    Raises:
        ValueError: it has not been fetched, or its file is not what was fetched.
    """
    return SentencePieceModel(fetched("mistral").read_bytes())


def fetched(name: str) -> Path:
    """Where a vocabulary's file lies.

    Raises:
        ValueError: it is not there, or has another content than the one that is known.
    """
    source = SOURCES[name]
    path = cache_folder() / source.file
    if not path.is_file():
        raise ValueError(f"the vocabulary {name} is not in {path.parent}: `course fetch vocabularies` gets it")
    if not is_genuine(path.read_bytes(), source):
        raise ValueError(f"{path} is not the vocabulary {name}: `course fetch vocabularies` gets it anew")
    return path


def is_genuine(content: bytes, source: Source) -> bool:
    """Whether this is the file that was meant."""
    return hashlib.sha256(content).hexdigest() == source.sha256


def cache_folder() -> Path:
    """Where vocabularies are kept on this machine; the folder need not be there."""
    if chosen := os.environ.get("COURSE_CACHE"):
        return Path(chosen) / "vocabularies"
    if sys.platform == "win32":
        users = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        users = Path.home() / "Library" / "Caches"
    else:
        users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return users / "tokens-per-second" / "vocabularies"


@cache
def _tokenizer(name: str, folder: Path) -> Tokenizer:
    source = SOURCES[name]
    assert source.split is not None
    return load_ranks(fetched(name), source.split, dict(source.special))
