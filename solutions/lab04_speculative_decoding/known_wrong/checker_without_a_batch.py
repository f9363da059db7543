"""Verifies one sequence at a time, and so misses what goes wrong between the sequences of a batch."""

replaces = ["is_wrong"]
loses = {"is_wrong": 2.0}


def is_wrong(verify):
    q = np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3]])
    p = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.6, 0.1]])
    want = {}
    for x in range(3):
        want[x,] = max(p[0, x] - q[0, x], 0)
        for y in range(3):
            want[x, y] = min(p[0, x], q[0, x]) * max(p[1, y] - q[1, y], 0)
            for z in range(3):
                want[x, y, z] = min(p[0, x], q[0, x]) * min(p[1, y], q[1, y]) * p[2, z]
    n, random = 500, seeded(13)
    rows_q, rows_p = np.tile(q, (n, 1, 1)), np.tile(p, (n, 1, 1))
    tokens = sample(rows_q, random(n, 2))
    emitted = [verify(tokens[b : b + 1], rows_q[:1], rows_p[:1], random)[0] for b in range(n)]
    got = [tuple(new) for new in emitted]
    far = [abs(got.count(new) - n * share) > 5 * np.sqrt(n * share) + 1 for new, share in want.items()]
    return bool(set(got) - set(want)) or any(far)
