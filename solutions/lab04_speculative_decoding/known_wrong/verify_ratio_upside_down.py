"""Compares r with q/p; a token is accepted with probability p/q."""

replaces = ["verify"]
loses = {"verify": 11.7, "speculative_decode": 4.0}


def verify(draft_tokens, draft_probs, target_probs, uniforms):
    batch, gamma = draft_tokens.shape
    tokens, accepted = np.full((batch, gamma + 1), -1), np.zeros(batch, dtype=int)
    for b in range(batch):
        n = 0
        while n < gamma and uniforms[b, n] * target_probs[b, n, x := draft_tokens[b, n]] < draft_probs[b, n, x]:
            n += 1
        row = target_probs[b, gamma] if n == gamma else residual(target_probs[b, n], draft_probs[b, n])
        tokens[b, :n] = draft_tokens[b, :n]
        tokens[b, n] = sample(row, uniforms[b, gamma])
        accepted[b] = n
    return tokens, accepted
