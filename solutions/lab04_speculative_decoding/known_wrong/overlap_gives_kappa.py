"""Gives κ itself, where the rate of acceptance is 1/κ."""

replaces = ["envelope_acceptance"]
loses = {"overlap_by_hand": 1.5}

envelope_acceptance = 0.50 / 0.20
