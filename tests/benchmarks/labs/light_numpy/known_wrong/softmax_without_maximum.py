"""Does not take the maximum off, and overflows."""

replaces = ["softmax"]
loses = {"softmax": 0.33}


def softmax(x):
    weights = xp.exp(x)
    return weights / xp.sum(weights, axis=-1, keepdims=True)
