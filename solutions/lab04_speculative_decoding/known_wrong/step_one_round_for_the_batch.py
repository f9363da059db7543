"""Four faults are mended; one draw and one `break` still serve the whole batch: one rejection ends every round."""

replaces = ["speculative_step"]
loses = {"speculative_step": 6.0}


def speculative_step(draft, target, tokens, gamma, random):
    batch, n = tokens.shape
    text, q = tokens, []
    for _ in range(gamma):
        rows = draft(text)[:, -1]
        text = np.concatenate([text, sample(rows, random(batch))[:, None]], axis=1)
        q.append(rows)
    p = target(text)[:, n - 1 :]
    each, emitted = np.arange(batch), []
    for i in range(gamma):
        x = text[:, n + i]
        if np.any(random() * q[i][each, x] >= p[each, i, x]):
            missing = np.maximum(p[:, i] - q[i], 0)
            missing = np.where(missing.any(axis=1, keepdims=True), missing, p[:, i])
            return np.stack([*emitted, sample(missing, random(batch))], axis=1).tolist()
        emitted.append(x)
    return np.stack([*emitted, sample(p[:, gamma], random(batch))], axis=1).tolist()
