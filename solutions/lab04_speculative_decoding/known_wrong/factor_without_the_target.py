"""Divides by γc alone; the target's own run, the 1, is missing."""

replaces = ["improvement_factor"]
loses = {"factors": 3.0, "best_gamma": 4.0}


def improvement_factor(alpha, gamma, c):
    return expected_tokens(alpha, gamma) / np.float64(gamma * c)
