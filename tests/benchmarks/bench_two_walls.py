"""The two walls on this machine: attention at growing lengths, and weights read once for 1 token or for 64.

python tests/benchmarks/bench_two_walls.py             prints the measurements, and the ratios as one line of JSON
python tests/benchmarks/bench_two_walls.py --record    also keeps them as the reference run that lecture 00 shows
"""

import argparse
import json
import os

# Before NumPy is loaded. One core, as in the lecture: on a shared machine a second thread mostly waits for its turn.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from course_lib.costs.measure_walls import (
    measure_attention,
    measure_passes,
    one_by_one,
    random_weights,
    reading_rate,
    through,
)
from course_lib.explore import reference

COMMAND = "python tests/benchmarks/bench_two_walls.py --record"


def main() -> None:
    """Measures, prints, and records if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep the result as lecture 00's reference run")
    record = parser.parse_args().record

    weights = random_weights()
    states = one_by_one(weights[0][0], weights, n=64)
    error = float(np.abs(through(states[:-1], weights) - states[1:]).max())
    if error > 1e-3:
        raise SystemExit(f"one by one and together differ by {error:.2g}: a ratio would mean nothing")
    attention = measure_attention(repeats=9)
    passes = measure_passes(weights, repeats=9)
    rate = reading_rate(weights, repeats=9)

    for run in attention:
        print(f"attention, {run.n:>5} tokens    {run.seconds * 1e3:8.2f} ms    {run.peak_bytes / 1e6:7.1f} MB")
    for run in passes:
        rates = f"{run.bytes_per_second / 1e9:6.1f} GB/s {run.flops_per_second / 1e9:8.1f} GFLOP/s"
        print(f"weights, {run.positions:>3} together      {run.seconds_per_token * 1e3:8.2f} ms a token    {rates}")
    values = {
        "00.attention": attention[-1].seconds / attention[0].seconds,
        "00.decoding": passes[0].seconds_per_token / passes[-1].seconds_per_token,
        "attention_n": [run.n for run in attention],
        "attention_seconds": [run.seconds for run in attention],
        "attention_bytes": [run.peak_bytes for run in attention],
        "pass_positions": [run.positions for run in passes],
        "pass_seconds_per_token": [run.seconds_per_token for run in passes],
        "pass_bytes_per_second": [run.bytes_per_second for run in passes],
        "reading_rate": rate,
    }
    if record:
        print(f"recorded in {reference.record('two_walls', values, COMMAND).name}")
    one_by_one_ms, together_ms = (run.seconds_per_token * 1e3 for run in (passes[0], passes[-1]))
    summary = {
        "bench": "two_walls",
        "one_by_one_ms": round(one_by_one_ms, 3),
        "peer": "64 tokens in one pass",
        "peer_ms": round(together_ms, 3),
        "ratio": round(values["00.decoding"], 2),
        "attention_ratio": round(values["00.attention"], 2),
        "read_GB_per_s": round(rate / 1e9, 1),
        "input": "12 float32 matrices of 2048 x 2048; attention of one head of 64 at 1024 to 4096 tokens",
        "machine": reference.this_machine(),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
