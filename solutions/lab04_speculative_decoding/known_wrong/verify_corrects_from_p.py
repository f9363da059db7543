"""Draws the correction from p, so tokens that acceptance has delivered already come too often."""

replaces = ["verify"]
loses = {"verify": 9.1, "speculative_decode": 3.0}


def verify(draft_tokens, draft_probs, target_probs, uniforms):
    batch, gamma = draft_tokens.shape
    tokens, accepted = np.full((batch, gamma + 1), -1), np.zeros(batch, dtype=int)
    for b in range(batch):
        n = 0
        while n < gamma and uniforms[b, n] * draft_probs[b, n, x := draft_tokens[b, n]] < target_probs[b, n, x]:
            n += 1
        row = target_probs[b, n]
        tokens[b, :n] = draft_tokens[b, :n]
        tokens[b, n] = sample(row, uniforms[b, gamma])
        accepted[b] = n
    return tokens, accepted
