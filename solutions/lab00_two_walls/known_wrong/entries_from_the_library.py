"""Calls the library's own function, which is the answer."""

replaces = ["score_entries"]
loses = {"score_entries": 3.0}


def score_entries(n, n_heads, n_layers, causal):
    from course_lib import costs

    return costs.score_entries(n, n_heads, n_layers, causal=causal)
