"""Hands next_token a single token; it remembers nothing, and must be given the whole sequence each time."""

replaces = ["generate"]
loses = {"generate": 1.5, "prediction": 1.0}


def generate(next_token, prompt, n_new):
    ids = list(prompt)
    for _ in range(n_new):
        ids.append(next_token(ids[-1:]))
    return ids[len(prompt) :]
