"""The few numbers that fix what a decoder-only transformer costs, and those of models that were published.

A model's price is decided by its shape, not by what it learned. `ModelShape` holds the shape in the words of the model's
own configuration file; `PRESETS` holds the shapes of models one meets, each with the place where its numbers stand.

    L, d           n_layers, d_model         blocks, width of the residual stream
    h, h_kv        n_heads, n_kv_heads       query heads, and heads of keys and values; they differ under grouped-query
                                             attention (Ainslie et al., 2023)
    d_head         width of a head           h · d_head need not equal d
    d_ff           feed-forward width        a gated layer (SwiGLU; Shazeer, 2020) has three matrices, a plain one two
    V              vocab_size                rows of the embedding table
"""

from dataclasses import dataclass, fields
from numbers import Integral

BIASES = ("none", "qkv", "all")


@dataclass(frozen=True)
class ModelShape:
    """The shape of a decoder-only transformer.

    Attributes:
        name: the name it was published under.
        n_layers, d_model, n_heads, n_kv_heads, d_head, d_ff, vocab_size: as in the module's glossary.
        gated: three feed-forward matrices (SwiGLU) instead of two.
        tied_embeddings: the unembedding is the embedding table, stored once.
        context_length: the longest sequence it was published for, in tokens.
        source: where these numbers stand.
        biases: "none"; "qkv", on the query, key and value projections; or "all", on every linear map and norm.
        learned_positions: it stores one learned vector for each of `context_length` positions.

    Raises:
        ValueError: a size is not a positive integer, the query heads do not divide among the key-value heads, or
            `biases` is none of the three words.
    """

    name: str
    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int
    gated: bool
    vocab_size: int
    tied_embeddings: bool
    context_length: int
    source: str
    biases: str = "none"
    learned_positions: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{field.name} is {value!r}, needs to be an integer of at least 1")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_kv_heads is {self.n_kv_heads}, needs to divide n_heads = {self.n_heads}: "
                "every key-value head serves equally many query heads"
            )
        if self.biases not in BIASES:
            raise ValueError(f"biases is {self.biases!r}, needs to be one of {', '.join(map(repr, BIASES))}")


def _llama(
    name: str, source: str, sizes: tuple[int, ...], tied_embeddings: bool = False, biases: str = "none"
) -> ModelShape:
    """A model built as Llama is: gated feed-forward, RMSNorm, rotary positions. `sizes` as in the table's head."""
    n_layers, d_model, n_heads, n_kv_heads, d_head, d_ff, vocab_size, context_length = sizes
    return ModelShape(
        name=name,
        n_layers=n_layers,
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_ff=d_ff,
        gated=True,
        vocab_size=vocab_size,
        tied_embeddings=tied_embeddings,
        context_length=context_length,
        source=source,
        biases=biases,
    )


LLAMA_3 = "Grattafiori et al., 2024 (The Llama 3 Herd of Models), Table 3; config.json of meta-llama/"

PRESETS: dict[str, ModelShape] = {
    shape.name: shape
    for shape in (
        ModelShape(
            name="GPT-2",
            source="config.json of openai-community/gpt2; Radford et al., 2019, Table 2 (its smallest model)",
            n_layers=12,
            d_model=768,
            n_heads=12,
            n_kv_heads=12,
            d_head=64,
            d_ff=3072,
            gated=False,
            vocab_size=50_257,
            tied_embeddings=True,
            context_length=1024,
            biases="all",
            learned_positions=True,
        ),
        _llama(
            "SmolLM2-135M",
            "config.json of HuggingFaceTB/SmolLM2-135M",
            (30, 576, 9, 3, 64, 1536, 49_152, 8192),
            tied_embeddings=True,
        ),
        _llama(
            "Llama-2-7B",
            "Touvron et al., 2023; config.json of meta-llama/Llama-2-7b-hf",
            (32, 4096, 32, 32, 128, 11_008, 32_000, 4096),
        ),
        _llama(
            "Mistral-7B-v0.1",
            "Jiang et al., 2023, Table 1; config.json of mistralai/Mistral-7B-v0.1 (window of 4,096 left out)",
            (32, 4096, 32, 8, 128, 14_336, 32_000, 32_768),
        ),
        _llama(
            "Qwen2.5-7B",
            "config.json of Qwen/Qwen2.5-7B",
            (28, 3584, 28, 4, 128, 18_944, 152_064, 131_072),
            biases="qkv",
        ),
        _llama(
            "Llama-3.2-1B",
            "config.json of meta-llama/Llama-3.2-1B",
            (16, 2048, 32, 8, 64, 8192, 128_256, 131_072),
            tied_embeddings=True,
        ),
        _llama("Llama-3.1-8B", LLAMA_3 + "Llama-3.1-8B", (32, 4096, 32, 8, 128, 14_336, 128_256, 131_072)),
        _llama("Llama-3.1-70B", LLAMA_3 + "Llama-3.1-70B", (80, 8192, 64, 8, 128, 28_672, 128_256, 131_072)),
        _llama("Llama-3.1-405B", LLAMA_3 + "Llama-3.1-405B", (126, 16_384, 128, 8, 128, 53_248, 128_256, 131_072)),
    )
}
