"""Counts how many tokens the rounds emit, and never looks at which."""

replaces = ["is_wrong"]
loses = {"is_wrong": 8.0}


def is_wrong(verify):
    q = np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3]])
    p = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.6, 0.1]])
    n = 2500
    rows_q, rows_p = np.tile(q, (n, 1, 1)), np.tile(p, (n, 1, 1))
    tokens = sample(rows_q, seeded(1)(n, 2))

    lengths = np.array([len(new) for new in verify(tokens, rows_q, rows_p, seeded(2))])
    first, second = (np.minimum(p[i], q[i]).sum() for i in range(2))
    want = np.array([0, 1 - first, first * (1 - second), first * second])
    shares = np.bincount(lengths, minlength=4) / n
    return bool(np.any(np.abs(shares - want) > 5 / (2 * np.sqrt(n))))
