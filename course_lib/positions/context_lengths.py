"""From two thousand positions to a million: what models were offered for, and by what means, as their makers tell it.

No row says that a rule alone carried a model so far. Where the makers tell, there was a larger base or a rule, then training
on long text; where they do not, the table says so and guesses nothing. Offered is not used: how much of a long context a
model draws on is another question (Liu et al., 2024, Lost in the middle).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ContextLength:
    """One model: the longest sequence it is offered for, and what is known of the means."""

    model: str
    year: int
    context: int
    means: str
    source: str
    theta: float | None = None
    """Base of its rotary frequencies, where it has them and they are known."""
    checked: bool = True
    """Whether the context and θ were compared with the source, or a copy of it, and not written from memory."""


CONTEXT_LENGTHS: tuple[ContextLength, ...] = (
    ContextLength(
        "GPT-2", 2019, 1024, "learned vectors, one for each position", "GPT2Config: n_positions; Radford et al., 2019"
    ),
    ContextLength(
        "GPT-3", 2020, 2048, "learned vectors, one for each position", "Brown et al., 2020, §2.1", checked=False
    ),
    ContextLength("LLaMA", 2023, 2048, "RoPE", "Touvron et al., 2023a; LlamaConfig", theta=10_000.0),
    ContextLength(
        "MPT-7B-StoryWriter",
        2023,
        65_536,
        "ALiBi, fine-tuned on 65k; its makers wrote 84k with it",
        "model card of mosaicml/mpt-7b-storywriter",
    ),
    ContextLength("Llama 2", 2023, 4096, "RoPE", "Touvron et al., 2023b, Table 1", theta=10_000.0),
    ContextLength("Claude 2", 2023, 100_000, "not disclosed", "Anthropic's announcement, July 2023", checked=False),
    ContextLength(
        "Code Llama",
        2023,
        100_000,
        "a larger base and 20 billion more tokens in sequences of 16,384; beyond them it extrapolates",
        "Rozière et al., 2023, abstract and §2.4",
        theta=1_000_000.0,
    ),
    ContextLength(
        "Mistral 7B v0.1",
        2023,
        8192,
        "RoPE; each layer sees a window of 4,096",
        "Jiang et al., 2023, Table 1",
        theta=10_000.0,
    ),
    ContextLength(
        "Mistral 7B v0.2",
        2023,
        32_768,
        "a larger base, no window",
        "model card of mistralai/Mistral-7B-Instruct-v0.2",
        theta=1_000_000.0,
    ),
    ContextLength(
        "Gemini 1.5 Pro",
        2024,
        1_000_000,
        "not disclosed; up to 10 million tried in research",
        "Google's announcement, February 2024",
    ),
    ContextLength(
        "Llama 3",
        2024,
        8192,
        "RoPE with a larger base from the start",
        "Grattafiori et al., 2024, §3.2",
        theta=500_000.0,
    ),
    ContextLength(
        "Llama 3.1",
        2024,
        131_072,
        "the base of Llama 3, rescaled by parts (factor 8), and long continued training in six stages",
        "config.json of meta-llama/Llama-3.1-8B; Grattafiori et al., 2024, §3.4.2",
        theta=500_000.0,
    ),
    ContextLength(
        "Phi-3.5-mini",
        2024,
        131_072,
        "LongRoPE from 4,096",
        "config.json of microsoft/Phi-3.5-mini-instruct; Abdin et al., 2024",
        theta=10_000.0,
    ),
    ContextLength(
        "Qwen2.5 7B",
        2024,
        131_072,
        "YaRN (factor 4) from 32,768, at inference",
        "model card of Qwen/Qwen2.5-7B-Instruct",
        theta=1_000_000.0,
    ),
    ContextLength(
        "DeepSeek-V3",
        2024,
        131_072,
        "YaRN (factor 40) from 4,096, trained on 32k, then on 128k",
        "DeepSeek-AI, 2024, §4.3",
        theta=10_000.0,
        checked=False,
    ),
    ContextLength(
        "Qwen2.5-7B-Instruct-1M",
        2025,
        1_000_000,
        "larger bases as training grows to 256k; fourfold beyond by dual chunk attention",
        "Yang et al., 2025 (Qwen2.5-1M Technical Report)",
        theta=10_000_000.0,
    ),
)
