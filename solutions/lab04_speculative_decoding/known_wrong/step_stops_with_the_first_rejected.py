"""Every sequence draws for itself, and is cut off where the first of the batch was rejected."""

replaces = ["speculative_step"]
loses = {"speculative_step": 6.0}


def speculative_step(draft, target, tokens, gamma, random):
    batch, n = tokens.shape
    text, q = tokens, []
    for _ in range(gamma):
        rows = draft(text)[:, -1]
        text = np.concatenate([text, sample(rows, random(batch))[:, None]], axis=1)
        q.append(rows)
    p, q = target(text)[:, n - 1 :], np.stack([*q, np.zeros_like(rows)], axis=1)
    each = np.arange(batch)[:, None]
    places, drafted = np.arange(gamma), text[:, n:]
    stands = random(batch, gamma) * q[each, places, drafted] < p[each, places, drafted]
    accepted = int(np.cumprod(stands, axis=1).sum(axis=1).min())
    missing = np.maximum(p[:, accepted] - q[:, accepted], 0)
    missing = np.where(missing.any(axis=1, keepdims=True), missing, p[:, accepted])
    return np.concatenate([drafted[:, :accepted], sample(missing, random(batch))[:, None]], axis=1).tolist()
