"""Counts γ terms in E[N]; a round emits one token beyond its drafts, so there are γ + 1."""

replaces = ["gamma_star", "factor"]
loses = {"gamma_by_hand": 4.0}

gamma_star, factor = 5, 1.877
