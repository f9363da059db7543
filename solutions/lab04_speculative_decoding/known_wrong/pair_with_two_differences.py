"""The pair shows the fault, but differs in two tokens where one will do."""

replaces = ["failing_pair"]
loses = {"failing_input": 1.0}

failing_pair = np.array([[0, 1], [1, 2]])
