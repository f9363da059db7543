"""Looks at the first token of each round only, and so misses what goes wrong after it."""

replaces = ["is_wrong"]
loses = {"is_wrong": 3.0}


def is_wrong(verify):
    q = np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3]])
    p = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.6, 0.1]])
    n = 2500
    rows_q, rows_p = np.tile(q, (n, 1, 1)), np.tile(p, (n, 1, 1))
    tokens = sample(rows_q, seeded(1)(n, 2))

    first = np.array([new[0] for new in verify(tokens, rows_q, rows_p, seeded(2))])
    shares = np.bincount(first, minlength=3) / n
    return bool(np.any(np.abs(shares - p[0]) > 5 / (2 * np.sqrt(n))))
