"""`course doctor`: what this machine has, whether it works, and what to do about what does not.

Each part of the machine is one `Finding`. `findings` gathers them and prints nothing, so that the first lecture can show
them as a table; `print_findings` is the terminal's form. What a student needs decides the exit status. A missing GPU,
Triton, Chromium or nbgrader is said, but is no fault of the machine.
"""

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

GB = 1e9
LEAST_MEMORY = 2 * GB
"""What the lectures keep within, in bytes."""


@dataclass(frozen=True)
class Finding:
    """One part of the machine: what was found, and what follows from it."""

    subject: str
    """The part, in a word or two."""
    found: str
    """What was found, in words."""
    works: bool
    advice: str = ""
    """What to do about it where it does not work; or, where it does, what one should know."""
    needed: bool = False
    """Whether a student cannot do without it."""

    @property
    def mark(self) -> str:
        """✓ works, ✗ must be mended, · is missed by nobody who takes the course."""
        return "✓" if self.works else "✗" if self.needed else "·"


def findings(quick: bool = False) -> list[Finding]:
    """Everything there is to say about this machine, the most needed first. `quick` leaves out what is measured."""
    return [
        python(),
        *torch_and_device(),
        memory(),
        *front_end(),
        triton(),
        nbgrader(),
        chromium(),
        *([] if quick else [bandwidth()]),
    ]


def print_findings(found: Sequence[Finding]) -> int:
    """Print each finding as a line, with what to do below it; returns 1 if something that a student needs is not there."""
    width = max(len(finding.subject) for finding in found)
    for finding in found:
        print(f"{finding.mark} {finding.subject:<{width}}  {finding.found}")
        if finding.advice:
            print(f"  {'':<{width}}  → {finding.advice}")
    missing = [finding.subject for finding in found if finding.needed and not finding.works]
    print(f"\nTo be mended: {', '.join(missing)}." if missing else "\nThis machine has what a student needs.")
    return 1 if missing else 0


def python() -> Finding:
    advice = "" if sys.version_info < (3, 14) else "newer than 3.13, the newest that the course is tested with"
    return Finding("Python", f"{platform.python_version()}, {sys.executable}", True, advice, needed=True)


def torch_and_device() -> Iterator[Finding]:
    """torch is imported, not only looked up: a build for another CUDA or processor shows itself only then."""
    try:
        import torch
    except (ImportError, OSError) as error:
        reason = "not installed" if isinstance(error, ModuleNotFoundError) else f"does not load: {error}"
        yield Finding("torch", reason, False, "`make start` installs it, or: pip install torch", needed=True)
        return
    yield Finding("torch", torch.__version__, True, needed=True)

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    on_cpu = f"CPU with {cores} core{'s' if cores > 1 else ''}"
    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
        try:
            free, total = torch.cuda.mem_get_info()
            torch.ones(2, device="cuda").sum().item()
        except RuntimeError as error:
            first_line = str(error).splitlines()[0]
            yield Finding("device", f"{name} does not compute: {first_line}", False, "restart what else uses the GPU")
        else:
            yield Finding("device", f"{name}, {free / GB:.1f} of {total / GB:.1f} GB free; {on_cpu}", True)
    elif torch.backends.mps.is_available():
        yield Finding("device", f"Apple GPU (shares the machine's memory); {on_cpu}", True)
    else:
        yield Finding("device", on_cpu, True, "no GPU: everything runs, and what is faster on one says so")


def memory() -> Finding:
    """RAM, or what a container may use of it where that is less."""
    if not hasattr(os, "sysconf"):
        return Finding("memory", "this system does not say", True)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = f"{total / GB:.1f} GB"
    for limit in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        if limit.is_file() and (text := limit.read_text().strip()).isdigit() and int(text) < total:
            found = f"{int(text) / GB:.1f} GB in this container, of {found}"
            total = int(text)
    works = total >= LEAST_MEMORY
    return Finding("memory", found, works, "" if works else "the lectures need 2 GB: run them on Binder or Colab", True)


def front_end() -> Iterator[Finding]:
    """What shows notebooks and sliders. Inside a running notebook there is a front end, whatever is installed here."""
    inside = "ipykernel" in sys.modules
    for subject, package in (("JupyterLab", "jupyterlab"), ("sliders", "ipywidgets")):
        version = version_of(package)
        if version:
            yield Finding(subject, f"{package} {version}", True, needed=True)
        elif inside and package == "jupyterlab":
            yield Finding(subject, "not this one: another front end shows this notebook", True)
        else:
            yield Finding(
                subject,
                f"{package} is not installed",
                False,
                "`make start`, or in the course's folder: pip install '.[lab]'",
                True,
            )


def triton() -> Finding:
    version = version_of("triton")
    if version:
        return Finding("Triton", version, True)
    return Finding(
        "Triton", "not installed", False, "only the GPU kernels are written in it; on Linux: pip install triton"
    )


def nbgrader() -> Finding:
    version = version_of("nbgrader")
    if version:
        return Finding("nbgrader", version, True)
    advice = "for instructors only; in the course's repository: pip install '.[grade]'"
    return Finding("nbgrader", "not installed", False, advice)


def chromium() -> Finding:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path:
        return Finding("Chromium", path, True)
    return Finding("Chromium", "not found", False, "only the browser tests need it; Debian: sudo apt install chromium")


def bandwidth() -> Finding:
    """How fast this machine reads its memory: the first of the two walls, measured (about a second)."""
    from course_lib.costs import memory_bandwidth

    return Finding("bandwidth", str(memory_bandwidth()), True)


def version_of(package: str) -> str | None:
    """The installed version of a package whose module has the same name, or None."""
    if find_spec(package) is None:
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of unknown version"
