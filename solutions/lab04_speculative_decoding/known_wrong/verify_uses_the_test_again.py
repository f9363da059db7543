"""Draws the correction with the uniform that rejected the draft; that number is known to be large, so the draw is no
longer fair.
"""

replaces = ["verify"]
loses = {"verify": 10.4, "speculative_decode": 3.0}


def verify(draft_tokens, draft_probs, target_probs, uniforms):
    batch, gamma = draft_tokens.shape
    tokens, accepted = np.full((batch, gamma + 1), -1), np.zeros(batch, dtype=int)
    for b in range(batch):
        n = 0
        while n < gamma and uniforms[b, n] * draft_probs[b, n, x := draft_tokens[b, n]] < target_probs[b, n, x]:
            n += 1
        row = target_probs[b, gamma] if n == gamma else residual(target_probs[b, n], draft_probs[b, n])
        tokens[b, :n] = draft_tokens[b, :n]
        tokens[b, n] = sample(row, uniforms[b, n])
        accepted[b] = n
    return tokens, accepted
