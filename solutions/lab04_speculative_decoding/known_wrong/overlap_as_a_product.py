"""α is taken for Σ p·q, the chance that two independent draws agree; the test accepts far more than that."""

replaces = ["overlap"]
loses = {"overlap_by_hand": 1.5}

overlap = 0.25 * 0.15 + 0.05 * 0.25 + 0.50 * 0.20 + 0.20 * 0.40
