"""Draws two_walls.svg: the explorer of lecture 00 as a still picture, at a context where both walls are met.

See two_walls.md for what to look at.
"""

from pathlib import Path

from course_lib.explore import style
from course_lib.explore.two_walls import two_walls_explorer

if __name__ == "__main__":
    explorer = two_walls_explorer()
    words = f"{explorer.alt} {explorer.reading}"
    style.save_svg(explorer.static(), Path(__file__).with_suffix(".svg"), title="The two walls", description=words)
