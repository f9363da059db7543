"""Appends to the caller's own list, so the prompt is longer afterwards."""

replaces = ["generate"]
loses = {"generate": 0.5}


def generate(next_token, prompt, n_new):
    start = len(prompt)
    for _ in range(n_new):
        prompt.append(next_token(prompt))
    return prompt[start:]
