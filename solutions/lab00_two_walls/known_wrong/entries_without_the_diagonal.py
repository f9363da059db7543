"""Under the mask a token does not see itself: n(n − 1)/2 scores, the diagonal left out."""

replaces = ["score_entries"]
loses = {"score_entries": 1.5}


def score_entries(n, n_heads, n_layers, causal):
    if n < 0:
        raise ValueError(f"n is {n}, needs to be at least 0")
    return (n * (n - 1) // 2 if causal else n * n) * n_heads * n_layers
