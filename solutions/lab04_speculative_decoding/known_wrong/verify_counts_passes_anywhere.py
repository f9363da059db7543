"""Counts every draft that passes its test, those after a rejection too."""

replaces = ["verify"]
loses = {"verify": 3.9, "speculative_decode": 3.0}


def verify(draft_tokens, draft_probs, target_probs, uniforms):
    batch, gamma = draft_tokens.shape
    rows = np.arange(batch)[:, None], np.arange(gamma), draft_tokens
    accepted = (uniforms[:, :gamma] * draft_probs[rows] < target_probs[:, :gamma][rows]).sum(axis=1)
    tokens = np.full((batch, gamma + 1), -1)
    for b, n in enumerate(accepted):
        row = target_probs[b, gamma] if n == gamma else residual(target_probs[b, n], draft_probs[b, n])
        tokens[b, :n] = draft_tokens[b, :n]
        tokens[b, n] = sample(row, uniforms[b, gamma])
    return tokens, accepted
