"""Counts the keys and forgets the values: half of what the cache holds."""

replaces = ["bytes_per_token", "gib_at_full_window"]
loses = {"cache_by_hand": 3.0}

bytes_per_token = 32 * 8 * 128 * 2
gib_at_full_window = bytes_per_token * 131_072 / 2**30
