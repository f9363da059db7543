"""Overwrites the caller's p with p − q; an answer works on arrays of its own."""

replaces = ["residual"]
loses = {"residual": 1.0, "verify": 1.3}


def residual(p, q):
    before = p.copy()
    p -= q
    np.maximum(p, 0, out=p)
    missing = np.where(p.any(axis=-1, keepdims=True), p, before)
    return missing / missing.sum(axis=-1, keepdims=True)
