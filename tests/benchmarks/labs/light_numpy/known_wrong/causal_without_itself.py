"""A position does not see itself."""

replaces = ["causal"]
loses = {"causal": 1}


def causal(n):
    return xp.tril(xp.ones((n, n)), -1) == 1
