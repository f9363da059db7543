"""Formgrader in a browser: started in a course as README has it, and used as a person who grades uses it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.api import Gradebook
from playwright.sync_api import Browser, Page

from tests.browser.jupyter import Lab


@contextmanager
def formgrader(browser: Browser, course: Path, home: Path) -> Iterator[Lab]:
    """JupyterLab over an nbgrader course, its environment's tools on the PATH."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with Lab(course, browser, home, environment={"PATH": tools}) as lab:
        yield lab


def submission(lab: Lab, page: Page, database: str, name: str, student: str) -> None:
    """Opens a student's notebook of the lab `name`, and waits until the boxes hold what belongs in them."""
    with Gradebook(database) as gradebook:
        notebook = gradebook.find_submission_notebook(name, name, student).id
    page.goto(lab.url(f"formgrader/submissions/{notebook}/"))
    # The boxes are there before formgrader has fetched what belongs in them; what is typed earlier is not saved.
    page.wait_for_function("formgrader.grades?.loaded && formgrader.comments?.loaded")


def give(page: Page, cell: str, points: str, comment: str) -> None:
    """Types points and a comment for a written answer, as a person does, and waits until both are saved."""
    for kind, box, text in (("grade", f"#{cell}", points), ("comment", f"#{cell}-comment", comment)):
        saved = lambda answer, kind=kind: f"/api/{kind}/" in answer.url and answer.request.method == "PUT"  # noqa: E731
        with page.expect_response(saved):
            page.locator(box).fill(text)
            page.locator(box).press("Tab")


def keep(page: Page, name: str) -> None:
    """Leaves a picture of the page where SCREENSHOTS says, to be looked at."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)
