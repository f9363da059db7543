"""Asks for what follows the prompt again and again, and never adds the new tokens to it."""

replaces = ["generate"]
loses = {"generate": 1.5, "prediction": 1.0}


def generate(next_token, prompt, n_new):
    return [next_token(list(prompt)) for _ in range(n_new)]
