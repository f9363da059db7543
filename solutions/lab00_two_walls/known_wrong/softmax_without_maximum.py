"""The exponentials are right, but nothing is subtracted first: exp(10,000) overflows, exp(−10,000) vanishes."""

replaces = ["softmax"]
loses = {"softmax": 2.5}


def softmax(x):
    weights = np.exp(x)
    return weights / weights.sum(axis=-1, keepdims=True)
