"""The drafts of both sequences stand, so neither disturbs the other."""

replaces = ["failing_pair"]
loses = {"failing_input": 2.0}

failing_pair = np.array([[0, 0], [0, 2]])
