"""What a hostile notebook tries with files, at every level, as root and not; and what an honest one needs of them."""

import asyncio
import contextlib
import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from autograder.sandbox import NOBODY
from tests.autograder.sandbox.boxes import REFUSED, Ground, Maker, outcome


def open_or_change(ground: Ground) -> dict[str, int]:
    outside, readable = ground.outside / "file", ground.readable / "file"
    return {
        "read outside": outcome(outside.read_bytes),
        "list outside": outcome(os.listdir, ground.outside),
        "write outside": outcome(outside.write_bytes, b""),
        "make outside": outcome((ground.outside / "new").mkdir),
        "link outside": outcome(os.link, outside, ground.writable / "link"),
        "remove outside": outcome(outside.unlink),
        "write what is to be read": outcome(readable.write_bytes, b""),
        "truncate what is to be read": outcome(os.truncate, readable, 0),
        "open to read and truncate": outcome(lambda: os.close(os.open(readable, os.O_RDONLY | os.O_TRUNC))),
        "truncate outside": outcome(os.truncate, outside, 0),
        "climb out": outcome(Path("../outside/file").read_bytes),
        "through a link": outcome(lambda: (os.symlink(outside, "there"), Path("there").read_bytes())),
    }


def reach_far() -> dict[str, int]:
    return {
        "make in the root": outcome(os.mkdir, f"/made-by-{os.getpid()}"),
        "make in /dev/shm": outcome(Path(f"/dev/shm/made-by-{os.getpid()}").write_bytes, b""),
        "read the grader's home": outcome(os.listdir, os.path.expanduser("~root")),
        "read the passwords": outcome(Path("/etc/shadow").read_bytes),
    }


def test_what_is_not_granted_cannot_be_opened_or_changed(maker: Maker, ground: Ground):
    closed = maker.report.works("landlock") or maker.report.works("mount")
    seen = maker.attack(ground, lambda: open_or_change(ground) | (reach_far() if closed else {}))
    if closed:
        assert {what: code for what, code in seen.items() if code not in REFUSED} == {}
        assert (ground.outside / "file").read_text(encoding="utf-8") == "what is here\n"
        assert (ground.readable / "file").read_text(encoding="utf-8") == "what is here\n"
    else:
        assert seen["read outside"] == 0, "at level D files are open to those one trusts"


def test_what_is_granted_can_be_used(maker: Maker, ground: Ground):
    def use() -> list:
        assert (ground.readable / "file").read_text(encoding="utf-8") == "what is here\n"
        assert os.path.samefile(".", ground.writable)
        Path("a").write_bytes(b"1")
        os.makedirs("b/c")
        os.rename("a", "b/c/a")
        shutil.copy("b/c/a", "copy")
        shutil.copy2("b/c/a", "copy2")
        Path("touched").touch()
        Path("touched").touch()
        subprocess.run(["touch", "touched", "touched-by-shell"], check=True)
        shutil.rmtree("b")
        with open("/dev/null", "w", encoding="utf-8") as nowhere:
            nowhere.write("gone")
        shell = subprocess.run(["/bin/sh", "-c", "echo made > by-shell; cat by-shell"], capture_output=True, text=True)
        python = subprocess.run([sys.executable, "-c", "print(40 + 2)"], capture_output=True, text=True, env={})
        found: list[int] = []
        threads = [threading.Thread(target=found.append, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        async def later() -> int:
            await asyncio.sleep(0.001)
            return 5

        return [shell.stdout, python.stdout, sorted(found), asyncio.run(later()), sorted(os.listdir("."))]

    seen = maker.attack(ground, use)
    assert seen == [
        "made\n",
        "42\n",
        [0, 1, 2, 3],
        5,
        ["by-shell", "copy", "copy2", "file", "touched", "touched-by-shell"],
    ]


def test_files_of_others_are_not_even_seen_or_touched(maker: Maker, ground: Ground):
    """Landlock lets one ask about a file and change its mode; with namespaces it does not exist, without them nothing happens."""
    target = ground.outside / "file"
    before = target.stat()

    def attack() -> dict[str, int]:
        return {
            "ask": outcome(os.stat, target),
            "mode": outcome(os.chmod, target, 0),
            "times": outcome(os.utime, target, (1, 1)),
            "now": outcome(os.utime, target),
            "owner": outcome(os.chown, target, os.getuid(), os.getgid()),
            "attribute": outcome(os.setxattr, target, "user.mark", b"x"),
        }

    if maker.user == "as nobody" and os.geteuid() == 0:
        os.chown(target, NOBODY, NOBODY)
        before = target.stat()
    seen = maker.attack(ground, attack)
    after = target.stat()
    if maker.report.works("mount"):
        assert set(seen.values()) == {errno.ENOENT}
    if maker.report.works("mount") or maker.report.works("seccomp"):
        assert (after.st_mode, after.st_mtime, after.st_uid) == (before.st_mode, before.st_mtime, before.st_uid)
        with contextlib.suppress(OSError):
            assert os.listxattr(target) == []
    elif maker.report.uid is None:
        assert seen["mode"] == 0, "at level D an owner changes what it owns"


def test_proc_shows_the_box_alone_or_is_not_there(best: Maker, ground: Ground):
    def attack() -> dict[str, Any]:
        return {
            "processes": sorted(name for name in os.listdir("/proc") if name.isdigit()),
            "first's memory": outcome(lambda: open("/proc/1/mem", "rb").close()),
            "first's environment": outcome(Path("/proc/1/environ").read_bytes),
            "first's descriptors": outcome(os.listdir, "/proc/1/fd"),
            "first's root": outcome(os.listdir, "/proc/1/root"),
            "the kernel's settings": outcome(Path("/proc/sys/kernel/core_pattern").write_text, "x"),
        }

    if not best.report.works("proc"):
        assert best.report["proc"].raise_by
        return
    seen = best.attack(ground, attack)
    assert seen.pop("processes") == ["1", "2"]
    assert {what: code for what, code in seen.items() if code not in REFUSED} == {}
