"""A row of −∞ is treated like any other, and becomes nan: −∞ − (−∞)."""

replaces = ["softmax"]
loses = {"softmax": 1.5}


def softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
