"""Divides all rows by one sum, where each has its own."""

replaces = ["residual"]
loses = {"residual": 4.0}


def residual(p, q):
    missing = np.maximum(p - q, 0)
    missing = np.where(missing.any(axis=-1, keepdims=True), missing, p)
    return missing / missing.sum()
