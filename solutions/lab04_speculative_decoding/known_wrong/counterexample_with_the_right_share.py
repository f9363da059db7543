"""Gives the share that the token should have, where the share is asked that the faulty code gives it."""

replaces = ["hunt_share"]
loses = {"counterexample": 1.0}

hunt_share = 0.4
