"""Reference runs: what a measurement gave on a machine that we can name, kept to be plotted beside the reader's own.

A reader's machine is slow, fast or busy, and one number says little. A recorded run says what somebody else saw, where,
when and by which command, so that a difference can be explained and not only noticed.
"""

import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

from course_lib.files import replace_file

RECORDED = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class ReferenceRun:
    """One recorded measurement."""

    values: dict[str, Any]
    """Numbers, lists of numbers or texts, by name; units are part of the names or stated in the lecture."""
    machine: str
    """Processor, cores, memory and GPU, in words."""
    date: str
    """The day, as YYYY-MM-DD."""
    command: str
    """What to run to measure it again."""


def load(name: str) -> ReferenceRun:
    """The run recorded under `name`. Raises ValueError, naming those there are, when there is none."""
    path = RECORDED / f"{_checked(name)}.json"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in RECORDED.glob("*.json"))) or "none"
        raise ValueError(f"name: no reference run {name!r}; recorded are: {there}")
    return ReferenceRun(**json.loads(path.read_text(encoding="utf-8")))


def record(name: str, values: Mapping[str, Any], command: str) -> Path:
    """Records a run on this machine, today, in place of an older one of the same name. Returns the file.

    Raises:
        ValueError: `name` is not made of lower-case letters, digits and underscores, or a value is neither a finite number,
            a text nor a list of those.
    """
    run = ReferenceRun(
        {key: _plain(key, value) for key, value in values.items()}, this_machine(), str(date.today()), command
    )
    path = RECORDED / f"{_checked(name)}.json"
    replace_file(path, (json.dumps(asdict(run), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
    return path


def this_machine() -> str:
    """This machine in words: processor, cores, memory and, where torch is in use and sees one, the GPU."""
    parts = [_processor(), f"{os.cpu_count()} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name())
    return ", ".join(parts)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _checked(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ValueError(f"name: needs lower-case letters, digits and underscores, got {name!r}")
    return name


def _plain(key: str, value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(key, item) for item in value]
    if not isinstance(value, (int, float, str)) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError(f"values[{key!r}]: needs finite numbers, texts or lists of them, got {value!r}")
    return value
