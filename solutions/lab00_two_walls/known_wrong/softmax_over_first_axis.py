"""The weights add up to 1 along the first axis, where they should along the last."""

replaces = ["softmax"]
loses = {"softmax": 4.5}


def softmax(x):
    largest = x.max(axis=0)
    weights = np.exp(x - np.where(np.isneginf(largest), 0, largest))
    total = weights.sum(axis=0)
    return weights / np.where(total == 0, 1, total)
