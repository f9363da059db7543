"""Compares tokens under one seed with those of a verifier of its own, and condemns whoever draws in another way."""

replaces = ["is_wrong"]
loses = {"is_wrong": 4.0}


def is_wrong(verify):
    q = np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3]])
    p = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.6, 0.1]])
    n = 300
    rows_q, rows_p = np.tile(q, (n, 1, 1)), np.tile(p, (n, 1, 1))
    tokens = sample(rows_q, seeded(1)(n, 2))

    def own(tokens, q, p, random):
        r, u = random(n, 2), random(n)
        emitted = []
        for b in range(n):
            new = []
            for i, x in enumerate(tokens[b].tolist()):
                if r[b, i] * q[b, i, x] >= p[b, i, x]:
                    new.append(int(sample(np.maximum(p[b, i] - q[b, i], 0), u[b])))
                    break
                new.append(x)
            else:
                new.append(int(sample(p[b, 2], u[b])))
            emitted.append(new)
        return emitted

    return verify(tokens, rows_q, rows_p, seeded(2)) != own(tokens, rows_q, rows_p, seeded(2))
