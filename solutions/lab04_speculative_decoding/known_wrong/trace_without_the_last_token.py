"""Emits the accepted drafts and stops there; a round always emits one token more."""

replaces = ["n_first", "emitted_first", "n_second", "emitted_second"]
loses = {"traced_round": 1.5}

n_first, emitted_first = 2, "b d"
n_second, emitted_second = 3, "b d a"
