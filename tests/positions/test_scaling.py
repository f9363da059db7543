"""The rules against transformers' and against what their papers promise of each pair, over their whole range of lengths.

transformers computes in float32: a power of the base, off by (ln θ + 4)·ε of itself, and a mixture of θᵢ and θᵢ/s, in which
an error of the ramp counts up to s times, as s is how much smaller the slowed part is.
"""

from math import log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import DeepseekV3Config, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek

from course_lib.arrays import softmax
from course_lib.positions import DynamicNTK, Interpolation, Llama3, LongRoPE, NTKAware, Rule, YaRN, rope, stale
from course_lib.positions.configs import rule_from_config

EPS = 2**-23
ORIGINAL = 4096
FACTORS = {"short_factor": [1 + 0.01 * i for i in range(32)], "long_factor": [1.5**i for i in range(32)]}

SCALINGS = {
    "linear": {"rope_type": "linear", "factor": 8.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "dynamic, factor 1": {"rope_type": "dynamic", "factor": 1.0},
    "yarn": {"rope_type": "yarn", "factor": 16.0},
    "yarn, ramp as one likes": {"rope_type": "yarn", "factor": 40.0, "beta_fast": 20.0, "beta_slow": 2.0},
    "yarn, pairs in parts": {"rope_type": "yarn", "factor": 32.0, "truncate": False},
    "yarn, factor given": {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.0},
    "yarn of DeepSeek": {"rope_type": "yarn", "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0},
    "yarn, two mscales": {"rope_type": "yarn", "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.707},
    "longrope": {"rope_type": "longrope", "factor": 32.0, **FACTORS},
    "longrope, factor given": {"rope_type": "longrope", "factor": 32.0, "attention_factor": 1.5, **FACTORS},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "llama3, other ends": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 0.5, "high_freq_factor": 8.0},
}


def configuration(scaling: dict, theta: float, partial: float = 1.0) -> LlamaConfig:
    parameters = {**scaling, "rope_theta": theta}
    if scaling["rope_type"] not in ("linear", "dynamic"):
        parameters["original_max_position_embeddings"] = ORIGINAL
    if partial != 1:
        parameters["partial_rotary_factor"] = partial
    return LlamaConfig(
        hidden_size=int(256 / partial),
        num_attention_heads=4,
        max_position_embeddings=ORIGINAL,
        rope_parameters=parameters,
    )


@pytest.mark.parametrize("theta", [10_000.0, 500_000.0])
@pytest.mark.parametrize("name", SCALINGS)
def test_every_rule_is_that_of_transformers_at_every_length(name, theta):
    """Below, at and beyond the original length; the rule is the one that the same configuration asks ours for."""
    config = configuration(SCALINGS[name], theta)
    rule = rule_from_config(config.to_dict())
    for length in (1, ORIGINAL - 1, ORIGINAL, ORIGINAL + 1, 3 * ORIGINAL, 32 * ORIGINAL):
        theirs, attention = ROPE_INIT_FUNCTIONS[SCALINGS[name]["rope_type"]](config, "cpu", seq_len=length)
        ours = rule.at(length)
        largest_base = log(theta * 200)  # NTK's at 32 times the length
        bound = (largest_base + 4 + 8 * SCALINGS[name]["factor"]) * EPS
        assert np.abs(ours.inverse / theirs.numpy() - 1).max() <= bound
        assert ours.attention_factor == pytest.approx(attention, rel=1e-12)


def test_a_part_of_a_head_is_scaled_like_a_head_of_its_own():
    config = configuration(SCALINGS["yarn"], 10_000.0, partial=0.5)
    theirs, _ = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    ours = rule_from_config(config.to_dict()).at(8 * ORIGINAL)
    assert len(ours.inverse) == len(theirs) == 32
    assert np.abs(ours.inverse / theirs.numpy() - 1).max() <= (log(10_000) + 4 + 8 * 16) * EPS


def test_static_ntk_is_dynamic_ntk_held_at_one_length():
    config = configuration(SCALINGS["dynamic, factor 1"], 10_000.0)
    theirs, _ = ROPE_INIT_FUNCTIONS["dynamic"](config, "cpu", seq_len=8 * ORIGINAL)
    ours = NTKAware(64, factor=8.0).at(1)
    assert np.abs(ours.inverse / theirs.numpy() - 1).max() <= (log(10_000 * 9) + 4) * EPS
    assert np.array_equal(ours.inverse, DynamicNTK(64, original=ORIGINAL).at(8 * ORIGINAL).inverse)


# What the papers promise


@given(d=st.sampled_from([4, 8, 64, 128]), theta=st.floats(100, 1e7), factor=st.floats(1, 1000))
def test_interpolation_slows_all_alike_and_ntk_the_first_not_at_all_and_the_last_by_s(d, theta, factor):
    trained = Rule(d, theta).trained
    assert np.allclose(trained / Interpolation(d, theta, factor).at(9).inverse, factor, rtol=1e-14, atol=0)
    slowed = trained / NTKAware(d, theta, factor).at(9).inverse
    assert slowed[0] == 1
    assert np.allclose(slowed, factor ** (2 * np.arange(d // 2) / (d - 2)), rtol=1e-11, atol=0)


@given(factor=st.floats(1, 64), lengths=st.lists(st.integers(1, 2**20), min_size=2, max_size=2))
def test_dynamic_scaling_follows_the_length_that_is_and_not_the_longest_there_may_be(factor, lengths):
    """vllm #3488, #5093: implemented as a static one. Up to the original length nothing changes; beyond it, always."""
    rule = DynamicNTK(64, original=2048, factor=factor)
    for length in lengths:
        stretch = max(factor * length / 2048 - (factor - 1), 1)
        slowed = Rule(64).trained / rule.at(length).inverse
        assert np.allclose(slowed, stretch ** (np.arange(32) / 31), rtol=1e-11, atol=0)
    first, second = sorted(lengths)
    assert stale(rule, first, second) == (second > max(first, 2048))


@pytest.mark.parametrize("ramp", ["pairs", "turns"])
def test_by_parts_fast_pairs_are_left_alone_and_slow_ones_slowed_by_s(ramp):
    """Between the two the share falls from pair to pair; rounded out, the ramp over pairs is the wider one."""
    rule = YaRN(128, original=4096, factor=16.0, ramp=ramp, whole_pairs=False)
    slowed = rule.trained / rule.at(9).inverse
    turns = 4096 * rule.trained / (2 * pi)
    assert np.allclose(slowed[turns >= 32], 1, rtol=1e-12, atol=0)
    assert np.allclose(slowed[turns <= 1], 16, rtol=1e-12, atol=0)
    between = (turns < 32) & (turns > 1)
    assert between.sum() >= 10
    assert np.all(np.diff(slowed[between]) > 0)
    wide = YaRN(128, original=4096, factor=16.0)
    assert (
        np.sum((wide.trained / wide.at(9).inverse > 1) & (wide.trained / wide.at(9).inverse < 15.99)) >= between.sum()
    )


def test_the_ramps_of_yarns_paper_and_of_its_code_are_two():
    """A pair with 16.5 of 1 to 32 turns keeps half by the paper; by the code it lies far along the ramp over the logarithm."""
    kept = {}
    for ramp in ("turns", "pairs"):
        rule = YaRN(4096, original=4096, factor=4.0, ramp=ramp, whole_pairs=False)
        near = np.abs(4096 * rule.trained / (2 * pi) - 16.5).argmin()
        kept[ramp] = (rule.at(9).inverse[near] / rule.trained[near] * 4 - 1) / 3
    assert kept["turns"] == pytest.approx(0.5, abs=0.01)
    assert kept["pairs"] == pytest.approx(log(16.5) / log(32), abs=0.01)


@given(factor=st.floats(1, 64), theta=st.floats(1000, 1e6))
def test_llama_3s_rule_is_yarns_paper_with_other_ends_and_no_temperature(factor, theta):
    ours = Llama3(64, theta, original=8192, factor=factor).at(9)
    yarn = YaRN(64, theta, 8192, factor, beta_fast=4.0, beta_slow=1.0, ramp="turns", attention_factor=1.0).at(9)
    assert np.array_equal(ours.inverse, yarn.inverse)
    assert ours[1:] == yarn[1:] == (1.0, 1.0)


def test_yarns_temperature_counts_squared_in_the_scores_and_position_zero_cannot_tell():
    """transformers PR#47435, Megatron-LM #1429, mobius PR#548. One token's softmax is 1 whatever its score: two are needed."""
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 6, 64))
    plain, sharp = (YaRN(64, factor=16.0, attention_factor=factor).at(9) for factor in (1.0, None))
    scores = []
    for frequencies in (plain, sharp):
        turned_q, turned_k = rope(q, k, np.arange(6) + 5000, frequencies)
        scores.append(turned_q @ turned_k.T)
    assert np.allclose(scores[1], scores[0] * (0.1 * log(16) + 1) ** 2, rtol=1e-12, atol=1e-12)
    alone, together = ([softmax(s[:n, :n]) for s in scores] for n in (1, 6))
    assert np.array_equal(*alone)
    assert np.abs(np.subtract(*together)).max() > 0.01


@pytest.mark.parametrize(("mscale", "all_dim"), [(1.0, 1.0), (0.707, 0.707), (1.0, 0.0), (1.0, 0.707)])
def test_the_scores_of_a_whole_head_are_sharpened_as_deepseek_does(mscale, all_dim):
    """Megatron-LM #1429 took the square of the wrong one; transformers PR#47435 and mobius PR#548 left it out."""
    parameters = {
        **SCALINGS["yarn"],
        "factor": 40.0,
        "rope_theta": 10_000.0,
        "mscale": mscale,
        "mscale_all_dim": all_dim,
        "original_max_position_embeddings": ORIGINAL,
    }
    small = {"hidden_size": 64, "num_attention_heads": 2, "q_lora_rank": 16, "kv_lora_rank": 16}
    config = DeepseekV3Config(**small, rope_parameters=parameters, max_position_embeddings=40 * ORIGINAL)
    theirs = deepseek.DeepseekV3Attention(config, 0).scaling * sqrt(config.qk_nope_head_dim + config.qk_rope_head_dim)
    ours = YaRN(64, factor=40.0, mscale=mscale, mscale_all_dim=all_dim).at(9)
    assert ours.score_factor == pytest.approx(theirs, rel=1e-12)
    _, attention = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    assert ours.attention_factor == pytest.approx(attention, rel=1e-12)


def test_longrope_is_short_at_the_original_length_itself():
    """unsloth PR#10681: the first long length is one more."""
    rule = LongRoPE(4, original=100, factor=4.0, short=(1.0, 2.0), long=(3.0, 4.0))
    assert np.allclose(rule.trained / rule.at(100).inverse, [1, 2], rtol=1e-14, atol=0)
    assert np.allclose(rule.trained / rule.at(101).inverse, [3, 4], rtol=1e-14, atol=0)
    assert rule.at(100).attention_factor == rule.at(101).attention_factor == sqrt(1 + log(4) / log(100))


# What is refused


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Rule(5), r"^d is 5"),
        (lambda: Rule(4, -1.0), r"^theta is"),
        (lambda: Interpolation(4, factor=0.5), r"^factor is 0.5"),
        (lambda: Interpolation(4, factor=float("nan")), r"^factor is nan"),
        (lambda: NTKAware(2, factor=2.0), r"^d is 2, needs to be at least 4"),
        (lambda: DynamicNTK(4, original=0), r"^original is 0"),
        (lambda: DynamicNTK(2), r"^d is 2, needs to be at least 4"),
        (lambda: YaRN(4, factor=float("inf")), r"^factor is inf"),
        (lambda: YaRN(4, beta_fast=1.0, beta_slow=2.0), r"^beta_slow is 2.0 and beta_fast 1.0"),
        (lambda: YaRN(4, ramp="sides"), r"^ramp is 'sides'"),
        (lambda: Llama3(4, low=4.0, high=4.0), r"^low is 4.0 and high 4.0"),
        (lambda: LongRoPE(4, short=(1.0,), long=(1.0, 1.0)), r"^short has 1 factors, needs 2"),
        (lambda: LongRoPE(4, short=(1.0, 1.0), long=(1.0, 0.0)), r"^long has 2 factors, needs 2 finite ones above 0"),
        (lambda: LongRoPE(4, original=1, short=(1.0, 1.0), long=(1.0, 1.0)), r"^original is 1"),
        (lambda: Rule(4).at(0), r"^length is 0"),
    ],
)
def test_rules_out_of_range_are_refused_by_name(unchecked, make, said):
    with pytest.raises(ValueError, match=said):
        make()
