"""Subtracts the whole Σ |p − q| from 1; every disagreement is in that sum twice, once as too much and once as too little."""

replaces = ["overlap"]
loses = {"overlap_by_hand": 1.5}

overlap = 1 - (0.10 + 0.20 + 0.30 + 0.20)
