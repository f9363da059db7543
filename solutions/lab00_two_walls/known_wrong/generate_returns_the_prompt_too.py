"""Returns the whole sequence, where only the new tokens are asked for."""

replaces = ["generate"]
loses = {"generate": 2.0}


def generate(next_token, prompt, n_new):
    ids = list(prompt)
    for _ in range(n_new):
        ids.append(next_token(ids))
    return ids
