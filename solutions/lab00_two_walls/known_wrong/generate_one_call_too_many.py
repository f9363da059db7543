"""Asks once more at the end, for a token that nobody gets: a whole pass through the model wasted."""

replaces = ["generate"]
loses = {"generate": 0.5, "prediction": 1.0}


def generate(next_token, prompt, n_new):
    ids = list(prompt)
    token = next_token(ids)
    for _ in range(n_new):
        ids.append(token)
        token = next_token(ids)
    return ids[len(prompt) :]
