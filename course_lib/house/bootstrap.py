"""Make `.venv` and install the course into it, from whatever `python3` a machine has.

    python3 course_lib/house/bootstrap.py lab grade

This is the one file that runs before anything is installed, so it uses the standard library alone and what
Python 3.6 understands: an old `python3` must get far enough to look for a newer one, or to say that there is none. It is run as a
file and imports nothing of the course. A file in `.venv` says what was installed; when that is still true there is
nothing to do, and an install that was interrupted is started over. What goes wrong is said in one line on stderr.

Environment: PYTHON names the interpreter to use; TORCH_INDEX adds a package index, for example PyTorch's own with the
smaller CPU builds, https://download.pytorch.org/whl/cpu.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
EXTRAS = ("lab", "grade", "test")
NAMES = ["python3"] + [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
# A shim for a Python that is not there may hide the system's own on PATH; these are looked at last.
USUAL_PLACES = ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin"]

DISK_FULL = "the disk is full: the course needs about 1.5 GB, and several times that with a CUDA build of torch"
# What pip writes when the cause lies outside this project. The first match wins: a full disk may break a download too.
PIP_FAILURES = [
    (r"No space left on device|Errno 28\b|Disk quota exceeded", DISK_FULL),
    (r"OSError: \[Errno (?:13|30)\]", "no permission to write into .venv or pip's cache"),
    (r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError", "the package index's certificate could not be verified"),
    (r"Retrying \(|Max retries exceeded|Read ?timed ?out", "no network: pip could not reach the package index"),
]


class SetupError(Exception):
    """The set-up cannot go on; its text is the line that the user reads."""


class Python:
    """An interpreter that answered: where it is, its version as (major, minor), and whether it can make a venv."""

    QUESTION = """if True:
        import sys
        try:
            import ensurepip, venv
        except ImportError:
            venv = None
        print(sys.executable, sys.version_info[0], sys.version_info[1], int(venv is not None), sep="\\n")
    """

    def __init__(self, path: str, version: tuple, has_venv: bool) -> None:
        self.path, self.version, self.has_venv = path, version, has_venv

    def __str__(self) -> str:
        return "{} (Python {}.{})".format(self.path, *self.version)


def probe(command: str):
    """The Python behind `command`, or None. It is run to know: a shim on PATH may lead nowhere."""
    try:
        output = subprocess.run(
            [command, "-c", Python.QUESTION],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=True,
        ).stdout
        path, major, minor, has_venv = output.decode().splitlines()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Python(path, (int(major), int(minor)), has_venv == "1")


def candidates():
    """Every path that may be a Python, the likeliest first, each once."""
    places = os.environ.get("PATH", os.defpath).split(os.pathsep) + USUAL_PLACES
    paths = [sys.executable] + [os.path.join(place, name) for name in NAMES for place in places]
    return [path for path in dict.fromkeys(paths) if path and os.access(path, os.X_OK)]


def find_python() -> Python:
    """The interpreter to build `.venv` with: the one that PYTHON names, else the first on this machine that will do."""
    named = os.environ.get("PYTHON")
    found = [python for python in map(probe, [named] if named else candidates()) if python]
    usable = [python for python in found if python.version >= OLDEST]
    # A version that is newer than the ones we test is taken only where there is no other.
    for python in sorted(usable, key=lambda python: python.version > NEWEST):
        if python.has_venv:
            return python
    oldest = "Python {}.{} or newer".format(*OLDEST)
    if usable:
        package = "python{}.{}-venv".format(*usable[0].version)
        raise SetupError(f"{usable[0]} has no venv module: on Debian and Ubuntu, sudo apt install {package}")
    if named:
        state = "is Python {}.{}".format(*found[0].version) if found else "does not run"
        raise SetupError(f"PYTHON={named} {state}: {oldest} is needed")
    newest = max(found, key=lambda python: python.version)
    raise SetupError(
        f"no {oldest} here, the newest is {newest}: install one (https://www.python.org/downloads), "
        "or name it with PYTHON=/path/to/python3"
    )


class Environment:
    """The `.venv` of the checkout or bundle at `root`, and the file in it that says how far its install got."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.folder = os.path.join(root, ".venv")
        self.python = os.path.join(self.folder, "bin", "python")
        self.stamp_file = os.path.join(self.folder, "course-install.json")
        self.log_file = os.path.join(self.folder, "course-install.log")

    def stamp(self) -> dict:
        """What the last install wrote; empty when there was none or it cannot be read."""
        try:
            with open(self.stamp_file, encoding="utf-8") as file:
                stamp = json.load(file)
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}

    def write_stamp(self, **stamp) -> None:
        temporary = self.stamp_file + ".new"
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            json.dump(stamp, file, indent=2, sort_keys=True)
            file.write("\n")
        os.replace(temporary, self.stamp_file)

    def fingerprint(self) -> str:
        """A hash of what decides the install: the folder it is tied to, the project's packages and their versions."""
        packages = re.sub(r"^\[tool\.(?!hatch).*?(?=^\[|\Z)", "", self.read("pyproject.toml"), flags=re.M | re.S)
        deciding = [self.folder, packages, self.read("constraints.txt")]
        return hashlib.sha256("\0".join(deciding).encode()).hexdigest()

    def read(self, name: str) -> str:
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()

    def is_ready(self, extras) -> bool:
        """Whether all of `extras` are installed as the project's files now ask, by the Python that PYTHON names."""
        stamp = self.stamp()
        if stamp.get("state") != "ready" or stamp.get("fingerprint") != self.fingerprint():
            return False
        if not set(extras) <= set(stamp["extras"]) or not os.path.exists(self.python):
            return False
        named = os.environ.get("PYTHON")
        if not named:
            return True
        python = probe(named)
        return python is not None and list(python.version) == stamp["python"]

    def can_be_kept(self) -> bool:
        """Whether a new install may go on top of what is there.

        It may not after an interrupted one: pip takes a package whose files are half there for a complete one.
        """
        stamp = self.stamp()
        if stamp and (stamp.get("state") != "ready" or stamp.get("folder") != self.folder):
            return False
        python = probe(self.python)
        if python is None or python.version < OLDEST or not shutil.which("pip", path=os.path.dirname(self.python)):
            return False
        named = os.environ.get("PYTHON")
        return not named or python.version == getattr(probe(named), "version", None)

    def create(self, python: Python) -> None:
        """A fresh, empty environment in the place of whatever `.venv` was there."""
        inside = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        ours = any(name == "pyvenv.cfg" or name.startswith("course-install") for name in inside)
        if os.path.isfile(self.folder) or (inside and not ours):
            raise SetupError(f"{self.folder} is not a virtual environment: move it away")
        say(f"making .venv with {python}")
        if os.path.islink(self.folder):
            os.unlink(self.folder)
        elif os.path.isdir(self.folder):
            shutil.rmtree(self.folder)
        os.makedirs(self.folder, exist_ok=True)
        # Before anything else is in it: whatever kills the next steps, the folder says that it is not complete.
        self.write_stamp(state="making", folder=self.folder)
        self.run([python.path, "-m", "venv", self.folder], "making the virtual environment failed")

    def install(self, extras) -> None:
        """Install the project and those of `extras` that it has, at the versions that constraints.txt names."""
        before = self.stamp()
        extras = sorted(set(extras) | set(before.get("extras", [])))
        known = [extra for extra in extras if extra in self.known_extras()]
        command = [self.python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
        command += ["--progress-bar", "off", "-c", "constraints.txt", "-e", f".[{','.join(known)}]" if known else "."]
        if os.environ.get("TORCH_INDEX"):
            command += ["--extra-index-url", os.environ["TORCH_INDEX"]]
        say("installing the course and what it needs: the first time that takes minutes (torch is most of it)")
        self.write_stamp(state="installing", folder=self.folder)
        progress = PipProgress()
        try:
            self.run(command, "pip failed", told=progress)
        except SetupError:
            if not progress.unpacking:  # it gave up before it changed anything, so what was there still stands
                self.write_stamp(**before)
            raise
        version = list(probe(self.python).version)
        self.write_stamp(
            state="ready", folder=self.folder, fingerprint=self.fingerprint(), python=version, extras=extras
        )

    def known_extras(self):
        """The names under [project.optional-dependencies]; a student bundle has fewer than the repository."""
        table = r"^\[project\.optional-dependencies\]\s*$(.*?)(?:^\[|\Z)"
        found = re.search(table, self.read("pyproject.toml"), re.M | re.S)
        return re.findall(r"^([\w-]+)\s*=", found.group(1), re.M) if found else []

    def run(self, command, failure: str, told=lambda line: None) -> None:
        """Run `command` in the root with its output in the log file; each line is shown to `told` as it comes."""
        with open(self.log_file, "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command, cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            lines = []
            for raw in process.stdout or ():
                line = raw.decode(errors="replace")
                lines.append(line)
                told(line)
                # On a full disk the log is lost, and the reason is in `lines`.
                with contextlib.suppress(OSError):
                    log.write(line)
                    log.flush()
            if process.wait() != 0:
                raise SetupError(f"{reason(lines) or failure} (the whole log: {self.log_file})")


class PipProgress:
    """Says what pip is at: each large download, once that it has to retry, and that it has begun to unpack."""

    def __init__(self) -> None:
        self.retrying = self.unpacking = False

    def __call__(self, line: str) -> None:
        download = re.search(r"Downloading (?:\S*/)?([\w.]+)-\S* (\(\d{2,}(?:\.\d+)? MB\)|\([\d.]+ GB\))", line)
        if download:
            say("  downloading {} {}".format(*download.groups()))
        elif line.startswith("Installing collected packages:"):
            self.unpacking = True
            say(f"  packages to unpack: {line.count(',') + 1}")
        elif "Retrying (" in line and not self.retrying:
            self.retrying = True
            say("  pip does not reach the package index and tries again")


def reason(lines) -> str:
    """Why pip failed, from what it wrote: a cause outside the project, else its last error line, else nothing."""
    text = "".join(lines)
    for pattern, cause in PIP_FAILURES:
        if re.search(pattern, text):
            return cause
    errors = [line.strip() for line in lines if line.lstrip().upper().startswith("ERROR:")]
    return "pip failed: " + errors[-1][len("ERROR:") :].strip() if errors else ""


def say(text: str) -> None:
    print(text, flush=True)


@contextlib.contextmanager
def alone(root: str):
    """Wait until no other set-up is at work in `root`; the system drops the lock with the process that holds it."""
    import fcntl

    folder = os.open(root, os.O_RDONLY)
    with contextlib.suppress(OSError):  # a file system without locks
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up is at work here: waiting for it")
            fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(folder)


def set_up(root: str, extras) -> None:
    """Leave `root` with a `.venv` in which the course and those of `extras` that it has are installed.

    Raises SetupError with one line for the user.
    """
    environment = Environment(root)
    if environment.is_ready(extras):
        return
    if os.name != "posix":
        raise SetupError("this set-up is for Linux and macOS: on Windows, use WSL (wsl --install) or Colab")
    for folder in (root, environment.folder):
        if os.path.isdir(folder) and not os.access(folder, os.W_OK):
            raise SetupError(f"no permission to write in {folder}: copy the course to a folder of your own")
    with alone(root):
        if environment.is_ready(extras):
            return
        if not environment.can_be_kept():
            environment.create(find_python())
        environment.install(extras)
    say(f"ready: {environment.folder}")


def main(extras) -> int:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    unknown = [word for word in extras if word not in EXTRAS]
    if unknown:
        print(f"course set-up: {unknown[0]!r} is no extra; there is {', '.join(EXTRAS)}", file=sys.stderr)
        return 2
    try:
        set_up(root, extras)
        return 0
    except SetupError as error:
        print(f"course set-up: {error}", file=sys.stderr)
    except OSError as error:
        cause = DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error)
        print(f"course set-up: {cause}", file=sys.stderr)
    except KeyboardInterrupt:
        print("course set-up: stopped; the next run starts the install over", file=sys.stderr)
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
