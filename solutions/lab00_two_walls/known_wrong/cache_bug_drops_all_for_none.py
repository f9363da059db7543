"""Two lines are mended; `drop(0)` still forgets everything, because `[-0:]` is the whole list."""

replaces = ["KVCache"]
loses = {"cache_bug": 1.0}


class KVCache(KVCache):  # the right one, but for this line
    def drop(self, n):
        del self.tokens[-n:]
