"""Makes the zip that grades a lab on Gradescope: the course's code, the lab, pinned requirements and the two scripts it asks for.

The zip holds answers, hidden cases and a key, as every autograder on Gradescope does, and is read by instructors alone; it
holds nothing of any student. With the course's own key a submission gets the seed there that it gets here, so that a receipt
made there can be reproduced here.

    setup.sh, run_autograder   what Gradescope runs: once when it builds the image, and for each submission
    requirements.txt           what is installed, each at the version of `constraints.txt`, which is beside it
    secret.json                the key that hidden cases are drawn with
    overlay/, versions/        an instructor's private overlay, and older versions of the lab that the course keeps
    course/                    the library, the grader and the lab
"""

import json
import os
import re
import secrets
import stat
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder.overlay.folder import Overlay, chosen
from autograder.records.identity import SECRET, course_key
from autograder.versions import FOLDER
from course_lib.house.paths import root as course_root

PACKED = (
    "LICENSE*",
    "pyproject.toml",
    "lectures/syllabus.toml",
    "course_lib/**/*",
    "autograder/**/*",
    "labs/{lab}/{lab}.ipynb",
    "solutions/{lab}/**/*",
)
LITTER = re.compile(r"^\.|^__pycache__$|\.pyc$|~$")
EARLIEST = (1980, 1, 1, 0, 0, 0)
EXTRAS = ("grade",)
OVERLAYS = "overlay"

SETUP = """\
#!/usr/bin/env bash
# Installs what grading needs. Gradescope runs this once, as root, when it builds the image.
set -euo pipefail
home="${AUTOGRADER_HOME:-/autograder}"

usable() {
  "$1" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}
find_python() {
  for name in python3.12 python3.13 python3.11 python3; do
    if usable "$name"; then echo "$name"; return; fi
  done
}

python="$(find_python)"
for minor in 12 11; do
  [ -n "$python" ] && break
  apt-get update -qq && apt-get install -y "python3.$minor" "python3.$minor-venv" || true
  python="$(find_python)"
done
if [ -z "$python" ]; then
  echo "the course needs Python 3.11 to 3.13: choose a newer Ubuntu image for this autograder" >&2
  exit 1
fi

"$python" -m venv "$home/venv"
# PyTorch's own index has the build without CUDA, which is a tenth of the size.
"$home/venv/bin/python" -m pip install --no-cache-dir --quiet \\
  --extra-index-url "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}" \\
  -r "$home/source/requirements.txt" -c "$home/source/constraints.txt"
# Answers, hidden cases and the key are for the grader alone, and not for the user that a submission runs as.
chmod -R go-rwx "$home/source"
"""
RUN = """\
#!/usr/bin/env bash
# Grades one submission. Gradescope runs this for each, and reads results/results.json.
set -euo pipefail
export AUTOGRADER_HOME="${{AUTOGRADER_HOME:-/autograder}}"
cd "$AUTOGRADER_HOME/source/course"
exec "${{AUTOGRADER_PYTHON:-$AUTOGRADER_HOME/venv/bin/python}}" -m autograder.reports.gradescope {lab}
"""


def make_zip(
    lab: str,
    into: Path | str,
    course: Path | str | None = None,
    root: Path | str | None = None,
    instructor: Path | None = None,
) -> Path:
    """Writes the zip for a lab of the course's repository `root` (the one that this is run in).

    It gets the key of the nbgrader course in `course`, and the versions of the lab that the course keeps; without one it gets a
    key of its own, and other bytes each time. With `instructor` it gets the private overlay of the lab in that folder.

    Raises:
        ValueError: there is no such lab, a requirement has no pinned version, or an overlay is missing or cannot be drawn from.
    """
    here, into = root or course_root(), Path(into).absolute()
    if here is None:
        raise ValueError("a zip for Gradescope is made inside the course's own repository")
    root = Path(here).resolve()
    if not (root / "solutions" / lab / "checks.py").is_file():
        there = ", ".join(sorted(path.parent.name for path in (root / "solutions").glob("*/checks.py"))) or "none"
        raise ValueError(f"there is no lab {lab} in {root}; there is {there}")
    if not (root / "labs" / lab / f"{lab}.ipynb").is_file():
        raise ValueError(f"labs/{lab}/{lab}.ipynb is missing: run `course sync` first")
    if instructor is not None and course is None:
        raise ValueError("an overlay draws by the course's key: name the course too (--course)")
    overlay = None if course is None else chosen(instructor, lab, Path(course))
    key = secrets.token_bytes(32) if course is None else course_key(course)
    texts = {
        "run_autograder": RUN.format(lab=lab),
        "setup.sh": SETUP,
        "requirements.txt": "".join(f"{line}\n" for line in requirements(root)),
        "constraints.txt": (root / "constraints.txt").read_text(encoding="utf-8"),
        SECRET: json.dumps({"key": key.hex()}) + "\n",
    }
    into.parent.mkdir(parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(dir=into.parent, prefix=f".{into.name}.")  # its owner's alone, and stays so
    try:
        with open(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in texts.items():
                script = name in ("run_autograder", "setup.sh")
                _add(archive, name, text.encode(), 0o755 if script else 0o600 if name == SECRET else 0o644)
            for path in packed(root, lab):
                _add(archive, f"course/{path.relative_to(root).as_posix()}", path.read_bytes(), 0o644)
            for name, path in sorted(_private(lab, course, overlay)):
                _add(archive, name, path.read_bytes(), 0o600)
        os.replace(beside, into)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return into


def _private(lab: str, course: Path | str | None, overlay: Overlay | None) -> Iterator[tuple[str, Path]]:
    """What an instructor keeps outside the repository: the overlay, and older versions of the lab; by their names in the zip."""
    folders = [] if overlay is None else [(f"{OVERLAYS}/{lab}", overlay.folder)]
    if course is not None:
        folders += [(f"{FOLDER}/{lab}/{path.name}", path) for path in Path(course, FOLDER, lab).glob("[0-9a-f]*")]
    for name, folder in folders:
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            if path.is_file() and not path.is_symlink() and not any(LITTER.search(part) for part in inside.parts):
                yield f"{name}/{inside.as_posix()}", path


def packed(root: Path, lab: str) -> list[Path]:
    """The files of the repository that go into the zip: code and the one lab, no links, nothing hidden."""
    found = {path for pattern in PACKED for path in root.glob(pattern.format(lab=lab))}
    return sorted(
        path
        for path in found
        if path.is_file()
        and not path.is_symlink()
        and not any(LITTER.search(part) for part in path.relative_to(root).parts)
    )


def requirements(root: Path) -> list[str]:
    """What the library and the grader need, each at the version that `constraints.txt` pins."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = dict(_pins((root / "constraints.txt").read_text(encoding="utf-8")))
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    names = sorted({_name(one) for one in wanted})
    if missing := [name for name in names if name not in pinned]:
        raise ValueError(f"constraints.txt pins no version of {', '.join(missing)}")
    return [f"{name}=={pinned[name]}" for name in names]


def _pins(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, pinned, version = line.partition("==")
        if pinned and not line.lstrip().startswith("#"):
            yield _name(name), version.split(";")[0].strip()


def _name(requirement: str) -> str:
    """A requirement's package, in the one spelling that all of its spellings stand for."""
    found = re.match(r"\s*[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", found[0].strip()).lower() if found else ""


def _add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    info = zipfile.ZipInfo(name, EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3  # Unix, or the modes are lost
    info.external_attr = (stat.S_IFREG | mode) << 16
    archive.writestr(info, content)
