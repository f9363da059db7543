"""Parameters, scores, cache and operations against published totals, torch's own layers and torch's own counter."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from course_lib.costs import PRESETS, ModelShape, forward_flops, kv_cache_bytes, parameter_count, score_entries

# What transformers' `num_parameters()` reports for the published checkpoints; buffers, such as the causal masks that
# GPT-2's file stores, are no parameters.
PUBLISHED = {
    "GPT-2": 124_439_808,
    "SmolLM2-135M": 134_515_008,
    "Llama-2-7B": 6_738_415_616,
    "Mistral-7B-v0.1": 7_241_732_096,
    "Qwen2.5-7B": 7_615_616_512,
    "Llama-3.2-1B": 1_235_814_400,
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Llama-3.1-405B": 405_853_388_800,
}

LLAMA = PRESETS["Llama-3.1-8B"]
SMALL = ModelShape(
    name="small",
    source="made up for these tests",
    n_layers=3,
    d_model=20,
    n_heads=6,
    n_kv_heads=2,
    d_head=5,
    d_ff=28,
    gated=True,
    vocab_size=37,
    tied_embeddings=False,
    context_length=64,
)
shapes = st.builds(
    lambda layers, kv, group, d_head, d_model, d_ff, gated, tied: replace(
        SMALL,
        n_layers=layers,
        n_heads=kv * group,
        n_kv_heads=kv,
        d_head=d_head,
        d_model=d_model,
        d_ff=d_ff,
        gated=gated,
        tied_embeddings=tied,
    ),
    *[st.integers(1, 4)] * 3,
    *[st.integers(1, 9)] * 3,
    *[st.booleans()] * 2,
)
counts = st.integers(1, 40)


# Parameters


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_the_published_number_of_parameters(name):
    assert parameter_count(PRESETS[name]).total == PUBLISHED[name]


@pytest.mark.parametrize("biases", ["all", "none"])
@pytest.mark.parametrize(("layers", "heads", "d_head", "d_ff"), [(1, 1, 1, 1), (2, 3, 5, 7), (5, 2, 8, 33)])
def test_a_plain_block_has_the_parameters_of_torchs_own(layers, heads, d_head, d_ff, biases):
    width = heads * d_head
    layer = torch.nn.TransformerEncoderLayer(width, heads, d_ff, bias=biases == "all", device="meta")
    last_norm = torch.nn.LayerNorm(width, bias=biases == "all", device="meta")
    shape = replace(
        SMALL,
        n_layers=layers,
        n_heads=heads,
        n_kv_heads=heads,
        d_head=d_head,
        d_model=width,
        d_ff=d_ff,
        gated=False,
        biases=biases,
    )
    count = parameter_count(shape)

    def size(module):
        return sum(parameter.numel() for parameter in module.parameters())

    assert count.attention == layers * size(layer.self_attn)
    assert count.feed_forward == layers * (size(layer.linear1) + size(layer.linear2))
    assert count.norms == layers * (size(layer.norm1) + size(layer.norm2)) + size(last_norm)


def test_a_tied_unembedding_is_stored_once_and_read_all_the_same():
    untied, tied = (parameter_count(replace(SMALL, tied_embeddings=tied)) for tied in (False, True))
    table = 37 * 20
    assert untied.embedding == tied.embedding == untied.unembedding == table
    assert untied.total - tied.total == table
    assert untied.read_per_step == tied.read_per_step == untied.total - table


def test_rows_of_learned_positions_are_stored_and_not_read():
    plain, learned = (parameter_count(replace(SMALL, learned_positions=learned)) for learned in (False, True))
    assert learned.positions == learned.total - plain.total == 64 * 20
    assert learned.read_per_step == plain.read_per_step


# Score entries


@given(n=st.integers(0, 60), heads=st.integers(1, 5), layers=st.integers(1, 5), batch=st.integers(1, 5))
def test_score_entries_are_those_of_the_matrices_one_would_write_down(n, heads, layers, batch):
    square = np.ones((batch, layers, heads, n, n))
    assert score_entries(n, heads, layers, batch) == square.sum()
    assert score_entries(n, heads, layers, batch, causal=True) == np.tril(square).sum()


def test_score_entries_stay_exact_where_int64_and_floats_would_not():
    n = 10**10 + 1
    assert score_entries(n) == 100000000020000000001
    assert score_entries(n, causal=True) == 50000000015000000001
    assert isinstance(score_entries(7), int)


# Cache bytes


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [("Llama-3.1-8B", 131_072), ("Llama-2-7B", 524_288), ("SmolLM2-135M", 23_040), ("GPT-2", 36_864)],
)
def test_the_cache_of_one_token_by_hand(name, bytes_per_token):
    assert kv_cache_bytes(PRESETS[name], 1) == bytes_per_token


@given(
    shape=shapes, n=st.integers(0, 50), batch=st.integers(1, 4), dtype=st.sampled_from(["bfloat16", "float32", "int8"])
)
def test_the_cache_is_as_large_as_the_tensors_that_would_hold_it(shape, n, batch, dtype):
    size = (2, shape.n_layers, batch, shape.n_kv_heads, n, shape.d_head)
    tensor = torch.empty(size, dtype=getattr(torch, dtype), device="meta")
    assert kv_cache_bytes(shape, n, batch, tensor.itemsize) == tensor.nbytes


def test_grouped_queries_shrink_the_cache_by_the_size_of_a_group():
    every_head_its_own = replace(LLAMA, n_kv_heads=LLAMA.n_heads)
    assert kv_cache_bytes(every_head_its_own, 999) == 4 * kv_cache_bytes(LLAMA, 999)


def test_a_value_may_take_less_than_a_byte():
    assert kv_cache_bytes(LLAMA, 10, bytes_per_value=0.5) == kv_cache_bytes(LLAMA, 10) / 4


# Operations of a forward pass


def run_forward(shape: ModelShape, n_new: int, n_past: int, batch: int) -> None:
    """The matrix products of a decoder with grouped queries, on tensors that have a shape and no memory."""

    def weights(*size):
        return torch.empty(size, device="meta")

    d, h, h_kv, d_head = shape.d_model, shape.n_heads, shape.n_kv_heads, shape.d_head
    x = weights(batch, n_new, d)
    for _ in range(shape.n_layers):
        q = (x @ weights(d, h * d_head)).unflatten(-1, (h, d_head)).transpose(1, 2)
        k, v = (
            torch.cat([weights(batch, h_kv, n_past, d_head), new.unflatten(-1, (h_kv, d_head)).transpose(1, 2)], dim=2)
            for new in (x @ weights(d, h_kv * d_head), x @ weights(d, h_kv * d_head))
        )
        k, v = (each.repeat_interleave(h // h_kv, dim=1) for each in (k, v))
        read = torch.softmax(q @ k.mT, dim=-1) @ v
        x = x + read.transpose(1, 2).flatten(-2) @ weights(h * d_head, d)
        hidden = torch.relu(x @ weights(d, shape.d_ff))
        if shape.gated:
            hidden = hidden * (x @ weights(d, shape.d_ff))
        x = x + hidden @ weights(shape.d_ff, d)
    x @ weights(d, shape.vocab_size)


@given(shape=shapes, n_new=st.integers(1, 9), n_past=st.integers(0, 9), batch=st.integers(1, 3))
def test_operations_agree_with_those_that_torch_counts_in_a_forward_pass(shape, n_new, n_past, batch):
    with FlopCounterMode(display=False) as counter:
        run_forward(shape, n_new, n_past, batch)
    flops = forward_flops(shape, n_new, n_past, batch, causal=False)
    assert flops.total == counter.get_total_flops()
    assert flops.total == flops.weights + flops.attention == flops.blocks + flops.unembedding + flops.attention


@given(shape=shapes, n=st.integers(1, 30), split=st.integers(0, 29))
def test_a_prompt_costs_what_its_tokens_cost_one_by_one_or_in_two_parts(shape, n, split):
    whole = forward_flops(shape, n)
    assert whole.total == sum(forward_flops(shape, 1, past).total for past in range(n))
    if 0 < split < n:
        assert whole.total == forward_flops(shape, split).total + forward_flops(shape, n - split, split).total


@given(shape=shapes, n=counts)
def test_a_causal_mask_leaves_the_half_of_the_square_and_its_diagonal(shape, n):
    causal, square = forward_flops(shape, n), forward_flops(shape, n, causal=False)
    diagonal = 4 * shape.n_layers * shape.n_heads * shape.d_head * n
    assert 2 * causal.attention == square.attention + diagonal
    assert causal.weights == square.weights


@pytest.mark.parametrize(("name", "n"), [("SmolLM2-135M", 3_072), ("Llama-3.1-8B", 26_624)])
def test_one_decode_step_crosses_its_blocks_where_the_parameters_say(name, n):
    """n = N / (2·L·h·d_head), N being the weights of the blocks' matrices: six times the width if N is 12·L·d²."""
    step = forward_flops(PRESETS[name], 1, n - 1)
    assert step.attention == step.blocks


