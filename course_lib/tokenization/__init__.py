"""Tokenization: how a text becomes numbers, what is learned for it, and what it costs.

reference     byte-pair encoding in its own order, a page: what all else must agree with
fast          `Tokenizer`: the same ids at speed, real vocabularies too
splitting     the patterns that cut a text before anything is merged
special       marks that stand for one id, and who may write them
streaming     text and ids that arrive bit by bit, in bounded memory

By their own names:

training              the fast trainer: whole-array steps over the distinct words
batched               the textbook's algorithm on whole arrays, on a GPU too
files                 tiktoken's rank format, and merges that one can read
vocabularies          GPT-2, cl100k, o200k and Mistral, once `course fetch vocabularies` has got them
sentencepiece_models  the other family, through its own library
simple                words and characters as tokens, and how each fails
costs                 tokens per character by language, and money
"""

from course_lib.tokenization.fast import Tokenizer, count_pieces
from course_lib.tokenization.reference import Pair
from course_lib.tokenization.special import Allowed, SpecialTokens
from course_lib.tokenization.splitting import GPT2, GPT4, O200K, WHOLE, Splitter
from course_lib.tokenization.streaming import decode_stream, encode_stream
from course_lib.tokenization.training import learn_merges

__all__ = [
    "GPT2",
    "GPT4",
    "O200K",
    "WHOLE",
    "Allowed",
    "Pair",
    "SpecialTokens",
    "Splitter",
    "Tokenizer",
    "count_pieces",
    "decode_stream",
    "encode_stream",
    "learn_merges",
]
