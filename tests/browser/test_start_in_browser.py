"""What a student sees after `make start`: the address that was printed opens the first lecture, with nothing before it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.house.start import FIRST_PAGE
from tests.browser.jupyter import STARTS_WITHIN

ROOT = Path(__file__).parents[2]
COURSE = "from course_lib.house.cli import main; main()"
# Where JupyterLab keeps what a person chose: a student has chosen nothing yet.
CHOICES = ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")


def never_started(folder: Path) -> Path:
    """The interpreter of an environment with all that this one has, in which no course was ever started.

    The start leaves its settings in the environment, where an earlier start of this one's may have left them already.
    """
    venv.create(folder, symlinks=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": folder}))
    (own / "here.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (folder / "etc").symlink_to(Path(sys.prefix, "etc"))
    for part in ("share/jupyter", "share/jupyter/lab"):
        (folder / part).mkdir(parents=True)
        for path in Path(sys.prefix, part).iterdir():
            if path.name not in ("lab", "settings"):
                (folder / part / path.name).symlink_to(path)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """What a real `course start --browser none` prints, in a course of one lecture."""
    python = never_started(tmp_path_factory.mktemp("environment"))
    course, home = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("home")
    (course / FIRST_PAGE).parent.mkdir()
    (course / "pyproject.toml").touch()
    shutil.copy(ROOT / FIRST_PAGE, course / FIRST_PAGE)
    process = subprocess.Popen(
        [python, "-c", COURSE, "start", "--browser", "none"],
        cwd=course,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | {name: str(home / name.lower()) for name in CHOICES},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said = iter(process.stdout.readline, "")
        yield next(match[0] for line in said if (match := re.search(r"http://\S+", line)))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def page(address, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    for _ in range(5 * STARTS_WITHIN):  # the address is printed before the server listens
        try:
            page.goto(address, wait_until="domcontentloaded")
            break
        except Exception as error:
            if "ERR_CONNECTION_REFUSED" not in str(error):
                raise
            page.wait_for_timeout(200)
    yield page
    context.close()


def test_the_first_lecture_shows_with_a_kernel_and_nothing_stands_before_it(page):
    lecture = page.locator(".jp-NotebookPanel:visible")
    lecture.get_by_role("heading", level=1).first.wait_for(timeout=1000 * STARTS_WITHIN)
    lecture.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(timeout=1000 * STARTS_WITHIN)
    # A prompt would come once JupyterLab has settled, which the kernel's answer does not tell.
    page.wait_for_timeout(3000)
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / "start.png")
    assert page.locator(".jp-Dialog").all_inner_texts() == []
    assert page.locator(".Toastify__toast").all_inner_texts() == []
    assert page.locator(".lm-TabBar-tab.lm-mod-current", has_text="00_start.ipynb").is_visible()
