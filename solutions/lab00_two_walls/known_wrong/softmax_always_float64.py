"""Computes in float64 and returns float64, whatever the scores came in."""

replaces = ["softmax"]
loses = {"softmax": 0.5}


def softmax(x):
    x = x.astype(np.float64)
    largest = x.max(axis=-1, keepdims=True)
    weights = np.exp(x - np.where(np.isneginf(largest), 0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)
