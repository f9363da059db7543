"""Driving a real JupyterLab in a headless Chromium: what a test does instead of a reader.

`Lab` is a server on a port of its own, with its own settings, over a folder of notebooks; `Notebook` is one of them, open in
the browser: run it whole, read its outputs, move its sliders with keys, time how long the picture takes to follow, take a
picture of the page. What goes wrong is told as a person would want it: the cell that failed with its source and traceback,
the server's last words, the browser's console.
"""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError

from playwright.sync_api import Browser, Locator, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

STARTS_WITHIN = 90  # seconds; a cold machine imports slowly
STOPS_WITHIN = 10
# What JupyterLab itself complains about when nothing outside can be reached, or while it settles.
HARMLESS = ("ResizeObserver loop", "favicon.ico")
QUIET = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
QUIET += ["--disable-sync", "--disable-quic"]


def find_chromium() -> str | None:
    """The browser to drive: what CHROMIUM names, or the first one on the PATH."""
    named = os.environ.get("CHROMIUM")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser. Raises FileNotFoundError when there is none to find."""
    path = find_chromium()
    if path is None:
        raise FileNotFoundError("no Chromium: put chromium or google-chrome on the PATH, or name one in CHROMIUM")
    # Chromium's sandbox refuses to run for root, as whom containers run.
    alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*QUIET, *alone])
        try:
            yield browser
        finally:
            browser.close()


class NotebookError(AssertionError):
    """A cell failed, or the notebook never came to rest."""


@dataclass(frozen=True)
class CellError:
    """What one failed cell left behind."""

    index: int
    source: str
    name: str
    message: str
    traceback: str

    def __str__(self) -> str:
        return f"cell {self.index} failed: {self.name}: {self.message}\n{_indent(self.source)}\n{self.traceback}"


class Lab:
    """A JupyterLab server over `root`, started on entry and stopped, with its kernels, on exit."""

    def __init__(
        self,
        root: Path,
        browser: Browser,
        home: Path,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """
        Args:
            root: the folder that it shows.
            browser: opens its pages.
            home: an empty folder for settings, logs and runtime files.
            python: the environment to run; the one of the tests unless another is wanted.
            environment: variables set on top of this process's own.
        """
        self.root, self._browser, self.home, self._python = root, browser, home, python
        self._environment = dict(environment or {})
        self._token = secrets.token_hex(16)
        self._pages: list[Any] = []

    def __enter__(self) -> "Lab":
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._log = self.home / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=self.root, env=self._variables(), stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            for page in self._pages:
                page.close()
        finally:
            # A polite end lets the server end its kernels; those of a killed one notice and end themselves.
            self._process.terminate()
            try:
                self._process.wait(STOPS_WITHIN)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def url(self, path: str = "lab") -> str:
        """The address of a page, such as "lab/tree/x.ipynb" or "formgrader", with the token that opens it."""
        return f"{self.address}/{path}?token={self._token}"

    def page(self, path: str = "lab") -> Page:
        """Any page of the server, in a browser profile of its own."""
        context = self._browser.new_context(viewport={"width": 1280, "height": 900})
        self._pages.append(context)
        page = context.new_page()
        page.goto(self.url(path), wait_until="domcontentloaded")
        return page

    def open(self, name: str) -> "Notebook":
        """The notebook at `name` under the root, its kernel ready."""
        # Each notebook has a workspace of its own: no tabs of an earlier one come back.
        workspace = re.sub(r"\W+", "-", name) + secrets.token_hex(2)
        return Notebook(self.page(f"lab/workspaces/{workspace}/tree/{name}"), name, self)

    def log(self) -> str:
        """The server's last words."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])

    def _command(self) -> list[str]:
        settings = {
            "ip": "127.0.0.1",
            "port": self.port,
            "port_retries": 0,
            "open_browser": False,
            "allow_root": True,
            "root_dir": self.root,
        }
        options = [f"--ServerApp.{name}={value}" for name, value in settings.items()]
        options += [f"--IdentityProvider.token={self._token}", "--LabApp.expose_app_in_browser=True"]
        return [self._python, "-m", "jupyterlab", "--no-browser", *options]

    def _variables(self) -> dict[str, str]:
        settings = self.home / "settings"
        notification = settings / "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
        notification.parent.mkdir(parents=True, exist_ok=True)
        notification.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
        own = {
            "JUPYTERLAB_SETTINGS_DIR": settings,
            "JUPYTERLAB_WORKSPACES_DIR": self.home / "workspaces",
            "JUPYTER_CONFIG_DIR": self.home / "config",
            "JUPYTER_DATA_DIR": self.home / "data",
            "JUPYTER_RUNTIME_DIR": self.home / "runtime",
            "IPYTHONDIR": self.home / "ipython",
        }
        return os.environ | {name: str(folder) for name, folder in own.items()} | self._environment

    def _wait(self) -> None:
        end = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"JupyterLab ended with code {self._process.returncode}:\n{self.log()}")
            try:
                with urllib.request.urlopen(self.url("api/status"), timeout=5):
                    return
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.2)
        raise RuntimeError(f"JupyterLab did not answer within {STARTS_WITHIN} s:\n{self.log()}")


