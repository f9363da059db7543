"""1 + α + … + α^{γ−1}: γ terms, without the token that comes after γ accepted drafts."""

replaces = ["expected_tokens"]
loses = {"factors": 5.0, "best_gamma": 1.6}


def expected_tokens(alpha, gamma):
    return sum(alpha**i for i in range(gamma))