def test_the_textbook_block_crosses_at_six_widths_in_a_step_and_at_twelve_in_a_prompt():
    d = 64
    textbook = replace(SMALL, d_model=d, n_heads=4, n_kv_heads=4, d_head=16, d_ff=4 * d, gated=False)
    step = forward_flops(textbook, 1, 6 * d - 1)
    assert step.attention == step.blocks
    prompt = forward_flops(textbook, 12 * d - 1)  # the causal average over n tokens is (n + 1)/2 keys
    assert prompt.attention == prompt.blocks


# Curves


@given(n=st.lists(counts, min_size=1, max_size=6), batch=counts)
def test_an_array_of_lengths_gives_what_its_entries_give(n, batch):
    many = np.array(n)
    for causal in (False, True):
        assert score_entries(many, 2, 3, batch, causal).tolist() == [score_entries(i, 2, 3, batch, causal) for i in n]
        many_flops = forward_flops(SMALL, many, 7, batch, causal)
        each_flops = [forward_flops(SMALL, i, 7, batch, causal) for i in n]
        for part in ("total", "weights", "attention", "blocks", "unembedding"):
            many_part = np.broadcast_to(getattr(many_flops, part), many.shape)
            assert many_part.tolist() == [getattr(flops, part) for flops in each_flops]
    assert kv_cache_bytes(SMALL, many, batch).tolist() == [kv_cache_bytes(SMALL, i, batch) for i in n]
    assert kv_cache_bytes(SMALL, many[:, None], np.array([1, 2])).shape == (len(n), 2)


