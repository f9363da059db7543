"""A rejected token is replaced by a draw from p, so what the draft overrates comes up too often still."""

replaces = ["verify_draft"]
loses = {"verify_draft": 3.0}


def verify_draft(draft_tokens, draft_probs, target_probs, random):
    emitted = []
    for i, x in enumerate(draft_tokens):
        q, p = draft_probs[i], target_probs[i]
        if random() * q[x] >= p[x]:
            return [*emitted, int(sample(p, random()))]
        emitted.append(int(x))
    return [*emitted, int(sample(target_probs[-1], random()))]
