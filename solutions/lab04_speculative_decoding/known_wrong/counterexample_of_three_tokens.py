"""Three tokens show the fault, and two are enough."""

replaces = ["hunt_p", "hunt_q"]
loses = {"counterexample": 1.0}

hunt_p = [0.6, 0.4, 0.0]
hunt_q = [0.5, 0.25, 0.25]
