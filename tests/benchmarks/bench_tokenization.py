"""Tokenization against tokenizers, rustbpe and tiktoken, and against the textbook's algorithm, on one thread.

python tests/benchmarks/bench_tokenization.py    prints the tables, and the ratios as one line of JSON

Training is 4,096 merges on 5 MB of Python's standard library, cut by GPT-4's pattern; encoding is the same text, and a mixed one
of twenty languages with an emoji in most lines, by cl100k's ranks, from an empty cache each time. Merges must be rustbpe's and
ids tiktoken's before anything is timed. tokenizers gets GPT-4's older pattern, as its engine reads `{1,3}+` otherwise; its tie
rule is another one, so that its vocabulary is compared and not its merges. The textbook's algorithm, our reference, is timed at
a size that it can do: its training is extrapolated in proportion to bytes times merges (too high by less than two times, as the
text gets shorter while it merges), its encoding in proportion to bytes.
"""

import json
import os
import random
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
sys.path.insert(0, str(Path(__file__).parents[2]))

import rustbpe
import tiktoken
import tokenizers

from course_lib.costs import timers
from course_lib.explore.reference import this_machine
from course_lib.house import fetch
from course_lib.speculation.words import real_text
from course_lib.tokenization import GPT4, Tokenizer, encode_stream, reference
from course_lib.tokenization.vocabularies import vocabulary
from tests.tokenization.corpus import mixed_text

MB = 1_000_000
MERGES = 4096
SMALL_TRAINING, SMALL_MERGES, SMALL_ENCODING = 100_000, 12, 200_000
OLDER = GPT4.pattern.replace("{1,3}+", "{1,3}")


def main() -> None:
    """Checks, measures, prints."""
    if sys.argv[1:2] == ["--peak"]:
        print(peak(sys.argv[2], int(sys.argv[3])))
        return
    start = perf_counter()
    code = real_text("code", 5 * MB)
    values = training(code)
    fetch.vocabularies()
    values |= {f"encode_{name}": encoding(name, text) for name, text in (("code", code), ("mixed", mixed_text(5 * MB)))}
    values |= long_pieces()
    values |= memory()
    summary = {
        "bench": "tokenization",
        "train_s": values["train_s"],
        "peer": "tokenizers, one thread",
        "peer_s": values["train_tokenizers_s"],
        "ratio": round(values["train_tokenizers_s"] / values["train_s"], 2),
        **values,
        "input": f"5 MB of Python's standard library, {MERGES} merges, GPT-4's split; encoding with cl100k",
        "seconds": round(perf_counter() - start),
        "machine": this_machine(),
    }
    print(json.dumps(summary))


def training(text: str) -> dict[str, float]:
    """Training against both peers, and against the reference."""

    def by_tokenizers() -> Any:
        peer = tokenizers.Tokenizer(tokenizers.models.BPE())
        cut = tokenizers.pre_tokenizers.Split(tokenizers.Regex(OLDER), "isolated")
        as_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        peer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([cut, as_bytes])
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=256 + MERGES, show_progress=False, initial_alphabet=as_bytes.alphabet()
        )
        peer.train_from_iterator([text], trainer)
        return peer

    def by_rustbpe() -> Any:
        peer = rustbpe.Tokenizer()
        peer.train_from_iterator([text], 256 + MERGES, pattern=GPT4.pattern)
        return peer

    ours = Tokenizer.train(text, MERGES)
    require("merges", ours.ranks == {bytes(token): rank for token, rank in by_rustbpe().get_mergeable_ranks()})
    alphabet = {chr(byte): byte for byte in range(33, 127)}
    theirs = {token for token in by_tokenizers().get_vocab() if set(token) <= alphabet.keys()}
    mine = {token.decode() for token in ours.ranks if set(token) <= set(alphabet.values())}
    runs = {"ours": lambda: Tokenizer.train(text, MERGES), "tokenizers": by_tokenizers, "rustbpe": by_rustbpe}
    seconds = {name: timing.median for name, timing in timers(runs, repeats=3, warmup=0).items()}

    small = text[:SMALL_TRAINING]
    begun = perf_counter()
    reference.train(small, SMALL_MERGES)
    seconds["the reference"] = (perf_counter() - begun) * len(text) / len(small) * MERGES / SMALL_MERGES
    print(
        f"training, {MERGES} merges, {len(text.encode()) / MB:.1f} MB; {share(mine, theirs):.2%} of the tokens are tokenizers'"
    )
    for name, value in seconds.items():
        extrapolated = ", extrapolated" if name == "the reference" else ""
        print(f"    {name:<14} {value:10.2f} s   {value / seconds['ours']:9.2f} times ours{extrapolated}")
    return {
        "train_s": round(seconds["ours"], 2),
        "train_tokenizers_s": round(seconds["tokenizers"], 2),
        "train_rustbpe_s": round(seconds["rustbpe"], 2),
        "train_times_the_reference": round(seconds["the reference"] / seconds["ours"]),
    }


