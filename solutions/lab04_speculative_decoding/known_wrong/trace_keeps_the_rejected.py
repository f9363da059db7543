"""Emits the rejected draft as well, and the correction after it; the correction takes its place."""

replaces = ["n_first", "emitted_first", "n_second", "emitted_second"]
loses = {"traced_round": 0.75}

n_first, emitted_first = 2, "b d a b"
n_second, emitted_second = 3, "b d a c"
