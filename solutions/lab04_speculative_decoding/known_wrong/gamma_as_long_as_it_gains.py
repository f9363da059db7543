"""Goes on as long as the factor is above 1; the best γ comes long before the last that gains."""

replaces = ["best_gamma"]
loses = {"best_gamma": 1.6}


def best_gamma(alpha, c, gamma_max):
    gamma = 0
    while gamma < gamma_max and improvement_factor(alpha, gamma + 1, c) > 1:
        gamma += 1
    return gamma
