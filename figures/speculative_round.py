"""Draws speculative_round.svg: one round that rejects its third drafted token, and the next one, which accepts all four.

See speculative_round.md for what to look at.
"""

from pathlib import Path

from course_lib.explore import style
from course_lib.explore.speculative_round import speculative_round

if __name__ == "__main__":
    picture = speculative_round()
    style.save_svg(picture, Path(__file__).with_suffix(".svg"), title="A round of speculation", description=picture.alt)
