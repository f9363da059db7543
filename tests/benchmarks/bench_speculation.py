"""Speculative decoding against ordinary decoding by the same target, on real text; verification against transformers'.

python tests/benchmarks/bench_speculation.py             prints the tables, and the ratios as one line of JSON
python tests/benchmarks/bench_speculation.py --record    also keeps them as the reference run that lecture 04 shows

An order-4 model of prose (Python's language reference) and one of code (its standard library), trained on the first nine
tenths, speculate with their own order 3, at temperature 1, batch 1; each once bare, once with twelve float32 matrices read by
NumPy in each target run and one in each draft run, once with bfloat16 ones multiplied by torch. Greedy texts with and without
a draft must be the same before anything is timed.

Where prediction and measurement part by more than a fifth, there are two reasons. In held-out prose two positions in five have
a context that the target never saw, where it falls back on the draft's own row and α is 1, but in what it writes itself one in
eleven, so that α and with it the tokens a round come out lower in decoding; and the loop itself draws γ tokens and verifies them
in one to two milliseconds of Python, a tenth of a round where a target run takes ten, and four fifths of it with bare models.
"""

import argparse
import json
import os
from functools import partial
from time import perf_counter

# Before NumPy is loaded. One core, as in the lecture: on a shared machine a second thread mostly waits for its turn.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from course_lib.arrays import softmax
from course_lib.costs import random_weights, timers
from course_lib.explore import reference
from course_lib.speculation.decoding import Model, decode, speculative_decode
from course_lib.speculation.measure import (
    Acceptance,
    Costs,
    Speedup,
    WeightBound,
    measure_acceptance,
    measure_costs,
    measure_speedup,
    sixteen_bit_weights,
)
from course_lib.speculation.ngrams import NGramModel
from course_lib.speculation.settings import SamplingSettings
from course_lib.speculation.verification import verify_and_emit
from course_lib.speculation.words import KINDS, Vocabulary, real_text

COMMAND = "python tests/benchmarks/bench_speculation.py --record"
GAMMA = 4
PROMPTS, PROMPT, N_NEW = 4, 64, 40
STACKS = "bare", "float32", "bfloat16"


def main() -> None:
    """Checks, measures, prints, and records if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep the result as lecture 04's reference run")
    record = parser.parse_args().record
    torch.set_num_threads(1)
    start = perf_counter()

    weights = {"float32": random_weights(), "bfloat16": sixteen_bit_weights()}
    rows: dict[str, tuple[Acceptance, Costs, Speedup]] = {}
    for kind in KINDS:
        target, held_out, perplexity = trained(kind)
        draft = target.lower(3)
        prompts = [held_out[i : i + PROMPT] for i in range(0, len(held_out) - PROMPT, len(held_out) // PROMPTS)][
            :PROMPTS
        ]
        require_equal_greedy_texts(kind, draft, target, prompts)
        acceptance = measure_acceptance(draft, target, held_out, gamma=GAMMA)
        order_2 = measure_acceptance(target.lower(2), target, held_out, n_new=0).alpha
        print(f"{kind}: held-out perplexity {perplexity:.1f}; with order 2 as the draft α would be {order_2:.3f}")
        print(acceptance, end="\n\n")
        for stack in STACKS:
            pair: tuple[Model, Model] = draft, target
            if stack in weights:
                pair = WeightBound(draft, weights[stack][:1]), WeightBound(target, weights[stack])
            costs = measure_costs(*pair, held_out, (GAMMA,))
            speedup = measure_speedup(*pair, prompts, N_NEW, GAMMA, acceptance.alpha, costs)
            rows[f"{kind}, {stack}"] = acceptance, costs, speedup
    print_table(rows)
    verification = verification_ratios()
    values = recorded(rows, verification)
    if record:
        print(f"recorded in {reference.record('speculation', values, COMMAND).name}")
    best = rows["prose, bfloat16"][2]
    summary = {
        "bench": "speculation",
        "speculative_s": round(best.speculative, 3),
        "peer": "ordinary decoding by the same target",
        "peer_s": round(best.ordinary, 3),
        "ratio": round(best.measured, 2),
        "ratios": {name: round(speedup.measured, 2) for name, (_, _, speedup) in rows.items()},
        "verify_peer": "transformers _speculative_sampling, one sequence at a time",
        "verify_ratios": {name: round(ratio, 2) for name, ratio in verification.items()},
        "input": f"{PROMPTS} prompts x {N_NEW} tokens, gamma {GAMMA}, batch 1; ratio: prose, 12 bfloat16 matrices of 2048 x 2048",
        "seconds": round(perf_counter() - start),
        "machine": reference.this_machine(),
    }
    print(json.dumps(summary))


def trained(kind: str) -> tuple[NGramModel, list[int], float]:
    """An order-4 model of the first nine tenths of a text, the rest as tokens, and the model's perplexity on it."""
    text = real_text(kind)
    cut = len(text) * 9 // 10
    vocabulary = Vocabulary.train(text[:cut])
    target = NGramModel.train(vocabulary.encode(text[:cut]), vocabulary.size, order=4)
    held_out = vocabulary.encode(text[cut:])
    return target, held_out, target.perplexity(held_out)


def require_equal_greedy_texts(kind: str, draft: Model, target: Model, prompts: list[list[int]]) -> None:
    """At temperature 0 there is one right text. Ends the program if speculation writes another."""
    greedy, rng = SamplingSettings(temperature=0), np.random.default_rng(0)
    alone = decode(target, prompts, 64, rng, greedy).tokens
    for gamma in (1, GAMMA):
        if speculative_decode(draft, target, prompts, 64, gamma, rng, greedy).tokens != alone:
            raise SystemExit(
                f"{kind}, gamma {gamma}: greedy texts with and without a draft differ: a ratio would mean nothing"
            )


