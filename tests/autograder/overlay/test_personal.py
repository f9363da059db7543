"""What each student gets: the same from one day to the next, different from the next student's, and never the public lab's."""

from autograder.overlay.folder import Overlay
from autograder.overlay.personal import Overlaid
from autograder.records.identity import seed_for
from autograder.versions import current
from course_lib.checks import labs
from tests.autograder.small import SQUARES

KEY = bytes(range(32))
CASES = '''

@lab.variant("total", "cubes", target="total(numbers) -> sum of cubes")
def total_cubes(draw):
    """The sum of the cubes of a list."""
    yield case("three cubes", ([1, 2, 4],), expect=73)
'''


def of(overlaid, student: str):
    return overlaid.drawn(seed_for(KEY, "lab_small", student, ""))


def test_numbers_and_variants_are_a_students_own_and_stay(overlaid, lab_folder, instructor):
    students = [f"s{i}" for i in range(40)]
    drawn = {student: of(overlaid, student) for student in students}
    again = Overlaid(current(lab_folder), Overlay(instructor / "lab_small"))
    assert {student: of(again, student) for student in students} == drawn
    assert len({one.numbers["n"] for one in drawn.values()}) > 30
    assert {one.variants["total"] for one in drawn.values()} == {"times", "squares"}
    assert len({one.mark for one in drawn.values()}) == len(students)


def test_the_numbers_stand_in_every_kind_of_case_whatever_the_seed(overlaid):
    drawn = next(one for one in (of(overlaid, f"s{i}") for i in range(40)) if one.variants["total"] == "times")
    n, lab = drawn.numbers["n"], overlaid.lab_of(drawn)
    (mine,) = [case for case in lab.checks["double"].hidden_cases(5) if case.name.startswith("a number")]
    assert mine.steps[0].expect.value == 2 * n
    for seed in (1, 2):
        shown, _ = lab.checks["total"].visible_cases(seed)
        (hidden,) = lab.checks["total"].hidden_cases(seed)
        assert shown.steps[0].expect.value == 7 * n
        assert hidden.steps[0].expect.value == n * sum(hidden.steps[0].args[0])


def test_a_variant_keeps_the_checks_name_and_points_and_drops_what_was_about_the_public_one(overlaid, lab_folder):
    drawn = of(overlaid, "ada")
    lab, public = overlaid.lab_of(drawn), labs.load(lab_folder)
    assert {name: check.points for name, check in lab.checks.items()} == {"double": 4, "total": 2.5}
    assert (lab.points, lab.checks["total"].needs) == (public.points, public.checks["total"].needs)
    assert lab.checks["total"].targets != public.checks["total"].targets
    assert [case.name for case in lab.checks["double"].hidden_cases(0)] == [
        "a ragged tail",
        "a number that is nobody else's",
    ]
    assert [case.name for case in public.checks["double"].hidden_cases(0)] == ["a ragged tail"]
    assert [list(mistake.outcomes) for mistake in lab.mistakes] == [["double"]]


def test_another_variant_moves_nobody_but_those_who_get_it(overlaid, own, lab_folder):
    (own / "variants/total/cubes.py").write_text(SQUARES.replace("number * number", "number**3").lstrip(), "utf-8")
    (own / "overlay.py").write_text((own / "overlay.py").read_text("utf-8") + CASES, "utf-8")
    more = Overlaid(current(lab_folder), Overlay(own))
    before = {i: of(overlaid, f"s{i}") for i in range(60)}
    after = {i: of(more, f"s{i}") for i in range(60)}
    moved = {after[i].variants["total"] for i in before if after[i].variants != before[i].variants}
    assert moved == {"cubes"}
    assert all(after[i].numbers == before[i].numbers for i in before)
    assert more.version != overlaid.version
