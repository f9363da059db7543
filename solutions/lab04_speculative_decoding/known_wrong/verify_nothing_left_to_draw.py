"""Where rounding leaves nothing of the residual, the draw raises an error."""

replaces = ["verify_draft"]
loses = {"verify_draft": 1.0}


def verify_draft(draft_tokens, draft_probs, target_probs, random):
    emitted = []
    for i, x in enumerate(draft_tokens):
        q, p = draft_probs[i], target_probs[i]
        if random() * q[x] >= p[x]:
            missing = np.maximum(p - q, 0)
            return [*emitted, int(sample(missing, random()))]
        emitted.append(int(x))
    return [*emitted, int(sample(target_probs[-1], random()))]
