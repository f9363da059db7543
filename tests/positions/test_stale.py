"""Keys that were cached before the frequencies changed: what `stale` says, and what happens in a real model.

transformers' Llama turns keys once and caches them. Where the frequencies depend on the length, decoding past the original
length gives another result than reading the whole text at once, which is right; elsewhere the two agree to rounding.
"""

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from course_lib.arrays import softmax
from course_lib.positions import DynamicNTK, Interpolation, LongRoPE, Rule, YaRN, rotate, rotation, stale
from course_lib.positions.configs import rule_from_config

ORIGINAL, D = 24, 16
PAIRS = range(D // 2)
LONGROPE = {"short_factor": [1.0 + 0.1 * i for i in PAIRS], "long_factor": [2.0 + i for i in PAIRS]}
SCALINGS = {
    "default": {},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 4.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": ORIGINAL},
    "llama3": {
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": ORIGINAL,
    },
    "longrope": {"factor": 4.0, "original_max_position_embeddings": ORIGINAL, **LONGROPE},
}


def tiny(kind: str) -> LlamaForCausalLM:
    torch.manual_seed(0)
    dynamic = kind in ("dynamic", "default", "linear")
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=2 * D,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=ORIGINAL if dynamic else 4 * ORIGINAL,
        initializer_range=0.3,
        rope_parameters={"rope_type": kind, "rope_theta": 10_000.0, **SCALINGS[kind]},
    )
    return LlamaForCausalLM(config).double().eval()


@torch.no_grad()
def cached_and_whole_differ(model: LlamaForCausalLM, ids: torch.Tensor, before: int) -> float:
    """The last logits of a text, its last token decoded after the others were cached, against the text read at once."""
    first = model(ids[:, :before], use_cache=True)
    cached = model(ids[:, before : before + 1], past_key_values=first.past_key_values).logits[:, -1]
    return float((cached - model(ids[:, : before + 1]).logits[:, -1]).abs().max())


@pytest.mark.filterwarnings("ignore:.past_key_values. is deprecated")
@pytest.mark.parametrize("kind", SCALINGS)
def test_a_cache_goes_wrong_where_it_is_called_stale_and_nowhere_else(kind):
    """transformers PR#33129, vllm PR#27431: Phi-3's text turned to noise at the 4,097th token."""
    model = tiny(kind)
    rule = rule_from_config(model.config.to_dict())
    ids = torch.tensor(np.random.default_rng(0).integers(0, 40, (1, 40)))
    found = set()
    for before in (5, ORIGINAL - 1, ORIGINAL, ORIGINAL + 1, 39):
        difference = cached_and_whole_differ(model, ids, before)
        wrong = stale(rule, before, before + 1)
        assert difference > 1e-4 if wrong else difference <= 1e-9, (before, difference)
        found |= {before} if wrong else set()
    expected = {"longrope": {ORIGINAL}, "dynamic": {ORIGINAL, ORIGINAL + 1, 39}}
    assert found == expected.get(kind, set())


def test_keys_kept_unturned_never_go_stale(xp):
    """The remedy: cache what is not turned, and turn at the length that is. Weights before and after the switch, both ways."""
    rule = LongRoPE(
        D, original=ORIGINAL, factor=4.0, short=tuple(LONGROPE["short_factor"]), long=tuple(LONGROPE["long_factor"])
    )
    rng, n = np.random.default_rng(1), ORIGINAL + 1
    k, q = xp.array(rng.normal(size=(n, D)), "float64"), xp.array(rng.normal(size=(1, D)), "float64")
    where = xp.array(range(n), "int64")

    def turn(x, where, length):
        return rotate(x, rotation(where, rule.at(length), x))

    query = turn(q, where[n - 1 :], n)
    fresh = xp.numpy(softmax(query @ turn(k, where, n).mT))
    old = xp.namespace.concat([turn(k[: n - 1, :], where[: n - 1], n - 1), turn(k[n - 1 :, :], where[n - 1 :], n)])
    assert np.abs(xp.numpy(softmax(query @ old.mT)) - fresh).max() > 0.01
    # Turned back at the old length and forward at the new one, a stale key is fresh again.
    back = rotate(old[: n - 1, :], rotation(-where[: n - 1], rule.at(n - 1), k)) / rule.at(1).attention_factor ** 2
    mended = xp.namespace.concat([turn(back, where[: n - 1], n), old[n - 1 :, :]])
    assert np.abs(xp.numpy(softmax(query @ mended.mT)) - fresh).max() <= 1e-12


def test_rules_of_one_set_of_frequencies_never_go_stale(unchecked):
    for rule in (Rule(8), Interpolation(8, factor=4.0), YaRN(8, original=100, factor=4.0)):
        assert not stale(rule, 1, 10**6)
    assert not stale(DynamicNTK(8, original=100, factor=2.0), 1, 100)
    assert stale(DynamicNTK(8, original=100, factor=2.0), 100, 101)
    with pytest.raises(ValueError, match=r"^length is 0"):
        stale(Rule(8), 0, 1)
