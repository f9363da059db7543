"""Cells of plain asserts, as labs had before there were checks: what they are, what vouches for them, a run of one."""
