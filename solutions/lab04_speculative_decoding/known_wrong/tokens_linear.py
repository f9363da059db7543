"""1 + γα adds up the drafts as if each were accepted with α; a draft counts only if all before it were accepted."""

replaces = ["expected_tokens"]
loses = {"factors": 5.0, "best_gamma": 1.6}


def expected_tokens(alpha, gamma):
    return 1 + gamma * alpha
