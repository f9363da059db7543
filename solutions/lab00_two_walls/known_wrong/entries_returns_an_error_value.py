"""Answers an impossible length with −1, where an error should be raised."""

replaces = ["score_entries"]
loses = {"score_entries": 1.0}


def score_entries(n, n_heads, n_layers, causal):
    if n < 0:
        return -1
    return n_heads * n_layers * (n * (n + 1) // 2 if causal else n * n)
