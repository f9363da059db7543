"""What students hand in, from wherever it was collected to cells that can be run: found, read, repaired, aligned with the lab."""


class Unreadable(ValueError):
    """A submission that cannot be read; its text says why, for the instructor."""
