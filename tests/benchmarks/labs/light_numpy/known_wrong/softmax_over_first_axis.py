"""Adds up along the first axis instead of the last."""

replaces = ["softmax"]
loses = {"softmax": 1}


def softmax(x):
    weights = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return weights / xp.sum(weights, axis=0, keepdims=True)
