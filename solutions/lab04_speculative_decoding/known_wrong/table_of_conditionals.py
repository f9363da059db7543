"""Each row adds up to 1: what is emitted given the draft, without the probability of drafting it."""

replaces = ["table"]
loses = {"emission_table": 4.0}

table = [
    [1, 0, 0, 0],
    [0.2, 0.2, 0.6, 0],
    [0, 0, 1, 0],
    [0.125, 0, 0.375, 0.5],
]
