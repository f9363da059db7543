"""The last token is there now, but a drafted one still stands only if it is the likeliest, and is replaced by that."""

replaces = ["verify_draft"]
loses = {"verify_draft": 5.0}


def verify_draft(draft_tokens, draft_probs, target_probs, random):
    best = np.argmax(target_probs, axis=-1).tolist()
    emitted = []
    for x, y in zip(draft_tokens, best, strict=False):
        emitted.append(y)
        if x != y:
            return emitted
    return [*emitted, int(sample(target_probs[-1], random()))]
