"""One number for all pairs together, where each pair has its own."""

replaces = ["acceptance_rate"]
loses = {"acceptance_rate": 2.4}


def acceptance_rate(p, q):
    return np.sum(np.minimum(p, q))
