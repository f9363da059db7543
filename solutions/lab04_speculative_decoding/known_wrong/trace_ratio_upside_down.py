"""Accepts where r is below q/p; the test is r < p/q, and p > q always passes it."""

replaces = ["n_first", "emitted_first", "n_second", "emitted_second"]
loses = {"traced_round": 3.0}

n_first, emitted_first = 0, "b"
n_second, emitted_second = 0, "b"
