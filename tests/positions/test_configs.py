"""Configurations read and applied, with nothing passed over; published models as transformers builds them."""

from copy import deepcopy

import numpy as np
import pytest
from transformers import DeepseekV3Config, GptOssConfig, LlamaConfig, Phi3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from course_lib.positions import DynamicNTK, Interpolation, Llama3, LongRoPE, Rule, YaRN, rotate, rotation
from course_lib.positions.configs import PUBLISHED, rule_from_config

LLAMA_3_1 = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 131_072,
    "rope_theta": 500_000.0,
    "rope_scaling": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
}


def test_scaling_that_was_read_is_applied_which_short_prompts_do_not_show():
    """unsloth PR#6197, mlxcel #1355. The queries of 64 tokens hardly differ from unscaled ones; those of 8,192 do."""
    rule = rule_from_config(LLAMA_3_1)
    assert rule == PUBLISHED["Llama 3.1 8B"].rule == Llama3(128, 500_000.0)
    x = np.ones((8192, 128))

    def turned(rule):
        return rotate(x, rotation(np.arange(8192), rule.at(8192), x))

    moved = np.abs(turned(rule) - turned(Rule(128, 500_000.0))).max(axis=-1)
    assert moved[:64].max() < 0.03 * moved.max()
    assert moved.max() > 2


def published_by_transformers() -> dict:
    phi = PUBLISHED["Phi-3.5-mini"].rule
    factors = {"short_factor": list(phi.short), "long_factor": list(phi.long)}
    yarn = {
        "rope_type": "yarn",
        "factor": 40.0,
        "original_max_position_embeddings": 4096,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    }
    return {
        "Llama 3.1 8B": LlamaConfig(**deepcopy(LLAMA_3_1)),
        "gpt-oss": GptOssConfig(),
        "Phi-3.5-mini": Phi3Config(
            max_position_embeddings=131_072, rope_theta=10_000.0, rope_scaling={"type": "longrope", **factors}
        ),
        "DeepSeek-V3": DeepseekV3Config(
            max_position_embeddings=163_840, rope_parameters={**yarn, "rope_theta": 10_000.0}
        ),
    }


@pytest.mark.parametrize("name", ["Llama 3.1 8B", "gpt-oss", "Phi-3.5-mini", "DeepSeek-V3"])
def test_published_rules_are_those_that_transformers_builds(name):
    """Also from transformers' own form of the configuration, which is another than the file's."""
    config, published = published_by_transformers()[name], PUBLISHED[name]
    assert rule_from_config(config.to_dict()) == published.rule
    for length in (published.trained_length, published.context_length):
        theirs, attention = ROPE_INIT_FUNCTIONS[config.rope_parameters["rope_type"]](config, "cpu", seq_len=length)
        ours = published.rule.at(length)
        assert np.allclose(ours.inverse, theirs.numpy(), rtol=(np.log(500_000) + 4 + 8 * 40) * 2**-23, atol=0)
        assert ours.attention_factor == pytest.approx(attention, rel=1e-12)


def test_the_lists_of_phi_are_as_long_and_add_up_as_in_its_file():
    """48 factors each, to the hundredth; their sums were taken from the file, so that a mistyped factor shows."""
    rule = PUBLISHED["Phi-3.5-mini"].rule
    assert [len(rule.short), len(rule.long)] == [48, 48]
    assert [round(sum(rule.short), 2), round(sum(rule.long), 2)] == [83.47, 1828.04]
    assert all(np.all(np.diff(factors) >= 0) for factors in (rule.short, rule.long))


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_rule_reaches_the_length_its_model_is_offered_for(name):
    """Sources are named, and of rules that stretch, the original length and factor cover the offered one."""
    published = PUBLISHED[name]
    assert published.source
    assert published.trained_length <= published.context_length
    frequencies = published.rule.at(published.context_length)
    assert np.all(frequencies.inverse > 0)
    # LongRoPE's lists may slow the first pair, too; no rule turns a pair faster than it was trained.
    assert np.all(frequencies.inverse <= published.rule.trained * (1 + 1e-12))
    original = getattr(published.rule, "original", None)
    if isinstance(published.rule, (YaRN, LongRoPE)):
        assert original * published.rule.factor == published.context_length


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rope_scaling": None}, Rule(128, 500_000.0)),
        ({"rope_scaling": None, "head_dim": 64}, Rule(64, 500_000.0)),
        ({"rope_scaling": None, "partial_rotary_factor": 0.25}, Rule(32, 500_000.0)),
        ({"rope_scaling": None, "qk_rope_head_dim": 64, "head_dim": 192}, Rule(64, 500_000.0)),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, Interpolation(128, 500_000.0, factor=2)),
        (
            {"rope_scaling": {"rope_type": "dynamic", "type": "dynamic", "factor": 2.0}, "max_position_embeddings": 9},
            DynamicNTK(128, 500_000.0, original=9, factor=2.0),
        ),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}, Rule(128, 7.0)),
        (
            {"rope_scaling": {"type": "yarn", "original_max_position_embeddings": 32_768}},
            YaRN(128, 500_000.0, original=32_768, factor=4.0),
        ),
        (
            {"rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 9, "beta_fast": None}},
            YaRN(128, 500_000.0, original=9, factor=2.0),
        ),
        (
            {
                "head_dim": 4,
                "original_max_position_embeddings": 4096,
                "rope_scaling": {"type": "su", "short_factor": [1, 2], "long_factor": [3, 4]},
            },
            LongRoPE(4, 500_000.0, original=4096, factor=32.0, short=(1, 2), long=(3, 4)),
        ),
    ],
)
def test_each_spelling_of_a_configuration_is_read(change, expected):
    assert rule_from_config(LLAMA_3_1 | change) == expected


def test_a_base_that_the_file_lacks_has_to_be_given(unchecked):
    config = {key: value for key, value in LLAMA_3_1.items() if key != "rope_theta"}
    assert rule_from_config(config, theta=500_000.0) == Llama3(128, 500_000.0)
    with pytest.raises(ValueError, match=r"^rope_theta is missing"):
        rule_from_config(config)


@pytest.mark.parametrize(
    ("scaling", "said"),
    [
        ({"type": "proportional"}, r"^rope_type is \['proportional'\], needs to be one of default, linear"),
        ({"type": "linear", "rope_type": "yarn", "factor": 2.0}, r"^rope_type is \["),
        ({"type": "linear"}, r"^factor is missing"),
        ({"type": "linear", "factor": 0.5}, r"^factor is 0.5"),
        ({"type": "linear", "factor": 2.0, "alpha": 3.0}, r"^linear scaling has alpha, needs no key but factor"),
        ({"type": "default", "factor": 2.0}, r"^default scaling has factor, needs no key but none"),
        ({"type": "yarn", "factor": 2.0}, r"^original_max_position_embeddings is missing"),
        ({"type": "llama3", "original_max_position_embeddings": 9}, r"^factor is missing"),
        ({"type": "longrope", "factor": 2.0, "original_max_position_embeddings": 9}, r"^short has 0 factors, needs 64"),
        ({"full_attention": {"rope_type": "default"}}, r"^rope_parameters has one set each for full_attention"),
    ],
)
def test_what_would_be_passed_over_is_refused(unchecked, scaling, said):
    with pytest.raises(ValueError, match=said):
        rule_from_config(LLAMA_3_1 | {"rope_scaling": scaling})


def test_a_configuration_without_a_head_size_is_refused(unchecked):
    with pytest.raises(ValueError, match=r"^num_attention_heads is missing"):
        rule_from_config({"hidden_size": 64, "rope_theta": 1e4})
