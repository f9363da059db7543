"""A small lab as they were before there were checks: cells of asserts, graded in the process of the answers.

Hostile notebooks are graded against it, and nobody is taught with it. Beside the asserts stands one check line, which whatever
deceives them must not reach.
"""

from collections.abc import Iterator

from course_lib.checks import Draw, Lab, case
from course_lib.checks.cases import Case

lab = Lab("lab98_legacy", "Asserts of old", minutes=5)

lab.asserts(
    "old_weights",
    points=2,
    canaries=[
        "np.testing.assert_allclose(weights([1, 3]), [0.5, 0.5])",
        "assert np.allclose(np.sum(weights([2, 2, 4])), 2)",
    ],
)
lab.asserts("old_prime", points=2)
lab.asserts("old_stack", points=1)


@lab.check(points=1, target="double(x) -> y")
def double(draw: Draw) -> Iterator[Case]:
    """Twice a number."""
    n = draw.integers(10, 1000)
    yield case("some number", (n,), expect=2 * n)
