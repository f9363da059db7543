"""Where control groups are made, in both versions: on a drawn tree of files, since a machine has one of the two."""

import os
from pathlib import Path

import pytest

from autograder.sandbox import cgroups


class Drawn:
    """A tree of files as the kernel shows it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def v2(
        self, own: str, controllers: str = "cpu memory pids", enabled: str = "", inside: tuple[int, ...] = ()
    ) -> Path:
        folder = self.root / own.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.controllers").write_text(controllers, encoding="utf-8")
        (folder / "cgroup.subtree_control").write_text(enabled, encoding="utf-8")
        (folder / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in inside), encoding="utf-8")
        return folder

    def find(self, membership: str, *mounts: str) -> cgroups.Place:
        (self.root / "membership").write_text(membership, encoding="utf-8")
        (self.root / "mounts").write_text("\n".join(mounts) + "\n", encoding="utf-8")
        return cgroups.find(str(self.root / "membership"), str(self.root / "mounts"))

    def mount(self, kind: str, options: str = "rw", at: str = "", root: str = "/") -> str:
        return f"30 20 0:26 {root} {self.root}{at} rw,relatime shared:4 - {kind} {kind} {options}"


@pytest.fixture
def drawn(tmp_path) -> Drawn:
    return Drawn(tmp_path)


def test_a_delegated_group_that_holds_this_process_alone_is_used(drawn):
    own = drawn.v2("/user.slice/run.scope", inside=(os.getpid(),))
    place = drawn.find("0::/user.slice/run.scope\n", drawn.mount("cgroup2"))
    assert place == cgroups.Place(((str(own), ("memory", "pids")),), unified=True)
    assert (own / cgroups.OWN_LEAF / "cgroup.procs").read_text(encoding="utf-8") == str(os.getpid())
    assert (own / "cgroup.subtree_control").read_text(encoding="utf-8") == "+memory +pids"


def test_a_process_that_moved_down_makes_groups_where_it_was(drawn):
    own = drawn.v2("/run.scope", enabled="memory pids")
    drawn.v2(f"/run.scope/{cgroups.OWN_LEAF}", inside=(os.getpid(),))
    place = drawn.find(f"0::/run.scope/{cgroups.OWN_LEAF}\n", drawn.mount("cgroup2"))
    assert place.paths == [own]


def test_a_group_that_holds_others_is_left_alone(drawn):
    own = drawn.v2("/session.scope", inside=(1, os.getpid()))
    with pytest.raises(OSError, match="holds other processes too"):
        drawn.find("0::/session.scope\n", drawn.mount("cgroup2"))
    assert not (own / cgroups.OWN_LEAF).exists()


def test_a_group_without_the_controllers_says_which(drawn):
    drawn.v2("/run.scope", controllers="cpu pids", inside=(os.getpid(),))
    with pytest.raises(OSError, match="has no controller for memory"):
        drawn.find("0::/run.scope\n", drawn.mount("cgroup2"))


def test_a_container_that_is_told_of_its_group_from_outside_uses_the_mount(drawn):
    drawn.v2("/", enabled="memory pids")
    place = drawn.find("0::/\n", drawn.mount("cgroup2", root="/docker/abc"))
    assert place.paths == [drawn.root]


def test_the_old_version_has_a_folder_for_each_controller(drawn):
    for name in ("memory/course", "pids"):
        (drawn.root / name).mkdir(parents=True)
    place = drawn.find(
        "4:memory:/course\n8:pids:/\n0::/\n",
        drawn.mount("cgroup", "rw,memory", "/memory"),
        drawn.mount("cgroup", "rw,pids", "/pids"),
        drawn.mount("cgroup2", at="/unified"),
    )
    assert place == cgroups.Place(
        ((f"{drawn.root}/memory/course", ("memory",)), (f"{drawn.root}/pids", ("pids",))), unified=False
    )


def test_a_machine_without_groups_says_so(drawn):
    with pytest.raises(OSError, match="no control groups are mounted"):
        drawn.find("1:name=systemd:/\n", drawn.mount("proc"))


def test_the_new_version_limits_memory_swap_and_processes(drawn):
    own = drawn.v2("/run.scope", enabled="memory pids")
    place = drawn.find("0::/run.scope\n", drawn.mount("cgroup2"))
    group = cgroups.Group(place, 64 << 20, 9)
    (folder,) = group.folders
    assert folder.parent == own
    said = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert said == {"memory.max": str(64 << 20), "memory.swap.max": "0", "pids.max": "9"}
    group.join()
    group.forbid_forks()
    assert (folder / "cgroup.procs").read_text(encoding="utf-8") == "0"
    assert (folder / "pids.max").read_text(encoding="utf-8") == "0"
    assert group.members() == {0}
