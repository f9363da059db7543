"""Draws the correction from the target's row, where the residual of that row is meant."""

replaces = ["n_first", "emitted_first", "n_second", "emitted_second"]
loses = {"traced_round": 0.75}

n_first, emitted_first = 2, "b d a"
n_second, emitted_second = 3, "b d a c"
