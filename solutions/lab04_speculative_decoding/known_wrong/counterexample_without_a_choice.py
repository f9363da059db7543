"""p leaves no choice, and on such rows the code is right."""

replaces = ["hunt_p", "hunt_token", "hunt_share"]
loses = {"counterexample": 1.0}

hunt_p = [1.0, 0.0]
hunt_token, hunt_share = 1, 0.0
