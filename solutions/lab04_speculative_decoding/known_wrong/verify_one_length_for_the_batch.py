"""Cuts every sequence where the first of the batch is rejected."""

replaces = ["verify"]
loses = {"verify": 2.6}


def verify(draft_tokens, draft_probs, target_probs, uniforms):
    batch, gamma = draft_tokens.shape
    rows = np.arange(batch)[:, None], np.arange(gamma), draft_tokens
    stands = uniforms[:, :gamma] * draft_probs[rows] < target_probs[:, :gamma][rows]
    n = int(np.cumprod(stands, axis=1).sum(axis=1).min())
    tokens = np.full((batch, gamma + 1), -1)
    tokens[:, :n] = draft_tokens[:, :n]
    for b in range(batch):
        row = target_probs[b, n] if n == gamma or stands[b, n] else residual(target_probs[b, n], draft_probs[b, n])
        tokens[b, n] = sample(row, uniforms[b, gamma])
    return tokens, np.full(batch, n)