class Notebook:
    """A notebook open in the browser."""

    def __init__(self, page: Page, name: str, lab: Lab) -> None:
        self.page, self.name, self._lab = page, name, lab
        self.console: list[str] = []
        page.on("console", lambda message: self._hear(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._hear(str(error)))
        try:
            page.wait_for_function(_READY, timeout=1000 * STARTS_WITHIN)
        except BrowserError as error:
            raise NotebookError(self._told(f"{name} did not open")) from error

    def run_all(self, seconds: float = 120) -> None:
        """Runs every cell in order. Raises NotebookError for a cell that fails, or when the time is up."""
        try:
            # The page is asked again and again: a long evaluation would have no time limit.
            self.page.evaluate(_RUN)
            self.page.wait_for_function("window.courseRun === 'done'", timeout=1000 * seconds)
        except BrowserError as error:
            running = self.page.evaluate(_RUNNING)
            where = f"; cell {running['index']} is running:\n{_indent(running['source'])}" if running else ""
            errors = "".join(f"\n{error}" for error in self.errors())
            raise NotebookError(self._told(f"not done after {seconds:g} s{where}{errors}")) from error
        errors = self.errors()
        if errors:
            raise NotebookError(self._told("\n".join(map(str, errors)), with_log=False))

    def errors(self) -> list[CellError]:
        """The failed cells."""
        return [
            CellError(index, cell["source"], output["ename"], output["evalue"], _plain("\n".join(output["traceback"])))
            for index, cell in enumerate(self.cells())
            for output in cell.get("outputs", [])
            if output["output_type"] == "error"
        ]

    def cells(self) -> list[dict]:
        """The notebook as it is now, in nbformat's own form, outputs included."""
        return self.page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON().cells")

    def cell(self, index: int) -> Locator:
        """The cell at `index`, scrolled into view: what is far out of sight is not in the page at all."""
        self.page.evaluate(_SHOW, index)
        cell = self.page.locator(f'.jp-Notebook:visible [data-windowed-list-index="{index}"]')
        cell.wait_for(state="attached")
        return cell

    def slider(self, label: str) -> Locator:
        """The handle of the slider beside `label`: what takes the focus and the keys."""
        label_ = self.page.locator(".widget-label", has_text=re.compile(rf"^\s*{re.escape(label)}\s*$"))
        handle = self.page.locator(".widget-slider", has=label_).locator("[role=slider]")
        if handle.count() != 1:
            labels = ", ".join(self.page.locator(".widget-slider .widget-label").all_inner_texts()) or "none"
            raise NotebookError(self._told(f"{handle.count()} sliders are named {label!r}; there is {labels}"))
        return handle

    def picture(self, near: Locator) -> Locator:
        """The picture in the same output as `near`."""
        return near.locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea-output')][1]").locator(
            "img.widget-image"
        )

    def press(self, slider: Locator, key: str, times: int = 1) -> None:
        """Presses a key on a slider, as fast as it goes."""
        slider.focus()
        for _ in range(times):
            self.page.keyboard.press(key)

    def time_keys(self, slider: Locator, key: str, events: int = 15) -> list[float]:
        """Milliseconds from each key press to the frame that shows the new picture; one press after another."""
        picture, taken = self.picture(slider), []
        for _ in range(events):
            picture.evaluate(_WATCH)
            self.press(slider, key)
            milliseconds = self.page.evaluate("window.courseShown")
            if milliseconds is None:
                raise NotebookError(self._told(f"the picture did not change within 10 s of {key}"))
            taken.append(milliseconds)
        return taken

    def screenshot(self, path: Path, of: Locator | None = None) -> Path:
        """A picture of the page, or of a part of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        (of or self.page).screenshot(path=path)
        return path

    def _hear(self, words: str) -> None:
        if not any(harmless in words for harmless in HARMLESS):
            self.console.append(words)

    def _told(self, what: str, with_log: bool = True) -> str:
        picture = self.screenshot(self._lab.home / "failed.png")
        console = "\n".join(self.console[-10:]) or "nothing"
        log = f"\nThe server:\n{self._lab.log()}" if with_log else ""
        return f"{self.name}: {what}\nThe page: {picture}\nThe browser's console: {console}{log}"


_READY = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    const ready = panel?.context?.isReady && panel.sessionContext?.isReady;
    return ready && panel.sessionContext.session?.kernel?.status === 'idle';
}"""

_RUN = """() => {
    window.courseRun = 'running';
    jupyterapp.commands.execute('notebook:run-all-cells').finally(() => window.courseRun = 'done');
}"""

_RUNNING = """() => {
    const cells = [...jupyterapp.shell.currentWidget.content.model.cells];
    const index = cells.findIndex(cell => cell.executionState === 'running');
    return index < 0 ? null : {index, source: cells[index].sharedModel.source};
}"""

_SHOW = "index => jupyterapp.shell.currentWidget.content.scrollToItem(index, 'smart')"

_WATCH = """picture => {
    let pressed = null;
    window.courseShown = new Promise(resolve => {
        addEventListener('keydown', () => { pressed = performance.now(); }, {capture: true, once: true});
        const loaded = () => {
            if (pressed === null) return;  // the picture of an earlier event
            picture.removeEventListener('load', loaded);
            requestAnimationFrame(() => resolve(performance.now() - pressed));
        };
        picture.addEventListener('load', loaded);
        setTimeout(() => resolve(null), 10000);
    });
}"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _indent(source: str) -> str:
    return "\n".join(f"    {line}" for line in source.splitlines())
