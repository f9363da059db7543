"""Takes |p − q|, and so gives back mass to tokens that had too much already."""

replaces = ["residual"]
loses = {"residual": 6.0, "verify": 10.4, "speculative_decode": 4.0}


def residual(p, q):
    apart = np.abs(p - q)
    apart = np.where(apart.any(axis=-1, keepdims=True), apart, p)
    return apart / apart.sum(axis=-1, keepdims=True)
