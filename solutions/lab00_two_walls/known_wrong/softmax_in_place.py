"""Subtracts the maximum in place, and so changes the caller's scores."""

replaces = ["softmax"]
loses = {"softmax": 1.0}


def softmax(x):
    largest = x.max(axis=-1, keepdims=True)
    x -= np.where(np.isneginf(largest), 0, largest).astype(x.dtype)
    weights = np.exp(x)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)
