"""Measures without having predicted anything."""

replaces = ["prediction"]
loses = {"prediction": 1.0}

prediction = Prediction("lab00_never_locked", "Scores computed without a cache", low=1, high=1000)
