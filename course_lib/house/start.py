"""`course start`: JupyterLab, open on the first lecture.

An author's checkout first regenerates what is stale. JupyterLab's settings are overridden in this environment alone, so
that neither the prompt about its news nor a look for a newer version stands between a student and the first page. The
port is settled and the token made here, before JupyterLab takes this process over: the address can then be printed as
one plain line, and a taken port is said as one.
"""

import json
import os
import secrets
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import click

from course_lib.house.paths import root

FIRST_PAGE = "lectures/00_start.ipynb"
FIRST_PORT = 8888
SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}

# rfc3987_syntax compiles its grammars on import: a third of JupyterLab's whole start. It serves one optional check of
# jsonschema's, the format of an IRI, which JupyterLab has no use for; jsonschema goes on without when it is absent.
LAUNCH = "import sys; sys.modules['rfc3987_syntax'] = None; from jupyterlab.labapp import main; main()"


def run(browser: str = "", port: int | None = None) -> NoReturn:
    """Turn this process into JupyterLab in the checkout or bundle around the working directory.

    Args:
        browser: The browser to open, a command; "" is the system's own choice, and "none" opens nothing.
        port: The port to use and no other; None takes the first free one from 8888 on.

    Raises:
        ValueError: there is no course here, JupyterLab is not installed, or the port is taken.
    """
    folder = root()
    if folder is None:
        raise ValueError("no course here: run `course start` inside the folder that holds lectures/")
    if find_spec("jupyterlab") is None:
        raise ValueError(
            "JupyterLab is not installed here: run `make start`, or pip install '.[lab]' in the course's folder"
        )
    port = free_port() if port is None else port
    if not is_free(port):
        raise ValueError(f"port {port} is taken: stop what runs there, or name another one")
    regenerate(folder)
    override_settings(Path(sys.prefix) / "share/jupyter/lab/settings/overrides.json", SETTINGS)

    page = f"/lab/tree/{FIRST_PAGE}" if (folder / FIRST_PAGE).is_file() else "/lab"
    token = os.environ.setdefault("JUPYTER_TOKEN", secrets.token_hex(24))
    click.echo(f"The course:  http://127.0.0.1:{port}{page}?token={token}")
    click.echo("To stop it, press Ctrl-C here and answer y.")
    arguments = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url={page}", "--ServerApp.log_level=ERROR"]
    arguments += [
        "--LabApp.log_level=ERROR",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
    ]
    if browser == "none":
        arguments.append("--no-browser")
    elif browser:
        os.environ["BROWSER"] = browser  # where Python's webbrowser, which JupyterLab asks, looks first
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in a container, where there is no other user
        arguments.append("--allow-root")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-c", LAUNCH, *arguments])


def regenerate(folder: Path) -> None:
    """In an author's checkout, bring generated files up to date; a source that cannot be read does not stop the start."""
    if not (folder / "solutions").is_dir():
        return
    try:
        from course_lib.house import sync

        sync.run(folder)
    except (ValueError, ImportError) as error:
        click.echo(f"Nothing was regenerated: {error}", err=True)


def override_settings(file: Path, settings: dict[str, dict[str, object]]) -> None:
    """Set JupyterLab's defaults in `file`, keeping whatever else stands there. A read-only environment is left as it is."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        found = {}
    merged = {**found, **{plugin: {**found.get(plugin, {}), **values} for plugin, values in settings.items()}}
    if merged == found:
        return
    temporary = file.with_suffix(".new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(merged, indent=2) + "\n", "utf-8", newline="\n")
        os.replace(temporary, file)
    except OSError as error:
        click.echo(f"JupyterLab may ask about its news: {error}", err=True)


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(first: int = FIRST_PORT, tries: int = 100) -> int:
    """The first free port from `first` on.

    Raises:
        ValueError: none of `tries` ports is free.
    """
    for port in range(first, first + tries):
        if is_free(port):
            return port
    raise ValueError(f"no port from {first} to {first + tries - 1} is free: name one with --port")
