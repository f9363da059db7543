"""The view of the files: planned from paths, and then the root of everything a box can see."""

import os
from pathlib import Path

import pytest

from autograder.sandbox import Container, Policy, SandboxError, interpreter_paths
from autograder.sandbox.namespaces import View
from tests.autograder.sandbox.boxes import USERS, Ground, Maker, inside


def test_what_lies_within_what_is_granted_is_granted_once(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    outer = str(tmp_path / "a")
    assert View.of((outer, str(inner)), ()).mounts == ((outer, False),)
    assert View.of((outer,), (str(inner),)).mounts == ((outer, False), (str(inner), True))
    assert View.of((str(inner),), (outer,)).mounts == ((outer, True), (str(inner), False))


def test_links_on_the_way_are_kept_and_those_within_a_mount_come_with_it(tmp_path):
    real = tmp_path / "real"
    (real / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "far").symlink_to(real / "sub")
    (real / "within").symlink_to("sub")
    view = View.of((f"{tmp_path}/link/sub", f"{tmp_path}/far"), ())
    assert view.mounts == ((f"{real}/sub", False),)
    assert dict(view.links) == {f"{tmp_path}/link": "real", f"{tmp_path}/far": f"{real}/sub"}
    assert View.of((str(real), f"{real}/within"), ()).links == ()


def test_links_that_lead_round_and_paths_that_lead_nowhere_are_refused(tmp_path):
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(SandboxError, match="too many links"):
        View.of((f"{tmp_path}/round",), ())
    with pytest.raises(SandboxError, match="does not exist"):
        View.of((f"{tmp_path}/none",), ())


def seen_from(start: str) -> list[str]:
    found = []
    for where, folders, names in os.walk(start):
        found += [os.path.join(where, name) for name in folders + names]
    return sorted(found)


@pytest.mark.parametrize("user", USERS)
def test_nothing_is_there_but_what_was_granted(user, ground: Ground):
    """By the view alone: with Landlock on top not even the root could be listed."""
    maker = Maker(user, ("kernel",))
    if not maker.report.works("mount"):
        assert maker.report["mount"].raise_by
        return
    granted = (*interpreter_paths(), str(ground.readable))

    def look() -> list[str]:
        return sorted(os.listdir("/")) + seen_from(str(ground.readable.parent))

    def body() -> list[str]:
        policy = Policy(granted, (str(ground.writable),), uid=maker.report.uid)
        return inside(Container(policy, maker.report), look)

    tops = {Path(path).parts[1] for path in (*granted, *(os.path.realpath(path) for path in granted))}
    tops |= {"dev", *(["proc"] if maker.report.works("proc") else [])}
    below = [ground.readable, ground.readable / "file", ground.writable, ground.writable / "file"]
    assert maker.run(body) == sorted(tops) + list(map(str, below))


def test_a_folder_within_a_closed_home_is_reached(best: Maker, ground: Ground):
    """An interpreter often lives in a home that its owner alone may enter."""
    if not best.report.works("mount"):
        assert best.report["mount"].raise_by
        return

    def body() -> str:
        home = ground.writable / "home"
        (home / "python").mkdir(parents=True)
        (home / "python" / "module.py").write_text("answer = 42\n", encoding="utf-8")
        (home / "secret").write_text("private\n", encoding="utf-8")
        home.chmod(0o700)
        readable = (*interpreter_paths(), str(home / "python"))
        work = ground.outside
        policy = Policy(readable, (str(work),), uid=best.report.uid)

        def look() -> list:
            return [(home / "python" / "module.py").read_text(encoding="utf-8"), (home / "secret").exists()]

        return inside(Container(policy, best.report), look)

    assert best.run(body) == ["answer = 42\n", False]


def test_mounts_inside_stay_inside(best: Maker, ground: Ground):
    def body() -> bool:
        before = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        with best.container(ground).spawn(lambda: None) as box:
            box.wait(5)
            during = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        return before == during == Path("/proc/self/mountinfo").read_text(encoding="utf-8")

    assert best.run(body)
