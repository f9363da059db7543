"""A notebook's cells beside those of the released lab: what they are, which is which, and what to tell about it."""
