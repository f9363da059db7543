"""The cases that only grading runs, of the lab that hostile notebooks are graded against."""

from collections.abc import Iterator

from course_lib.checks import Draw
from course_lib.checks.cases import Case

from .checks import follow_case, lab, nearly_case, pairs_case, softmax_case, tally_case


@lab.hidden("softmax")
def softmax(draw: Draw) -> Iterator[Case]:
    yield softmax_case("hidden: four axes", draw.normal(2, 2, 2, 7, dtype="float64"))


@lab.hidden("pairs")
def pairs(draw: Draw) -> Iterator[Case]:
    yield pairs_case("hidden: many things", draw.integers(10**6, 10**7), -draw.integers(2, 100))


@lab.hidden("nearly")
def nearly(draw: Draw) -> Iterator[Case]:
    yield nearly_case("hidden: a table", draw.normal(3, 4, dtype="float64"))


@lab.hidden("tally")
def tally(draw: Draw) -> Iterator[Case]:
    yield tally_case("hidden: twelve numbers", draw.integers(1, 10**6, 12).tolist())


@lab.hidden("follow")
def follow(draw: Draw) -> Iterator[Case]:
    yield follow_case("hidden: no step", draw.integers(1, 1000), 0)
    yield follow_case("hidden: thirty steps", draw.integers(1000, 60000), 30)
