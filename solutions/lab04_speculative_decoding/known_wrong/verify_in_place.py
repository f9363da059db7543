"""Writes the residual into the caller's target_probs; an answer works on arrays of its own."""

replaces = ["verify"]
loses = {"verify": 1.3}


def verify(draft_tokens, draft_probs, target_probs, uniforms):
    batch, gamma = draft_tokens.shape
    tokens, accepted = np.full((batch, gamma + 1), -1), np.zeros(batch, dtype=int)
    for b in range(batch):
        n = 0
        while n < gamma and uniforms[b, n] * draft_probs[b, n, x := draft_tokens[b, n]] < target_probs[b, n, x]:
            n += 1
        tokens[b, :n] = draft_tokens[b, :n]
        row = target_probs[b, n]
        if n < gamma:
            row[:] = residual(row, draft_probs[b, n])
        tokens[b, n] = sample(row, uniforms[b, gamma])
        accepted[b] = n
    return tokens, accepted
