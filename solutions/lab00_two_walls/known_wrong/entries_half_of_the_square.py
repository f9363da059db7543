"""Counts the causal scores as n²/2 and so loses half of the diagonal."""

replaces = ["score_entries"]
loses = {"score_entries": 1.5}


def score_entries(n, n_heads, n_layers, causal):
    if n < 0:
        raise ValueError(f"n is {n}, needs to be at least 0")
    return (n * n // 2 if causal else n * n) * n_heads * n_layers
