"""Divides by 10⁹, which gives GB; a GiB is 2³⁰ bytes, 7 % more."""

replaces = ["gib_at_full_window"]
loses = {"cache_by_hand": 1.5}

gib_at_full_window = bytes_per_token * 131_072 / 1e9