def encoding(name: str, text: str) -> dict[str, float]:
    """Encoding with cl100k against tiktoken on one string, and against the reference."""
    mine = vocabulary("cl100k")
    theirs = tiktoken.Encoding("cl100k", pat_str=GPT4.pattern, mergeable_ranks=mine.ranks, special_tokens={})
    require("ids", mine.encode(text) == theirs.encode(text))
    # The reference's bytes are tokens 0 to 255 in their order, where cl100k has another one.
    byte = [mine.token(i)[0] for i in range(256)]
    merges = [(byte[a] if a < 256 else a, byte[b] if b < 256 else b) for a, b in mine.merges]
    small = text[:SMALL_ENCODING]
    ids = reference.encode(small, merges)
    require("the reference's ids", mine.encode(small) == [mine.ranks[bytes([i])] if i < 256 else i for i in ids])
    runs = {
        "ours": lambda: fresh(mine).encode(text),
        "ours, warm": lambda: mine.encode(text),
        "tiktoken": lambda: theirs.encode(text),
        "tiktoken, ordinary": lambda: theirs.encode_ordinary(text),
        "the reference": lambda: reference.encode(small, merges),
    }
    nbytes = len(text.encode())
    sizes = {name: len(small.encode()) if name == "the reference" else nbytes for name in runs}
    rates = {name: sizes[name] / timing.median / MB for name, timing in timers(runs, repeats=5).items()}
    print(f"encoding, {nbytes / MB:.1f} MB of {name} text, cl100k")
    for peer, rate in rates.items():
        print(f"    {peer:<19} {rate:7.2f} MB/s   ours is {rates['ours'] / rate:6.2f} times as fast")
    return {
        "MB_per_s": round(rates["ours"], 2),
        "of_tiktoken": round(rates["ours"] / rates["tiktoken"], 2),
        "of_tiktoken_ordinary": round(rates["ours"] / rates["tiktoken, ordinary"], 2),
        "times_the_reference": round(rates["ours"] / rates["the reference"], 1),
    }


def long_pieces() -> dict[str, list[float]]:
    """One piece of 1, 2 and 4 times a quarter of a megabyte: linear is 1, 2, 4, quadratic 1, 4, 16."""
    mine, rng, n = vocabulary("cl100k"), random.Random(0), MB // 4
    kinds: dict[str, Callable[[int], bytes]] = {"one letter": lambda n: b"a" * n, "random bytes": rng.randbytes}
    found = {}
    for name, make in kinds.items():
        seconds = []
        for times in (1, 2, 4):
            piece = make(times * n)
            begun = [perf_counter()]
            for _ in range(3):
                require("bytes", mine.decode_bytes(mine.encode_bytes(piece)) == piece)
                begun.append(perf_counter())
            seconds.append(median(b - a for a, b in pairwise(begun)))
        growth = [round(value / seconds[0], 2) for value in seconds]
        print(
            f"one piece of {name:<12} {n} bytes {seconds[0]:6.2f} s; at 1, 2, 4 times the length {growth} times as long"
        )
        found[f"long_{name.replace(' ', '_')}"] = growth
    return found


def memory() -> dict[str, float]:
    """The most memory of a process that trains on 50 MB, and of ones that stream 5 and 50 MB."""
    found = {}
    for name, megabytes in (("train", 50), ("stream", 5), ("stream", 50)):
        command = [sys.executable, __file__, "--peak", name, str(megabytes)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[f"{name}_{megabytes}_MB_peak_GB"] = round(float(done.stdout) / 1e9, 3)
        print(f"{name}, {megabytes} MB: at most {float(done.stdout) / 1e9:.3f} GB in use")
    return found


def peak(name: str, megabytes: int) -> int:
    """Trains or streams, and returns the most memory that this process ever had, in bytes."""
    if name == "train":
        text = "".join(mixed_text(5 * MB, seed) for seed in range(megabytes // 5))
        mixed_text.cache_clear()
        Tokenizer.train(text, MERGES)
    else:
        text = mixed_text(MB)
        for _ in encode_stream(vocabulary("cl100k"), (text for _ in range(megabytes))):
            pass
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts the parent's memory too, from which this process was forked
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fresh(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer with nothing remembered."""
    tokenizer.forget()
    return tokenizer


def share(mine: set[str], theirs: set[str]) -> float:
    """How much of our vocabulary is also in theirs."""
    return len(mine & theirs) / len(mine)


def require(what: str, holds: bool) -> None:
    """Ends the program where a result is wrong."""
    if not holds:
        raise SystemExit(f"{what} differ: a ratio would mean nothing")


if __name__ == "__main__":
    main()
