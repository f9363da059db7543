"""One maximum is subtracted from all rows; a row far below it underflows to zeros."""

replaces = ["softmax"]
loses = {"softmax": 1.0}


def softmax(x):
    weights = np.exp(x - x.max())
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)