def test_narrow_integers_do_not_overflow():
    n = np.array([200_000], dtype=np.int32)
    assert score_entries(n) == 4e10
    assert kv_cache_bytes(LLAMA, n) == 131_072 * 2e5
    assert forward_flops(LLAMA, n, causal=False).attention == 4 * 32 * 4096 * 4e10
    assert n.tolist() == [200_000]


# Errors


@pytest.mark.parametrize("bad", [-1, 2.5, float("nan"), float("inf"), np.array([3, -1]), np.array([1.0, np.nan])])
def test_a_count_that_is_none_is_named(unchecked, bad):
    for name, call in {
        "n": lambda: score_entries(bad),
        "n_heads": lambda: score_entries(3, n_heads=bad),
        "n_layers": lambda: score_entries(3, n_layers=bad),
        "batch": lambda: score_entries(3, batch=bad),
        "n ": lambda: kv_cache_bytes(SMALL, bad),
        "batch ": lambda: kv_cache_bytes(SMALL, 3, bad),
        "n_new": lambda: forward_flops(SMALL, bad),
        "n_past": lambda: forward_flops(SMALL, 1, bad),
        "batch  ": lambda: forward_flops(SMALL, 1, 0, bad),
    }.items():
        with pytest.raises(ValueError, match=f"^{name.strip()} (is|has)"):
            call()


def test_what_must_be_at_least_one_is_not_nothing(unchecked):
    assert score_entries(0) == kv_cache_bytes(SMALL, 0) == 0
    for call in (
        lambda: score_entries(3, n_heads=0),
        lambda: score_entries(3, batch=0),
        lambda: kv_cache_bytes(SMALL, 3, batch=0),
        lambda: forward_flops(SMALL, 0),
    ):
        with pytest.raises(ValueError, match=r"is 0, needs .* at least 1"):
            call()


@pytest.mark.parametrize("bad", [0, -2, float("nan"), float("inf")])
def test_a_value_takes_some_bytes(bad):
    with pytest.raises(ValueError, match="bytes_per_value"):
        kv_cache_bytes(SMALL, 3, bytes_per_value=bad)
