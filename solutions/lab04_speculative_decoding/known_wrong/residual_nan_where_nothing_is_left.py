"""Divides by a sum of 0 where p = q, and gives nan."""

replaces = ["residual"]
loses = {"residual": 2.0, "verify": 1.3}


def residual(p, q):
    missing = np.maximum(p - q, 0)
    return missing / missing.sum(axis=-1, keepdims=True)
