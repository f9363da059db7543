"""The rule that a model's configuration file asks for, and the rules of models one meets.

A configuration that is read and then not applied looks right on every short prompt: that has happened to llama3 scaling more
than once, since up to a few thousand tokens the slow pairs have hardly moved. So nothing is passed over here. A kind of
scaling that is not known is refused, and so is a key that its rule has no use for.

    rope_scaling, rope_parameters   the part of config.json that says how frequencies are scaled; the second is transformers 5
    rope_type, type                 its kind; "su" is an old name of "longrope"
    layout                          which features make a pair in the published weights, as in `rotary`
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_lib.positions.by_parts import Llama3, YaRN
from course_lib.positions.longrope import LongRoPE
from course_lib.positions.rotary import Layout
from course_lib.positions.scaling import DynamicNTK, Interpolation, Rule

_LONG = {"factor": "factor", "attention_factor": "attention_factor"}

# Each kind's rule, and which of its fields each key of a configuration fills.
_KINDS: dict[str, tuple[type[Rule], dict[str, str]]] = {
    "default": (Rule, {}),
    "linear": (Interpolation, {"factor": "factor"}),
    "dynamic": (DynamicNTK, {"factor": "factor"}),
    "yarn": (
        YaRN,
        {
            **_LONG,
            "beta_fast": "beta_fast",
            "beta_slow": "beta_slow",
            "mscale": "mscale",
            "mscale_all_dim": "mscale_all_dim",
            "truncate": "whole_pairs",
        },
    ),
    "longrope": (LongRoPE, {**_LONG, "short_factor": "short", "long_factor": "long"}),
    "llama3": (Llama3, {"factor": "factor", "low_freq_factor": "low", "high_freq_factor": "high"}),
}


@dataclass(frozen=True)
class Published:
    """How a published model turns its queries and keys."""

    rule: Rule
    trained_length: int
    """Positions that the frequencies were trained for, before any scaling."""
    context_length: int
    """Positions that the model is offered for."""
    source: str
    layout: Layout = "half"
    """As in the weights that transformers loads."""
    checked: bool = True
    """Whether the numbers were compared with a copy of the source, and not written from memory."""


def rule_from_config(config: Mapping[str, Any], theta: float | None = None) -> Rule:
    """The rule of a config.json, read as transformers reads it.

    Args:
        config: what the file holds.
        theta: the base where the file names none; without it, that is refused, as families differ in their default.

    Raises:
        ValueError: the kind of scaling is unknown, a number that it needs is missing or out of range, or there is a key that
            it has no use for.
    """
    scaling = {key: value for key, value in _scaling(config).items() if value is not None}
    kinds = {scaling.pop(key, None) for key in ("rope_type", "type")} - {None}
    kind = kinds.pop() if kinds else "default"
    kind = "longrope" if kind == "su" else kind
    if kinds or kind not in _KINDS:
        raise ValueError(f"rope_type is {[kind, *kinds]}, needs to be one of {', '.join(_KINDS)}")
    rule, names = _KINDS[kind]
    base = scaling.pop("rope_theta", config.get("rope_theta", theta))
    if base is None:
        raise ValueError("rope_theta is missing, needs to be in the configuration or given as theta")
    partial = scaling.pop("partial_rotary_factor", config.get("partial_rotary_factor") or 1.0)
    original = scaling.pop("original_max_position_embeddings", config.get("original_max_position_embeddings"))
    fields: dict[str, Any] = {"d": int(_head_size(config) * partial), "theta": float(base)}
    if kind == "dynamic":
        fields["original"] = int(_required(config, "max_position_embeddings"))
    elif "original" in rule.__dataclass_fields__:
        fields["original"] = int(
            _required({"original_max_position_embeddings": original}, "original_max_position_embeddings")
        )
        if "factor" not in scaling and kind in ("yarn", "longrope"):
            scaling["factor"] = _required(config, "max_position_embeddings") / fields["original"]
    unused = scaling.keys() - names.keys()
    if unused:
        raise ValueError(
            f"{kind} scaling has {', '.join(sorted(unused))}, needs no key but {', '.join(names) or 'none'}"
        )
    if "factor" in names:
        _required(scaling, "factor")
    for key, value in scaling.items():
        fields[names[key]] = tuple(map(float, value)) if isinstance(value, (list, tuple)) else value
    return rule(**fields)


def _scaling(config: Mapping[str, Any]) -> dict[str, Any]:
    scaling = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    nested = [key for key, value in scaling.items() if isinstance(value, Mapping)]
    if nested:
        raise ValueError(f"rope_parameters has one set each for {', '.join(nested)}, needs to be a single one of them")
    return scaling


def _head_size(config: Mapping[str, Any]) -> int:
    size = config.get("qk_rope_head_dim") or config.get("head_dim")
    return int(size or _required(config, "hidden_size") // _required(config, "num_attention_heads"))


def _required(config: Mapping[str, Any], key: str) -> Any:
    if config.get(key) is None:
        raise ValueError(f"{key} is missing, needs to be in the configuration")
    return config[key]


# Rounded to the hundredths in which they were searched; the file has their float32 neighbours.
_PHI_3_5_SHORT = (
    *(1.0, 1.02, 1.03, 1.03, 1.05, 1.05, 1.05, 1.05, 1.05, 1.07, 1.1, 1.11, 1.16, 1.16, 1.17, 1.29),
    *(1.34, 1.68, 1.79, 1.82, 1.85, 1.88, 1.91, 1.94, 1.99, *[2.02] * 6, *[2.03] * 9),
    *(2.08, 2.09, 2.19, 2.22, 2.59, 2.73, 2.75, 2.84),
)
_PHI_3_5_LONG = (
    *(1.08, 1.11, 1.14, 1.34, 1.59, 1.6, 1.62, 2.62, 3.23, 3.23, 4.79, 7.4, 7.7, 9.09, 12.2, 17.67),
    *(24.46, 28.57, 30.42, 30.84, 32.59, 32.93, 42.32, 44.96, 50.34, 50.45, 57.55, 57.93, 58.21, 60.14, 62.61, 62.62),
    *(62.71, 63.14, 63.14, 63.77, 63.93, 63.96, 63.97, 64.03, 64.07, 64.08, 64.12, 64.41, 64.48, 64.51, 64.53, 64.84),
)

PUBLISHED: dict[str, Published] = {
    "Pythia (GPT-NeoX)": Published(
        Rule(16), 2048, 2048, "GPTNeoXConfig: a quarter of a head of 64 is turned; Biderman et al., 2023"
    ),
    "Llama 2 7B": Published(Rule(128), 4096, 4096, "Touvron et al., 2023b; LlamaConfig's base of 10,000"),
    "Code Llama 7B": Published(
        Rule(128, 1_000_000.0), 16_384, 100_000, "Rozière et al., 2023, §2.4: a larger base, trained on 16,384"
    ),
    "nomic-embed-text v1": Published(
        DynamicNTK(64, 1000.0, original=2048, factor=2.0),
        2048,
        8192,
        "Nussbaum et al., 2025: base 1,000, dynamic NTK; the factor from its model card",
        checked=False,
    ),
    "Mistral 7B v0.1": Published(
        Rule(128),
        8192,
        32_768,
        "Jiang et al., 2023, Table 1 (8,192 and a window of 4,096); its config.json says 32,768",
    ),
    "Mistral 7B v0.2": Published(
        Rule(128, 1_000_000.0), 32_768, 32_768, "model card of mistralai/Mistral-7B-Instruct-v0.2"
    ),
    "SmolLM2-135M": Published(Rule(64, 100_000.0), 8192, 8192, "config.json of HuggingFaceTB/SmolLM2-135M"),
    "Llama 3 8B": Published(Rule(128, 500_000.0), 8192, 8192, "Grattafiori et al., 2024, §3.2; config.json"),
    "Llama 3.1 8B": Published(Llama3(128, 500_000.0), 8192, 131_072, "config.json of meta-llama/Llama-3.1-8B"),
    "Llama 3.2 1B": Published(
        Llama3(64, 500_000.0, factor=32.0), 8192, 131_072, "config.json of meta-llama/Llama-3.2-1B"
    ),
    "Phi-3.5-mini": Published(
        LongRoPE(96, original=4096, factor=32.0, short=_PHI_3_5_SHORT, long=_PHI_3_5_LONG),
        4096,
        131_072,
        "config.json of microsoft/Phi-3.5-mini-instruct; attention factor from s = 131,072/4,096",
    ),
    "Qwen2.5 7B, long": Published(
        YaRN(128, 1_000_000.0, original=32_768, factor=4.0),
        32_768,
        131_072,
        "model card of Qwen/Qwen2.5-7B-Instruct, Processing Long Texts",
    ),
    "DeepSeek-V3": Published(
        YaRN(64, original=4096, factor=40.0, mscale=1.0, mscale_all_dim=1.0),
        4096,
        163_840,
        "config.json of deepseek-ai/DeepSeek-V3; the report offers 128k",
        layout="interleaved",
    ),
    "gpt-oss": Published(
        YaRN(64, 150_000.0, original=4096, factor=32.0, whole_pairs=False),
        4096,
        131_072,
        "GptOssConfig in transformers",
    ),
}
