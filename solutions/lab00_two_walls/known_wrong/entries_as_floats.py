"""Divides with `/` and counts in floats, which cannot hold every whole number."""

replaces = ["score_entries"]
loses = {"score_entries": 1.0}


def score_entries(n, n_heads, n_layers, causal):
    if n < 0:
        raise ValueError(f"n is {n}, needs to be at least 0")
    return n_heads * n_layers * (n * (n + 1) / 2 if causal else n * n)
