"""Two lines are mended; `append` still keeps the caller's own arrays, and sees what is written into them later."""

replaces = ["KVCache"]
loses = {"cache_bug": 1.0}


class KVCache(KVCache):  # the right one, but for this line
    def append(self, k, v):
        self.tokens.append((k, v))
