"""Looks for the most tokens a round and forgets what the drafts cost: always gamma_max."""

replaces = ["best_gamma"]
loses = {"best_gamma": 3.2}


def best_gamma(alpha, c, gamma_max):
    return gamma_max
