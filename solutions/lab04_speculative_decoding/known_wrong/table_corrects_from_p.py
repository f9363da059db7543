"""Spreads what is rejected over the columns as p says, so the columns do not add up to p."""

replaces = ["table"]
loses = {"emission_table": 2.0}

table = [
    [0.15, 0, 0, 0],
    [0.05, 0.06, 0.10, 0.04],
    [0, 0, 0.20, 0],
    [0.05, 0.01, 0.10, 0.24],
]
