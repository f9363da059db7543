"""Σ p·q is the chance that two independent draws agree; the test accepts min(p, q)."""

replaces = ["acceptance_rate"]
loses = {"acceptance_rate": 4.0}


def acceptance_rate(p, q):
    return np.sum(p * q, axis=-1)
