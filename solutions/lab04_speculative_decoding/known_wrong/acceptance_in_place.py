"""Writes the minimum into the caller's p."""

replaces = ["acceptance_rate"]
loses = {"acceptance_rate": 0.8}


def acceptance_rate(p, q):
    return np.minimum(p, q, out=p).sum(axis=-1)
