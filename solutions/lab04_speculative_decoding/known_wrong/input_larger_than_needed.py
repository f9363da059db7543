"""Three tokens fail, and so do two of them."""

replaces = ["failing_tokens"]
loses = {"failing_input": 1.0}

failing_tokens = np.array([[3, 1, 4]])
