"""Returns (p − q)₊ as it is: a row that adds up to 1 − α."""

replaces = ["residual"]
loses = {"residual": 6.0}


def residual(p, q):
    missing = np.maximum(p - q, 0)
    return np.where(missing.sum(axis=-1, keepdims=True) > 0, missing, p)
