"""All numbers of the array share one sum, where each row should have its own."""

replaces = ["softmax"]
loses = {"softmax": 4.5}


def softmax(x):
    weights = np.exp(x - x.max())
    return weights / weights.sum()
