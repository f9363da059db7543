"""Leaves the residual as it is after the subtraction: it adds up to 1 − α, not to 1."""

replaces = ["missing"]
loses = {"residual_by_hand": 2.0}

missing = [0.10, 0, 0.30, 0]
