"""Drops the shorter piece at the end."""

replaces = ["chunks"]
loses = {"chunks": 1}


def chunks(items, size):
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    return [items[i : i + size] for i in range(0, len(items) - size + 1, size)]
