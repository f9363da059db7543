"""Emits nothing after γ accepted drafts; the target's last row is there already and gives a token for free."""

replaces = ["verify"]
loses = {"verify": 5.2, "speculative_decode": 6.0}


def verify(draft_tokens, draft_probs, target_probs, uniforms):
    batch, gamma = draft_tokens.shape
    tokens, accepted = np.full((batch, gamma + 1), -1), np.zeros(batch, dtype=int)
    for b in range(batch):
        n = 0
        while n < gamma and uniforms[b, n] * draft_probs[b, n, x := draft_tokens[b, n]] < target_probs[b, n, x]:
            n += 1
        tokens[b, :n] = draft_tokens[b, :n]
        if n < gamma:
            tokens[b, n] = sample(residual(target_probs[b, n], draft_probs[b, n]), uniforms[b, gamma])
        accepted[b] = n
    return tokens, accepted
