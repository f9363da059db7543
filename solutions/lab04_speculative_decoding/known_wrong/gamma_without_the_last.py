"""`range(gamma_max)` leaves out gamma_max itself."""

replaces = ["best_gamma"]
loses = {"best_gamma": 0.8}


def best_gamma(alpha, c, gamma_max):
    return max(range(gamma_max), key=lambda gamma: improvement_factor(alpha, gamma, c))
