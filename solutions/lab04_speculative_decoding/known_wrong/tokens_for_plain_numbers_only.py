"""`if alpha == 1` asks one question of many numbers, so an array of α raises an error."""

replaces = ["expected_tokens"]
loses = {"factors": 3.0}


def expected_tokens(alpha, gamma):
    if alpha == 1:
        return gamma + 1
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)
