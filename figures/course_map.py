"""Draws course_map.svg: the thirteen units, each below the wall that it climbs, from lectures/syllabus.toml.

See course_map.md for what to look at.
"""

from pathlib import Path

from course_lib.explore import style
from course_lib.explore.course_map import course_map
from course_lib.house import syllabus

if __name__ == "__main__":
    picture = course_map(syllabus.units())
    style.save_svg(picture, Path(__file__).with_suffix(".svg"), title="The map of the course", description=picture.alt)
