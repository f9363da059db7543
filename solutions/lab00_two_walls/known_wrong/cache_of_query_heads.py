"""Counts all 32 query heads; only the 8 key–value heads are kept."""

replaces = ["bytes_per_token", "gib_at_full_window"]
loses = {"cache_by_hand": 3.0}

bytes_per_token = 2 * 32 * 32 * 128 * 2
gib_at_full_window = bytes_per_token * 131_072 / 2**30
