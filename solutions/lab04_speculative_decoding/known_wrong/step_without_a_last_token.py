"""Four faults are mended; where every drafted token stands, the token that the last row gives for nothing is left out."""

replaces = ["speculative_step"]
loses = {"speculative_step": 4.0}

right_step = speculative_step


def speculative_step(draft, target, tokens, gamma, random):
    return [new[:gamma] for new in right_step(draft, target, tokens, gamma, random)]
