"""−∞ is replaced by a large negative number, so a row that sees nothing attends to everything alike."""

replaces = ["softmax"]
loses = {"softmax": 1.5}


def softmax(x):
    x = np.maximum(x, np.array(-1e9, dtype=x.dtype))
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
