"""1 − Σ |p − q|: the total variation is half of that sum."""

replaces = ["acceptance_rate"]
loses = {"acceptance_rate": 4.0}


def acceptance_rate(p, q):
    return 1 - np.sum(np.abs(p - q), axis=-1)
