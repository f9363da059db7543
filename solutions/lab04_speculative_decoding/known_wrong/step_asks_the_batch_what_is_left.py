"""Whether the residual is empty is asked of the batch as a whole, so one row with something left hides one with nothing."""

replaces = ["speculative_step"]
loses = {"speculative_step": 1.0}


def speculative_step(draft, target, tokens, gamma, random):
    batch, n = tokens.shape
    text, q = tokens, []
    for _ in range(gamma):
        rows = draft(text)[:, -1]
        text = np.concatenate([text, sample(rows, random(batch))[:, None]], axis=1)
        q.append(rows)
    p, q = target(text)[:, n - 1 :], np.stack([*q, np.zeros_like(rows)], axis=1)
    each, places, drafted = np.arange(batch), np.arange(gamma), text[:, n:]
    stands = random(batch, gamma) * q[each[:, None], places, drafted] < p[each[:, None], places, drafted]
    accepted = np.cumprod(stands, axis=1).sum(axis=1)
    missing = np.maximum(p[each, accepted] - q[each, accepted], 0)
    last = sample(missing if missing.any() else p[each, accepted], random(batch))
    return [[*row[:k].tolist(), int(y)] for row, k, y in zip(drafted, accepted, last, strict=True)]
