"""0 · log 0 is not a number."""

replaces = ["entropy"]
loses = {"entropy": 0.33}


def entropy(p):
    return -xp.sum(p * xp.log(p), axis=-1)
