"""What makes a grade this grade and no other: the course's key, the seed drawn from it, and the environment.

Hidden cases vary with a seed that follows from the submission and the course's secret key: the same file gives the same cases
again, and nobody without the key can tell which. A submission is graded again when one of the things that decide its result
has changed, and only then.

    key          32 random bytes in <course>/secret.json, made once
    seed         63 bits of HMAC-SHA256(key, lab, student, content)
    environment  a digest of the interpreter, the packages that decide a result and the course's own code
"""

import hashlib
import hmac
import json
import os
import platform
import secrets
import tempfile
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from autograder.evidence import Receipt

SECRET = "secret.json"
PACKAGES = ("numpy", "torch", "IPython")
ROOT = Path(__file__).resolve().parents[2]
# The rooms whose code can change a result; what publishes the course and what keeps records cannot.
DECIDING = ("course_lib", "autograder/grading", "autograder/intake", "autograder/overlay", "autograder/sandbox")
NOT_DECIDING = ("course_lib/house",)


def course_key(course: Path | str) -> bytes:
    """The course's key, made at the first call. Only its owner can read the file."""
    path = Path(course) / SECRET
    if not path.exists():
        _make(path)
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        key = bytes.fromhex(json.loads(path.read_text(encoding="utf-8"))["key"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} holds no key ({error}): restore it, or remove it to draw every hidden case anew"
        ) from None
    if len(key) != 32:
        raise ValueError(f"{path} needs a key of 32 bytes, got {len(key)}: restore it, or remove it")
    return key


def seed_for(key: bytes, lab: str, student: str, content: str) -> int:
    """The seed of a submission; with content "" that of a student, for numbers that stay theirs from one file to the next."""
    message = json.dumps([lab, student, content]).encode()
    return int.from_bytes(hmac.digest(key, message, "sha256")[:8], "big") >> 1


def key_of(receipt: Receipt, overlay: str = "") -> str:
    """What decided a receipt, as one text: a submission with the same one need not be graded again."""
    parts = (receipt.content, receipt.version, receipt.environment, receipt.level, receipt.seed, overlay)
    return key_for(receipt.lab, receipt.student, *parts)


def key_for(
    lab: str, student: str, content: str, version: str, environment: str, level: str, seed: int, overlay: str = ""
) -> str:
    """`key_of` before there is a receipt. `overlay` is a digest of what an instructor adds to a lab in private."""
    parts = [lab, student, content, version, environment, level, seed, overlay]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def environment() -> str:
    """A digest of what a result depends on beside the submission and the lab."""
    return hashlib.sha256(json.dumps(environment_parts(), sort_keys=True).encode()).hexdigest()[:16]


@cache
def environment_parts() -> dict[str, str]:
    """What the environment is made of, each with its version; nothing is imported to find out."""
    parts = {name: _version(name) for name in PACKAGES}
    parts["python"] = f"{platform.python_implementation()} {platform.python_version()}"
    parts["platform"] = f"{platform.system()} {platform.machine()}"
    return parts | {"course": _code()}


def _code() -> str:
    """A digest of the course's code: its version number stands still while the course is written."""
    digest = hashlib.sha256()
    for room in DECIDING:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(NOT_DECIDING):
                digest.update(f"\0{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _make(path: Path) -> None:
    """Makes the key; of two processes that do so at once, the first one's stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{SECRET}.")  # which nobody else can read
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({"key": secrets.token_hex(32)}, file)
        try:
            os.link(name, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.rename(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
