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


@pytest.fixture(params=[(user, name) for user in USERS for name in WITHOUT], ids=lambda pair: ", ".join(pair))
def maker(request: pytest.FixtureRequest) -> Maker:
    """Each level that a user gets on this machine, and those below it."""
    user, name = request.param
    return Maker(user, WITHOUT[name])
