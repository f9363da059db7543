"""Speculative decoding: several tokens from one pass of the target, distributed exactly as its own.

theory        acceptance rate, residual, tokens a round, improvement and operation factors, the best γ
settings      temperature and top-p, applied to draft and target alike
verification  which drafted tokens stand, and what is emitted after them
exactness     the emitted distribution by full enumeration; classical rejection sampling beside it
decoding      the loop around verification, over any pair of models

By their own names:

words         real text that is on every machine, and a vocabulary that can spell any text
ngrams        n-gram language models: a draft and a target that train in a second
acceptance    α of a pair on held-out text and in decoding
weight_bound  a model whose runs also read a stack of weights, as a transformer's do
measure       c, the cost of verification, and the speed-up by the clock beside what was predicted
lookahead     multi-token prediction by small examples; the model as its own draft
departures    what sampling rules, fewer bits and speculation each do to the distribution
"""

from course_lib.speculation.decoding import Decoded, Model, decode, speculative_decode
from course_lib.speculation.exactness import (
    emission_table,
    emitted_distribution,
    emitted_texts,
    envelope,
    own_texts,
    rejection_sample,
)
from course_lib.speculation.settings import SamplingSettings
from course_lib.speculation.theory import (
    acceptance_rate,
    accepted_distribution,
    best_gamma,
    expected_tokens,
    expected_tokens_by_position,
    guaranteed_factor,
    improvement_factor,
    operation_factor,
    residual,
    token_ceiling,
    total_variation,
)
from course_lib.speculation.verification import PADDING, Emitted, verify_and_emit

__all__ = [
    "PADDING",
    "Decoded",
    "Emitted",
    "Model",
    "SamplingSettings",
    "acceptance_rate",
    "accepted_distribution",
    "best_gamma",
    "decode",
    "emission_table",
    "emitted_distribution",
    "emitted_texts",
    "envelope",
    "expected_tokens",
    "expected_tokens_by_position",
    "guaranteed_factor",
    "improvement_factor",
    "operation_factor",
    "own_texts",
    "rejection_sample",
    "residual",
    "speculative_decode",
    "token_ceiling",
    "total_variation",
    "verify_and_emit",
]
