"""The ground that hostile notebooks are let loose on: all that they may reach for, and afterwards what they did reach.

A course folder with everything in it that is worth stealing, a folder open to all, and ears on every kind of socket. Each thing
worth stealing holds a marker of its own, so that a leak names its source wherever it turns up.
"""

import contextlib
import os
import secrets
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

STOLEN = ("source", "hidden", "gradebook", "neighbour", "receipt", "key")


@dataclass
class Ground:
    """Paths, addresses and markers. `trespasses` says what was reached, at any time after the attacks."""

    course: Path
    """nbgrader's course: source/, submitted/, gradebook.db; beside them receipts/ and secret.json."""
    outside: Path
    """A folder in which anyone may write, and nothing should."""
    markers: dict[str, str]
    ears: dict[str, socket.socket] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    judge: int = field(default_factory=os.getpid)

    def filled(self, code: str) -> str:
        """Code with the ground's addresses in place of {outside}, {course}, {tcp}, {udp}, {abstract} and {judge}."""
        places = {
            "outside": str(self.outside),
            "course": str(self.course),
            "tcp": str(self.ears["tcp"].getsockname()[1]) if self.ears else "9",
            "udp": str(self.ears["udp"].getsockname()[1]) if self.ears else "9",
            "abstract": self.ears["abstract"].getsockname()[1:].decode() if self.ears else "none",
            "judge": str(self.judge),
        }
        for name, place in places.items():
            code = code.replace("{" + name + "}", place)
        return code

    def trespasses(self) -> list[str]:
        """What was written that nobody may write, and who was heard on a socket."""
        found = []
        after = _contents(self.course) | _contents(self.outside)
        for path in sorted(after.keys() | self.before.keys()):
            if after.get(path) != self.before.get(path):
                how = "removed" if path not in after else "written" if path not in self.before else "changed"
                found.append(f"{path} was {how}")
        for name, ear in self.ears.items():
            with contextlib.suppress(BlockingIOError):
                heard = ear.recv(100) if name == "udp" else ear.accept()
                found.append(f"the {name} socket was reached: {heard!r:.60}")
        return found

    def leaks(self, text: str) -> list[str]:
        """Which of the things worth stealing a text holds."""
        return [name for name, marker in self.markers.items() if marker in text]

    def settle(self) -> None:
        """Remembers what everything is like before the attacks."""
        self.before = _contents(self.course) | _contents(self.outside)


@contextlib.contextmanager
def ground(answers: bytes = b"", lab: str = "lab99_light") -> Iterator[Ground]:
    """A ground, with `answers` (an author's notebook) as the lab's source; gone after the block."""
    above = Path(os.path.realpath(tempfile.mkdtemp(prefix="hostile-")))
    above.chmod(0o755)
    try:
        markers = {name: f"{name}-{secrets.token_hex(8)}" for name in STOLEN}
        made = Ground(above / "course", above / "outside", markers)
        made.outside.mkdir()
        made.outside.chmod(0o777)
        _lay_out(made, answers, lab)
        with contextlib.ExitStack() as stack:
            made.ears.update({name: stack.enter_context(ear) for name, ear in _ears(made.outside).items()})
            made.settle()
            yield made
    finally:
        remove(above)


def remove(folder: Path) -> None:
    """Removes a folder in which hostile hands have been: closed ones in it, and a path too long to be named."""
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _lay_out(ground: Ground, answers: bytes, lab: str) -> None:
    course, markers = ground.course, ground.markers
    for folder in ("source", "release", "submitted", "autograded", "receipts"):
        course.joinpath(folder, lab).mkdir(parents=True)
    course.joinpath("source", lab, f"{lab}.ipynb").write_bytes(answers + f"\n{markers['source']}\n".encode())
    course.joinpath("source", lab, "hidden.py").write_text(f"# {markers['hidden']}\n", encoding="utf-8")
    course.joinpath("receipts", lab, "ada.json").write_text(f'"{markers["receipt"]}"\n', encoding="utf-8")
    course.joinpath("secret.json").write_text(f'"{markers["key"]}"\n', encoding="utf-8")
    neighbour = course / "submitted" / "neighbour" / "another_lab" / "another_lab.ipynb"
    neighbour.parent.mkdir(parents=True)
    neighbour.write_text(f'"{markers["neighbour"]}"\n', encoding="utf-8")
    database = sqlite3.connect(course / "gradebook.db")
    database.execute("create table grade (student text, auto_score real)")
    database.execute("insert into grade values (?, 0.0)", [markers["gradebook"]])
    database.commit()
    database.close()
    for path in course.rglob("*"):  # as careless as a course folder can be
        path.chmod(0o777 if path.is_dir() else 0o666)


def _ears(folder: Path) -> dict[str, socket.socket]:
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract, local = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0hostile-{secrets.token_hex(6)}")
    local.bind(str(folder / "socket"))
    for ear in (abstract, local):
        ear.listen()
    ears = {"tcp": tcp, "udp": udp, "abstract": abstract, "local": local}
    for ear in ears.values():
        ear.setblocking(False)
    return ears


def _contents(folder: Path) -> dict[str, str]:
    """Every path under a folder, with what tells a change: the time of it is the kernel's own, and no `utime` sets it back."""
    found = {}
    for where, folders, names in os.walk(folder):
        for name in folders:
            found[f"{where}/{name}"] = str(os.lstat(f"{where}/{name}").st_mode)
        for name in names:
            about = os.lstat(f"{where}/{name}")
            found[f"{where}/{name}"] = f"{about.st_ino} {about.st_mode} {about.st_size} {about.st_ctime_ns}"
    return found
