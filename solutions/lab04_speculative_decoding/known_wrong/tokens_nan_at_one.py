"""The closed form divides 0 by 0 for α = 1."""

replaces = ["expected_tokens"]
loses = {"factors": 3.0, "best_gamma": 0.8}


def expected_tokens(alpha, gamma):
    alpha = np.asarray(alpha, dtype=float)
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)
