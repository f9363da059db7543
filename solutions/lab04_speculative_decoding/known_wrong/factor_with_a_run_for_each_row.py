"""Counts γ + 1 target runs; one run gives all γ + 1 rows, and that is the point."""

replaces = ["improvement_factor"]
loses = {"factors": 3.0, "best_gamma": 2.4}


def improvement_factor(alpha, gamma, c):
    return expected_tokens(alpha, gamma) / (gamma * c + gamma + 1)
