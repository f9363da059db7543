"""Leaves out tokens that do not occur."""

replaces = ["counts"]
loses = {"counts": 0.67}


def counts(tokens, v):
    found = [int(xp.sum(tokens == token)) for token in range(v)]
    return [count for count in found if count]
