"""A test that takes `maker` runs once for each user and each level; one that takes `best`, once for each user."""

from collections.abc import Iterator

import pytest

from tests.autograder.sandbox.boxes import USERS, WITHOUT, Ground, Maker, ground


@pytest.fixture(name="ground")
def a_ground() -> Iterator[Ground]:
    with ground() as made:
        yield made


@pytest.fixture(params=USERS)
def best(request: pytest.FixtureRequest) -> Maker:
    """The best level that a user gets on this machine."""
    return Maker(request.param, ())


SOON = {("as we are", "best"), ("as nobody", "best"), ("as nobody", "without namespaces"), ("as nobody", "bare")}
"""One pair for each level, A to D; the others, which differ less, are for `make check-all`."""


@pytest.fixture(
    params=[
        pytest.param((user, name), id=f"{user}, {name}", marks=() if (user, name) in SOON else pytest.mark.slow)
        for user in USERS
        for name in WITHOUT
    ]
)
def maker(request: pytest.FixtureRequest) -> Maker:
    """Each level that a user gets on this machine, and those below it."""
    user, name = request.param
    return Maker(user, WITHOUT[name])
