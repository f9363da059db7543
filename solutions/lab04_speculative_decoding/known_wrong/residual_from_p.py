"""Keeps p itself, not p − q, where p > q, and normalises that."""

replaces = ["residual"]
loses = {"residual": 6.0, "verify": 9.1, "speculative_decode": 3.0}


def residual(p, q):
    kept = np.where(p > q, p, 0)
    kept = np.where(kept.any(axis=-1, keepdims=True), kept, p)
    return kept / kept.sum(axis=-1, keepdims=True)
