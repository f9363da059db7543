"""Two lines are mended; `nbytes` still counts the keys alone."""

replaces = ["KVCache"]
loses = {"cache_bug": 1.0}


class KVCache(KVCache):  # the right one, but for this line
    def nbytes(self):
        return sum(k.nbytes for k, v in self.tokens)
