"""A browser and a JupyterLab for the tests that drive one; every test in this folder is marked `browser`.

Without a Chromium these tests are skipped, and in CI a skipped test is a failure. The browser lives as long as a file of
tests and not longer: Playwright keeps an event loop running, beside which nothing else in the process may start one.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.jupyter import Lab, chromium, find_chromium


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="module")
def browser() -> Iterator:
    if find_chromium() is None:
        pytest.skip("needs Chromium: put one on the PATH, or name it in CHROMIUM")
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory) -> Iterator[Lab]:
    """JupyterLab over an empty folder, `lab.root`: put notebooks there, then `lab.open` them."""
    with Lab(tmp_path_factory.mktemp("notebooks"), browser, tmp_path_factory.mktemp("jupyter")) as started:
        yield started
