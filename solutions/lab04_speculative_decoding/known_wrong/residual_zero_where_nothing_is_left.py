"""Avoids 0/0 by a small number in the denominator: where p = q the row is all zeros, from which nothing can be drawn."""

replaces = ["residual"]
loses = {"residual": 2.0, "verify": 1.3}


def residual(p, q):
    missing = np.maximum(p - q, 0)
    return missing / (missing.sum(axis=-1, keepdims=True) + 1e-30)
