"""Starts at γ = 1 and so always drafts, even where that is slower than not to."""

replaces = ["best_gamma"]
loses = {"best_gamma": 1.6}


def best_gamma(alpha, c, gamma_max):
    return max(range(1, gamma_max + 1), key=lambda gamma: improvement_factor(alpha, gamma, c))
