"""`append` copies the keys, and keeps the caller's own array of values."""

replaces = ["KVCache"]
loses = {"cache_bug": 1.0}


class KVCache(KVCache):  # the right one, but for this line
    def append(self, k, v):
        self.tokens.append((k.copy(), v))
