"""Draws rejection_rule.svg: the explorer of the rejection rule as a still picture, after a few hundred rounds.

See rejection_rule.md for what to look at.
"""

from pathlib import Path

from course_lib.explore import style
from course_lib.explore.rejection_rule import rejection_rule_explorer

if __name__ == "__main__":
    explorer = rejection_rule_explorer()
    words = f"{explorer.alt} {explorer.reading}"
    style.save_svg(
        explorer.static(), Path(__file__).with_suffix(".svg"), title="Keep or replace a draft", description=words
    )
