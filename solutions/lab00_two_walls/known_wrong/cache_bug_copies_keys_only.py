"""`append` copies the keys, and keeps the caller's own array of values."""

replaces = ["KVCache"]
loses = {"cache_bug": 1.0}


class KVCache:
    def __init__(self):
        self.tokens = []

    def __len__(self):
        return len(self.tokens)

    def append(self, k, v):
        self.tokens.append((k.copy(), v))

    def nbytes(self):
        return sum(k.nbytes + v.nbytes for k, v in self.tokens)

    def drop(self, n):
        del self.tokens[len(self.tokens) - n :]

    def stacked(self):
        return np.array([k for k, v in self.tokens]), np.array([v for k, v in self.tokens])
