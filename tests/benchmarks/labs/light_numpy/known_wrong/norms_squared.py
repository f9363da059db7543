"""Forgets the square root."""

replaces = ["norms"]
loses = {"norms": 1}


def norms(x):
    return xp.sum(x * x, axis=-1)
