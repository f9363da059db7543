"""Draws speedup.svg: the explorer of the speed-up as a still picture, at a draft that is good and cheap.

See speedup.md for what to look at.
"""

from pathlib import Path

from course_lib.explore import style
from course_lib.explore.speedup import speedup_explorer

if __name__ == "__main__":
    explorer = speedup_explorer()
    words = f"{explorer.alt} {explorer.reading}"
    style.save_svg(
        explorer.static(), Path(__file__).with_suffix(".svg"), title="What speculation gains", description=words
    )
