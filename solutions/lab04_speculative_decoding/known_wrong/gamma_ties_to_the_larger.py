"""Of equally good ones takes the larger: more work for the same speed."""

replaces = ["best_gamma"]
loses = {"best_gamma": 0.8}


def best_gamma(alpha, c, gamma_max):
    best, largest = 0, 1.0
    for gamma in range(1, gamma_max + 1):
        factor = improvement_factor(alpha, gamma, c)
        if factor >= largest:
            best, largest = gamma, factor
    return best
