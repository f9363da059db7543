"""Every sequence has a length of its own, but one number decides each position for the whole batch."""

replaces = ["speculative_step"]
loses = {"speculative_step": 4.0}


def speculative_step(draft, target, tokens, gamma, random):
    batch, n = tokens.shape
    text, q = tokens, []
    for _ in range(gamma):
        rows = draft(text)[:, -1]
        text = np.concatenate([text, sample(rows, random(batch))[:, None]], axis=1)
        q.append(rows)
    p = target(text)[:, n - 1 :]
    shared = random(gamma)
    emitted = []
    for b in range(batch):
        new = []
        for i, x in enumerate(text[b, n:].tolist()):
            if shared[i] * q[i][b, x] >= p[b, i, x]:
                missing = np.maximum(p[b, i] - q[i][b], 0)
                new.append(int(sample(missing if missing.any() else p[b, i], random())))
                break
            new.append(x)
        else:
            new.append(int(sample(p[b, gamma], random())))
        emitted.append(new)
    return emitted
