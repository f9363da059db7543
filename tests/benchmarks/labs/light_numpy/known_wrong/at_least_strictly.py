"""Counts what is larger than the bound, not what equals it."""

replaces = ["at_least"]
loses = {"at_least": 1}


def at_least(x, low):
    return int(xp.sum(x > low))
