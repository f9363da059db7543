"""The map: every unit once, below its walls, built and planned told apart without colour."""

from dataclasses import dataclass

import pytest

from course_lib.explore.course_map import course_map, in_words
from course_lib.house import syllabus


@dataclass
class Unit:
    id: str
    title: str
    minutes: int = 30
    walls: tuple[str, ...] = ("decoding",)
    built: bool = False


def frames(picture) -> list:
    return list(picture.axes[0].patches)


def test_every_unit_of_the_syllabus_is_on_it_once():
    units = syllabus.units()
    picture = course_map(units)
    words = " ".join(text.get_text() for text in picture.axes[0].texts).replace("\n", " ")
    assert len(frames(picture)) == len(units) == 13
    for unit in units:
        assert words.count(unit.title) == 1
        assert unit.title in picture.alt


def test_built_and_planned_differ_in_their_frames_and_not_in_colour_alone():
    built, planned = frames(course_map([Unit("00", "a", built=True), Unit("01", "b")]))
    assert built.get_linestyle() != planned.get_linestyle()


def test_a_unit_stands_below_its_walls():
    left, right, both = frames(
        course_map(
            [Unit("00", "a", walls=("attention",)), Unit("01", "b"), Unit("02", "c", walls=("attention", "decoding"))]
        )
    )
    assert left.get_x() + left.get_width() < 1 < right.get_x()
    assert both.get_x() < 1 < both.get_x() + both.get_width()
    assert left.get_y() != right.get_y() != both.get_y()


def test_the_words_say_what_the_picture_shows():
    words = in_words([Unit("00", "Start", built=True, walls=("attention", "decoding")), Unit("01", "Tokens")])
    assert "Start" in words
    assert "planned" in words


@pytest.mark.parametrize(
    ("units", "words"), [([], "units is empty"), ([Unit("07", "x", walls=("berlin",))], "unit 07 has walls")]
)
def test_what_cannot_be_drawn_is_said(units, words):
    with pytest.raises(ValueError, match=words):
        course_map(units)
