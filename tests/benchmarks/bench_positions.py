"""Turning queries and keys: our rotary against transformers' `apply_rotary_pos_emb`, in torch, both layouts.

python tests/benchmarks/bench_positions.py    prints the times, and the ratios as one line of JSON

Llama 3.1's shape, 32 heads of queries and 8 of keys, 128 features each, at 2,048 positions of one sequence; cosines and sines
are made before, as in a model, where all layers share them. The peers work in the dtype of their input: in bfloat16 they round
after each operation, and ours turns in float32 and rounds once. So bfloat16 is a ratio of two different results, and the
errors are printed beside it. The interleaved peer leaves features half-split and is spared the way
back. On a GPU, where there is one, each run is waited for.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from transformers import LlamaConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import apply_rotary_pos_emb_interleave
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from course_lib.costs import timers
from course_lib.explore import reference
from course_lib.positions import Frequencies, Layout, Rotation, inverse_frequencies, regroup, rotate, rotation

HEADS, KV_HEADS, LENGTH, D_HEAD = 32, 8, 2048, 128
FREQUENCIES = Frequencies(inverse_frequencies(D_HEAD))
PEERS = {"half": apply_rotary_pos_emb, "interleaved": apply_rotary_pos_emb_interleave}
Pair = tuple[torch.Tensor, torch.Tensor]


def main() -> None:
    """Checks, measures and prints."""
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ratios: dict[str, float] = {}
    shown: dict[str, tuple[float, float]] = {}
    print(
        f"{LENGTH} positions, {HEADS} + {KV_HEADS} heads of {D_HEAD}, {device}      ours, ms  transformers, ms   ratio"
    )
    for layout in ("half", "interleaved"):
        for dtype in (torch.float32, torch.bfloat16):
            for gradient in (False, True):
                name = f"{layout}, {str(dtype)[6:]}, {'with gradient' if gradient else 'forward'}"
                runs = measured(layout, dtype, gradient, device)
                shown[name] = tuple(1e3 * runs[who].median for who in ("ours", "transformers"))
                ours, theirs = shown[name]
                ratios[name] = theirs / ours
                print(f"{name:<40} {ours:14.2f} {theirs:17.2f} {theirs / ours:7.2f}")
    tables = timers(table_runs(device), repeats=15)
    table = {who: 1e3 * timing.median for who, timing in tables.items()}
    print(f"cosines and sines (float64 angles here)  {table['ours']:14.2f} {table['transformers']:17.2f} ", end="")
    print(f"{table['transformers'] / table['ours']:7.2f}")
    errors = bfloat16_errors(device)
    print(f"largest error in bfloat16: ours {errors[0]:.2g}, transformers {errors[1]:.2g}, of features up to about 5")
    headline = "half, float32, forward"
    summary = {
        "bench": "positions",
        "ours_ms": round(shown[headline][0], 3),
        "peer": "transformers apply_rotary_pos_emb",
        "peer_ms": round(shown[headline][1], 3),
        "ratio": round(ratios[headline], 2),
        "ratios": {name: round(ratio, 2) for name, ratio in ratios.items()},
        "table_ratio": round(table["transformers"] / table["ours"], 2),
        "bfloat16_error_ours": round(errors[0], 4),
        "bfloat16_error_peer": round(errors[1], 4),
        "input": f"1 x {HEADS} + {KV_HEADS} heads x {LENGTH} x {D_HEAD}, {device}; ratio: {headline}",
        "machine": reference.this_machine(),
    }
    print(json.dumps(summary))


def measured(layout: Layout, dtype: torch.dtype, gradient: bool, device: str) -> dict[str, Any]:
    """Both sides in turn on one input, after the check that they agree. Ends the program if they do not."""
    q, k = queries_and_keys(dtype, device)
    by = rotation(torch.arange(LENGTH, device=device), FREQUENCIES, q)
    table = [torch.cat([part, part], -1)[None].to(dtype) for part in by]  # the same angles for both sides

    def ours() -> Pair:
        return rotate(q, by, layout), rotate(k, by, layout)

    def theirs() -> Pair:
        return PEERS[layout](q, k, *table)

    with torch.no_grad():
        # Three operations of theirs are rounded to the dtype.
        allowed = 4 * torch.finfo(dtype).eps * max(float(x.abs().max()) for x in (q, k))
        for mine, other in zip(ours(), theirs(), strict=True):
            mine = regroup(mine, "interleaved", "half") if layout == "interleaved" else mine
            if float((mine - other).abs().max()) > allowed:
                raise SystemExit(f"{layout}, {dtype}: the two rotations differ: a ratio would mean nothing")
    both = {"ours": ours, "transformers": theirs}
    runs = {who: partial(once, side, q, k, gradient, device) for who, side in both.items()}
    return timers(runs, repeats=15)


def once(side: Callable[[], Pair], q: torch.Tensor, k: torch.Tensor, gradient: bool, device: str) -> None:
    """One run, and with the gradient of a sum of squares, which needs every output."""
    if gradient:
        q.requires_grad_(), k.requires_grad_()
        torch.autograd.grad(sum((x * x).sum() for x in side()), (q, k))
    else:
        with torch.no_grad():
            side()
    if device == "cuda":
        torch.cuda.synchronize()


def table_runs(device: str) -> dict[str, Callable[[], Any]]:
    """Making cosines and sines for all positions, once a forward pass."""
    config = LlamaConfig(hidden_size=HEADS * D_HEAD, num_attention_heads=HEADS)
    module, x = LlamaRotaryEmbedding(config).to(device), torch.zeros(1, device=device)
    where = torch.arange(LENGTH, device=device)

    def ours() -> Rotation:
        made = rotation(where, FREQUENCIES, x)
        if device == "cuda":
            torch.cuda.synchronize()
        return made

    def theirs() -> Pair:
        made = module(x, where[None])
        if device == "cuda":
            torch.cuda.synchronize()
        return made

    return {"ours": ours, "transformers": theirs}


def bfloat16_errors(device: str) -> tuple[float, float]:
    """Ours and theirs on one input in bfloat16, against float64."""
    q, k = queries_and_keys(torch.bfloat16, device)
    where = torch.arange(LENGTH, device=device)
    exact = rotate(q.double(), rotation(where, FREQUENCIES, q.double()))
    by = rotation(where, FREQUENCIES, q)
    table = [torch.cat([part, part], -1)[None].to(q.dtype) for part in by]
    theirs, _ = apply_rotary_pos_emb(q, k, *table)
    ours, peer = (float((found.double() - exact).abs().max()) for found in (rotate(q, by), theirs))
    return ours, peer


def queries_and_keys(dtype: torch.dtype, device: str) -> Pair:
    """Normal numbers from a seed, on the device."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, heads, LENGTH, D_HEAD) for heads in (HEADS, KV_HEADS))
    q, k = (torch.randn(shape, generator=generator).to(device, dtype) for shape in shapes)
    return q, k


if __name__ == "__main__":
    main()
