"""Nothing fails on it: one token, or equal ones, look the same from wherever they are read."""

replaces = ["failing_tokens"]
loses = {"failing_input": 2.0}

failing_tokens = np.array([[3, 3]])
