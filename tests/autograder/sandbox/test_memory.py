"""NumPy and torch run behind every layer, and a claim about memory is held by an address-space limit."""

import mmap
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from autograder.sandbox import limit_memory, limits
from tests.autograder.sandbox.boxes import ROOT, Ground, Maker, inside

MIB = 1 << 20


def fresh(program: str) -> str:
    """A program's answer in an interpreter that has imported nothing of ours, inside a box that it makes itself."""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


NUMPY_IN_256_MIB = """
import os, tempfile
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
from autograder.sandbox import Container, Policy, interpreter_paths, probe
report = probe()
with tempfile.TemporaryDirectory() as folder:
    if report.uid is not None:
        os.chown(folder, report.uid, report.uid)
    policy = Policy(interpreter_paths(), (os.path.realpath(folder),), memory_bytes=256 << 20, uid=report.uid)
    def main():
        x = np.random.default_rng(0).normal(size=(512, 512))
        q, r = np.linalg.qr(x)
        assert np.allclose(q @ r, x)
        try:
            np.ones((8192, 8192))
        except MemoryError:
            os._exit(11)
    with Container(policy, report).spawn(main) as box:
        print(box.wait(20))
"""


def test_numpy_runs_in_256_mib():
    assert fresh(NUMPY_IN_256_MIB) == "11"


def test_numpy_and_torch_compute_and_start_threads_behind_every_layer(maker: Maker, ground: Ground):
    def compute() -> list:
        x = np.random.default_rng(0).normal(size=(64, 48))
        u, s, vt = np.linalg.svd(x, full_matrices=False)
        t = torch.arange(6.0).reshape(2, 3).requires_grad_()
        (t @ t.mT).sum().backward()
        doubled = torch.from_numpy(x.copy()).sin().sum()
        np.save("x.npy", x)
        torch.save({"t": t.detach()}, "t.pt")
        return [
            bool(np.allclose(u * s @ vt, x)),
            t.grad.tolist(),
            bool(np.isclose(float(doubled), np.sin(x).sum())),
            bool(np.array_equal(np.load("x.npy"), x)),
            torch.load("t.pt")["t"].tolist(),
        ]

    seen = maker.attack(ground, compute)
    assert seen == [True, [[6.0, 10.0, 14.0], [6.0, 10.0, 14.0]], True, True, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_memory_claim_tells_what_makes_the_matrix_from_what_does_not(maker: Maker, ground: Ground, library):
    n, width = 8192, 32

    def attention(tile: int) -> float:
        if library == "torch":
            q = torch.ones((n, width))
            return float(sum((torch.softmax(q[i : i + tile] @ q.T, -1) @ q).sum() for i in range(0, n, tile)))
        q = np.ones((n, width), np.float32)
        total = 0.0
        for i in range(0, n, tile):
            scores = q[i : i + tile] @ q.T
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            total += float((weights / weights.sum(-1, keepdims=True) @ q).sum())
        return total

    def claim(tile: int) -> list:
        limit_memory(64 * MIB)
        try:
            return ["done", round(attention(tile))]
        except (MemoryError, RuntimeError) as refused:
            return ["refused", type(refused).__name__]

    def body() -> list:
        torch.set_num_threads(1)
        container = maker.container(ground)
        return [inside(container, lambda tile=tile: claim(tile), seconds=15) for tile in (n, 128)]

    naive, tiled = maker.run(body)
    assert naive[0] == "refused"
    assert tiled == ["done", n * width]


def test_an_address_space_is_measured_with_and_without_proc(best: Maker, ground: Ground):
    def body() -> list:
        told, searched = limits.address_space(), limits._searched_address_space()
        held = mmap.mmap(-1, 32 * MIB)
        more = limits._searched_address_space()
        held.close()
        return [abs(told - searched), more - searched]

    off, grown = best.run(body)
    assert off < MIB
    assert abs(grown - 32 * MIB) < MIB


def test_more_memory_than_the_policy_allows_cannot_be_claimed(maker: Maker, ground: Ground):
    def body() -> dict:
        allowed = limits.address_space() + 64 * MIB
        return inside(maker.container(ground, memory_bytes=allowed), lambda: limit_memory(1 << 40))

    seen = maker.run(body)
    assert seen["raised"] == "ValueError"
    assert "are allowed" in seen["text"]


def test_a_claim_cannot_be_undone(best: Maker, ground: Ground):
    def attack() -> str:
        limit_memory(64 * MIB)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except (ValueError, OSError):
            return "refused"
        return "undone"

    assert best.attack(ground, attack) == "refused"


def test_processes_together_hold_no_more_than_their_group(best: Maker, ground: Ground):
    """Each alone keeps to its limit; one that goes beyond what all may hold is ended, or the notebook itself."""

    def hog() -> None:
        for _ in range(4):
            if os.fork() == 0:
                held = bytearray(48 * MIB)
                held[:: mmap.PAGESIZE] = b"x" * len(held[:: mmap.PAGESIZE])
                signal.pause()
        while True:
            _, status = os.wait()
            os._exit(abs(os.waitstatus_to_exitcode(status)))

    def body() -> int | None:
        with best.container(ground, total_bytes=96 * MIB).spawn(hog) as box:
            return box.wait(5)

    if not best.report.works("cgroup"):
        assert best.report["cgroup"].raise_by
        return
    assert best.run(body) in (-signal.SIGKILL, signal.SIGKILL)