def print_table(rows: dict[str, tuple[Acceptance, Costs, Speedup]]) -> None:
    """The table of the unit."""
    print(
        f"batch 1, γ = {GAMMA}        α             in target runs     tokens a round     times as fast as without a draft"
    )
    print(
        "pair             held out  decoding       c  verif.   formula measured   premise  verif. all costs measured  loop"
    )
    for name, (acceptance, costs, speedup) in rows.items():
        print(
            f"{name:<16} {acceptance.alpha:8.3f}  {acceptance.in_decoding:8.3f} {costs.c:7.3f} {costs.verification[GAMMA]:7.2f} "
            f"{speedup.tokens_formula:9.2f} {speedup.tokens:8.2f} {speedup.premise:9.2f} {speedup.verified:7.2f} "
            f"{speedup.accounted:9.2f} {speedup.measured:8.2f} {speedup.shares[2]:5.0%}"
        )
    print(
        "premise: from α held out and c, verifying as fast as one run; verif.: with verification as measured; all costs: tokens\n"
        "as measured, and what the loop itself costs; loop: its share of the time with a draft\n"
    )


def recorded(rows: dict[str, tuple[Acceptance, Costs, Speedup]], verification: dict[str, float]) -> dict[str, Any]:
    """What the reference run keeps: the table by columns, and what the lecture asks its reader to predict."""
    acceptances, costs, speedups = zip(*rows.values(), strict=True)
    return {
        "04.verification": rows["prose, float32"][1].verification[GAMMA],
        "04.verification_bfloat16": rows["prose, bfloat16"][1].verification[GAMMA],
        "04.speedup": rows["prose, bfloat16"][2].measured,
        "gamma": GAMMA,
        "rows": list(rows),
        "alpha": [a.alpha for a in acceptances],
        "alpha_spread": [a.spread for a in acceptances],
        "alpha_in_decoding": [a.in_decoding for a in acceptances],
        "alpha_by_place": [list(a.by_place) for a in acceptances],
        "c": [cost.c for cost in costs],
        "verification": [cost.verification[GAMMA] for cost in costs],
        "target_seconds": [cost.target[0] for cost in costs],
        "draft_seconds": [cost.draft for cost in costs],
        "tokens_formula": [s.tokens_formula for s in speedups],
        "tokens": [s.tokens for s in speedups],
        "speedup_premise": [s.premise for s in speedups],
        "speedup_verified": [s.verified for s in speedups],
        "speedup_accounted": [s.accounted for s in speedups],
        "speedup": [s.measured for s in speedups],
        "time_in_loop": [s.shares[2] for s in speedups],
        "verify_names": list(verification),
        "verify_ratios": list(verification.values()),
    }


def verification_ratios(v: int = 32_000) -> dict[str, float]:
    """How many times as long as ours transformers' verification takes, from logits to tokens; printed in milliseconds.

    Theirs serves one sequence, so a batch is a loop. Empty where transformers cannot be imported.
    """
    try:
        from transformers.generation.utils import _speculative_sampling
    except ImportError as error:
        print(f"verification against transformers left out: {error}")
        return {}

    def theirs(x: Any, q: Any, p: Any) -> list[int]:
        rounds = (_speculative_sampling(x[b : b + 1], q[b : b + 1], GAMMA, p[b : b + 1]) for b in range(len(x)))
        return [int(accepted) for _, accepted in rounds]

    def ours(x: Any, q: Any, p: Any, numbers: Any) -> list[int]:
        return verify_and_emit(x, softmax(q), softmax(p), numbers).accepted.tolist()

    ratios = {}
    for batch in (1, 32):
        arrays = random_round(batch, v)
        tensors = [torch.from_numpy(array) for array in arrays]
        # The acceptance tests on the same numbers: theirs are drawn inside, row after row.
        drawn = iter(tensors[3])
        with patch.object(torch, "rand_like", lambda ratio, drawn=drawn: next(drawn)[:GAMMA].reshape(ratio.shape)):
            expected = theirs(*tensors[:3])
        if ours(*arrays) != expected or ours(*tensors) != expected:
            raise SystemExit("transformers accepts other drafts on the same uniforms: a ratio would mean nothing")
        runs = {
            "transformers": partial(theirs, *tensors[:3]),
            "torch": partial(ours, *tensors),
            "NumPy": partial(ours, *arrays),
        }
        milliseconds = {name: 1e3 * t.median for name, t in timers(runs, 5 if batch > 1 else 31).items()}
        peer = milliseconds.pop("transformers")
        print(f"verifying γ = {GAMMA}, v = {v:,}, batch {batch:>2}, ms: transformers {peer:6.2f}", end="")
        for library, ms in milliseconds.items():
            ratios[f"{library}, batch {batch}"] = peer / ms
            print(f"   ours in {library} {ms:6.2f} (ratio {peer / ms:.2f})", end="")
        print()
    return ratios


def random_round(batch: int, v: int) -> tuple[np.ndarray, ...]:
    """Drafted tokens, the draft's logits, the target's, and uniforms: a round in which about two thirds are accepted."""
    rng = np.random.default_rng(0)
    p = rng.normal(scale=3, size=(batch, GAMMA + 1, v)).astype(np.float32)
    q = p[:, :GAMMA] + rng.normal(size=(batch, GAMMA, v)).astype(np.float32)
    drafted = (q + rng.gumbel(size=q.shape)).argmax(-1)  # a draw from softmax(q)
    return drafted, q, p, rng.random((batch, GAMMA + 1), dtype=np.float32)


if __name__ == "__main__":
    main()
