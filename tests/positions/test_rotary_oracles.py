"""Rotation against transformers in both layouts, and the mistakes that other programs made with it.

transformers takes its angles in float32. Given its cosines and sines, our rotation has the same operations; given positions,
the two differ by the rounding of m·θᵢ: a float32 power for θᵢ and a product, (ln θ + 4)·ε of the angle together.
"""

from math import log

import numpy as np
import pytest
import torch
from transformers import DeepseekV3Config, GPTNeoXConfig, LlamaConfig
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.gpt_neox import modeling_gpt_neox as neox
from transformers.models.llama import modeling_llama as llama

from course_lib.positions import Frequencies, Rotation, inverse_frequencies, regroup, rope, rotate, rotation

EPS = 2**-23
POSITIONS = torch.tensor([[0, 1, 2, 3, 900], [4000, 17, 17, 4090, 5]])


def queries_and_keys(d_head: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    return tuple(torch.tensor(rng.normal(size=(2, heads, 5, d_head)), dtype=torch.float32) for heads in (6, 2))


def allowed(x: torch.Tensor, theta: float = 10_000.0) -> float:
    """Two features' worth of the angle's error at the largest position, and of four roundings."""
    return 2 * float(x.abs().max()) * EPS * ((log(theta) + 4) * int(POSITIONS.max()) + 4)


def half_pairs(table: torch.Tensor) -> torch.Tensor:
    """transformers repeats each angle for both features of its pair."""
    return table[..., : table.shape[-1] // 2]


@pytest.mark.parametrize("theta", [10_000.0, 500_000.0])
def test_half_split_is_the_rotation_of_llama(theta):
    q, k = queries_and_keys(16)
    parameters = {"rope_type": "default", "rope_theta": theta}
    module = llama.LlamaRotaryEmbedding(LlamaConfig(hidden_size=96, num_attention_heads=6, rope_parameters=parameters))
    cos, sin = module(q, POSITIONS)
    theirs = llama.apply_rotary_pos_emb(q, k, cos, sin)
    ours = rope(q, k, POSITIONS, Frequencies(inverse_frequencies(16, theta)))
    same_table = Rotation(half_pairs(cos), half_pairs(sin))
    for x, mine, other in zip((q, k), ours, theirs, strict=True):
        assert (mine - other).abs().max() <= allowed(x, theta)
        assert (rotate(x, same_table) - other).abs().max() <= 4 * EPS * x.abs().max()


def test_interleaved_is_the_rotation_of_deepseek_which_leaves_features_regrouped():
    """Its result comes back half-split: scores cannot tell, a key that is compared feature by feature can."""
    q, k = queries_and_keys(16)
    config = DeepseekV3Config(qk_rope_head_dim=16, rope_parameters={"rope_type": "default", "rope_theta": 10_000.0})
    cos, sin = deepseek.DeepseekV3RotaryEmbedding(config)(q, POSITIONS)
    theirs = deepseek.apply_rotary_pos_emb_interleave(q, k, cos, sin)
    ours = rope(q, k, POSITIONS, Frequencies(inverse_frequencies(16)), "interleaved")
    same_table = Rotation(half_pairs(cos), half_pairs(sin))
    for x, mine, other in zip((q, k), ours, theirs, strict=True):
        assert (regroup(mine, "interleaved", "half") - other).abs().max() <= allowed(x)
        again = regroup(rotate(x, same_table, "interleaved"), "interleaved", "half")
        assert (again - other).abs().max() <= 4 * EPS * x.abs().max()


def test_partial_rotation_is_that_of_gpt_neox():
    """A quarter of each head is turned: the first features, in pairs of their own half-split."""
    q, k = queries_and_keys(32)
    config = GPTNeoXConfig(hidden_size=192, num_attention_heads=6)
    cos, sin = neox.GPTNeoXRotaryEmbedding(config)(q, POSITIONS)
    assert cos.shape[-1] == 8
    theirs = neox.apply_rotary_pos_emb(q, k, cos, sin)
    for x, mine, other in zip((q, k), rope(q, k, POSITIONS, Frequencies(inverse_frequencies(8))), theirs, strict=True):
        assert (mine - other).abs().max() <= allowed(x)


def test_regrouped_weights_turn_a_checkpoint_of_one_layout_into_the_other():
    """transformers #25199: converted weights, rotation not; whole projections and grouped heads, at positions other than 0."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5, 24))
    weights = {heads: rng.normal(size=(heads, 16, 24)) for heads in (6, 2)}  # rows of the projections, by heads
    where, frequencies = np.array([3, 900, 4000, 17, 0]), Frequencies(inverse_frequencies(16))

    def scores(layout, weights):
        q, k = rope(x @ weights[6].mT, x @ weights[2].mT, where, frequencies, layout)
        return q @ np.repeat(k, 3, axis=0).mT

    converted = {heads: regroup(rows.mT, "interleaved", "half").mT for heads, rows in weights.items()}
    wanted = scores("interleaved", weights)
    scale = np.abs(wanted).max()
    assert np.abs(scores("half", converted) - wanted).max() <= 100 * 2**-52 * scale
    assert np.abs(scores("half", weights) - wanted).max() >= 0.1 * scale  # converted neither


@pytest.mark.parametrize(("q_layout", "k_layout"), [("half", "interleaved"), ("interleaved", "half")])
def test_layouts_mixed_agree_at_position_zero_and_lose_the_distance_elsewhere(q_layout, k_layout):
    """vllm-metal PR#44, ERNIE-Image #6: what tells a mixture is a common shift, at positions other than 0."""
    q, k = (x.double() for x in queries_and_keys(16))

    def scores(shift, layouts=(q_layout, k_layout)):
        by = rotation(torch.arange(5) + shift, Frequencies(inverse_frequencies(16)), q)
        return rotate(q, by, layouts[0])[:, :2] @ rotate(k, by, layouts[1]).mT

    scale = float(scores(0).abs().max())
    assert torch.equal(scores(0)[..., 0, 0], (q[:, :2] @ k.mT)[..., 0, 0])
    assert (scores(3000) - scores(0)).abs().max() >= 0.1 * scale
    for layout in ("half", "interleaved"):
        same = layout, layout
        assert (scores(3000, same) - scores(0, same)).abs().max() <= 2 * 16 * 3000 * 2**-52 * scale


def test_values_that_are_turned_too_move_with_a_common_shift_though_scores_agree():
    """What rotation is for queries and keys it is not for values: their sum is no product of two turns."""
    q, k = (x.double() for x in queries_and_keys(16))
    frequencies = Frequencies(inverse_frequencies(16))

    def attention(shift, values_too):
        by = rotation(torch.arange(5) + shift, frequencies, q)
        weights = torch.softmax(rotate(q, by)[:, :2] @ rotate(k, by).mT, -1)
        return weights, weights @ (rotate(k, by) if values_too else k)

    for values_too, moved in ((False, False), (True, True)):
        (w_0, o_0), (w_1, o_1) = attention(0, values_too), attention(700, values_too)
        assert (w_1 - w_0).abs().max() <= 1e-10
        assert bool((o_1 - o_0).abs().max() > 0.1) == moved
