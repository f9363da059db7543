"""Forgets nothing."""

replaces = ["Window"]
loses = {"window": 0.67}


class Window:
    def __init__(self, size):
        self.all = []

    def put(self, item):
        self.all.append(item)

    def items(self):
        return list(self.all)
