"""Nothing outlives its box, whatever it did; and the copies that a notebook made outlive the notebook until then."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.sandbox import NOBODY, Container, Policy, cgroups, interpreter_paths, probe, processes
from autograder.sandbox.levels import Report
from autograder.sandbox.probing.stage import alive, detached
from tests.autograder.sandbox.boxes import Ground, Maker, left_over, open_interpreter, other_process

DEADLINE = 5


def outer_number(descriptor: int) -> int:
    """What a box's process is called out here, from a descriptor of its."""
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


def beats(path: Path) -> bool:
    """Whether something still writes to a file."""
    before = path.stat().st_size if path.exists() else 0
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        if path.exists() and path.stat().st_size > before:
            return True
        time.sleep(0.01)
    return False


def grows(path: Path) -> bool:
    """Whether something writes to a file now."""
    before = path.stat().st_size
    time.sleep(0.1)
    return path.stat().st_size != before


def beat(path: Path) -> None:
    while True:
        with open(path, "ab") as file:
            file.write(b".")
        time.sleep(0.005)


def forked(body, *arguments) -> int:
    child = os.fork()
    if child == 0:
        try:
            body(*arguments)
        finally:
            os._exit(0)
    return child


def escape(folder: Path) -> None:
    """Leaves children that have detached themselves, ignore being asked, are stopped, or keep forking, and a loop."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    detached()
    detached(stopped=True)
    forked(beat, folder / "child")

    def run_away() -> None:
        os.setsid()
        if forked(beat, folder / "grandchild"):
            os._exit(0)

    forked(run_away)

    def flee() -> None:
        while True:
            if os.fork():
                os._exit(0)
            os.setsid()

    forked(flee)
    beat(folder / "main")


def descendants_of_this() -> list[int]:
    return [process.pid for process in processes.below(os.getpid())]


def test_nothing_outlives_its_box(maker: Maker, ground: Ground):
    def body() -> dict:
        with maker.container(ground).spawn(lambda: escape(ground.writable)) as box:
            names = ("main", "child", "grandchild")
            beating = [beats(ground.writable / name) for name in names]
            assert box.wait(0) is None
            start = time.monotonic()
            box.kill()
            seconds = time.monotonic() - start
        still = any(grows(ground.writable / name) for name in names)
        return {"beating": beating, "still": still, "left": descendants_of_this(), "seconds": seconds}

    seen = maker.run(body)
    assert seen["beating"] == [True] * 3
    assert not seen["still"]
    assert seen["left"] == []
    assert seen["seconds"] < DEADLINE


def test_the_copies_of_a_notebook_outlive_it_until_the_box_is_ended(maker: Maker, ground: Ground):
    def notebook() -> None:
        forked(beat, ground.writable / "copy")
        beat(ground.writable / "main")

    def body() -> list:
        with maker.container(ground).spawn(notebook) as box:
            assert beats(ground.writable / "copy")
            box.kill_main()
            status = box.wait(0)
            after = [beats(ground.writable / "copy"), alive(box.pid)]
            box.kill_main()
            box.kill()
            return [status, *after, box.wait(0), descendants_of_this()]

    assert maker.run(body) == [-signal.SIGKILL, True, False, -signal.SIGKILL, []]


def test_the_end_of_a_notebook_is_told_as_it_was(maker: Maker, ground: Ground):
    def loop() -> None:
        while True:
            pass

    def raises() -> None:
        raise RuntimeError

    endings = [
        lambda: None,
        raises,
        lambda: sys.exit(3),
        lambda: os._exit(4),
        lambda: os.abort(),
        lambda: signal.raise_signal(signal.SIGSEGV),
        loop,
    ]

    def body() -> list:
        container, seen = maker.container(ground, cpu_seconds=60), []
        for ending in endings:
            with container.spawn(ending) as box:
                seen.append(box.wait(0.2 if ending is loop else DEADLINE))
        return seen

    assert maker.run(body) == [0, 1, 3, 4, -signal.SIGABRT, -signal.SIGSEGV, None]


def test_what_a_box_took_counts_all_its_processes(maker: Maker, ground: Ground):
    """Those that had ended, those that were ended, and the notebook's own."""

    def burn() -> None:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass

    def notebook() -> None:
        os.waitpid(forked(burn), 0)
        held = bytearray(64 << 20)
        held[::4096] = b"x" * len(held[::4096])
        forked(lambda: (burn(), (ground.writable / "done").touch(), signal.pause()))
        signal.pause()

    def body() -> list:
        box = maker.container(ground).spawn(notebook)
        until = time.monotonic() + DEADLINE
        while not (ground.writable / "done").exists() and time.monotonic() < until:
            time.sleep(0.01)
        with contextlib.suppress(ValueError):
            box.usage()
            raise AssertionError("usage is not known before the end")
        box.kill()
        return list(box.usage())

    cpu_seconds, peak_bytes = maker.run(body)
    assert 0.4 <= cpu_seconds < 3
    assert peak_bytes > 64 << 20


def test_a_grader_that_is_killed_takes_its_boxes_with_it(maker: Maker, ground: Ground):
    report: Report = maker.report
    policy = maker.policy(ground)

    def grade() -> None:
        Container(policy, report).spawn(lambda: escape(ground.writable))
        time.sleep(60)

    def body() -> list:
        grader = forked(grade)
        assert beats(ground.writable / "grandchild")
        os.kill(grader, signal.SIGKILL)
        os.waitpid(grader, 0)
        until = time.monotonic() + DEADLINE
        while (still := grows(ground.writable / "grandchild")) and time.monotonic() < until:
            pass
        while (
            left := [found.pid for found in processes.below(1) if works_here(found.pid)]
        ) and time.monotonic() < until:
            time.sleep(0.01)
        # The kernel counts what has been killed for a moment longer, and until then keeps its group.
        until = time.monotonic() + DEADLINE
        while (groups := left_over(grader, report)) and time.monotonic() < until:
            time.sleep(0.01)
        return [still, left, groups]

    def works_here(pid: int) -> bool:
        try:
            return os.readlink(f"/proc/{pid}/cwd").startswith(str(ground.writable))
        except OSError:
            return False

    assert maker.run(body) == [False, [], []]


def test_processes_of_another_user_are_ended_without_namespaces(ground: Ground):
    """Root of a machine that has an interpreter for all: its boxes are another user's, and must end with it all the same."""

    def body() -> list:
        open_interpreter()
        report = probe(["namespaces"])
        if not report.works("identity"):
            return [False, False]
        policy = Policy(interpreter_paths(), (str(ground.writable),), uid=report.uid)
        box = Container(policy, report).spawn(lambda: escape(ground.writable))
        assert beats(ground.writable / "grandchild")
        box.kill()
        assert descendants_of_this() == []
        (ground.writable / "grandchild").unlink()

        def grade() -> None:
            Container(policy, report).spawn(lambda: escape(ground.writable))
            time.sleep(60)

        grader = forked(grade)
        assert beats(ground.writable / "grandchild")
        owner = (ground.writable / "grandchild").stat().st_uid
        os.kill(grader, signal.SIGKILL)
        os.waitpid(grader, 0)
        until = time.monotonic() + DEADLINE
        while (still := grows(ground.writable / "grandchild")) and time.monotonic() < until:
            pass
        if report.works("cgroup"):
            cgroups.remove_leftovers(cgroups.find())
        return [owner == NOBODY, not still]

    root = os.geteuid() == 0 and Maker("as we are", ()).report.works("identity")
    assert other_process("as we are", body) == [root, root]


@pytest.mark.parametrize("boxes", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_many_boxes_leave_no_process_no_zombie_no_group_no_mount_and_no_descriptor(best: Maker, ground: Ground, boxes):
    def around() -> list:
        folders = cgroups.find().paths if best.report.works("cgroup") else ()
        groups = [str(left) for folder in folders for left in folder.glob(f"autograder-{os.getpid()}-*")]
        children = [stat for stat in Path("/proc").glob("[0-9]*/stat") if parent_of(stat) == os.getpid()]
        mounts = len(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
        return [sorted(groups), len(children), mounts, len(os.listdir("/proc/self/fd"))]

    def parent_of(stat: Path) -> int:
        try:
            return int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            return 0

    def body() -> list:
        container = best.container(ground)
        before, times = around(), []
        for _ in range(boxes):
            start = time.perf_counter()
            box = container.spawn(lambda: None)
            times.append(time.perf_counter() - start)
            box.wait(DEADLINE)
            box.kill()
        return [before, around(), sorted(times)[boxes // 2]]

    before, after, seconds = best.run(body)
    print(f"level {best.report.level}, {best.user}: a box is up in {seconds * 1000:.1f} ms (median of {boxes})")
    assert before == after
    assert before[1] == 0


def test_a_group_that_a_killed_grader_left_is_removed(ground: Ground):
    maker = Maker("as we are", ())
    if not maker.report.works("cgroup"):
        assert "group" in maker.report["cgroup"].raise_by
        return
    place = cgroups.find()
    gone = subprocess.Popen(["/bin/sh", "-c", "exit 0"])
    gone.wait()
    left = [folder / f"autograder-{gone.pid}-0" for folder in place.paths]
    kept = [folder / f"autograder-{os.getpid()}-x" for folder in place.paths]
    for folder in (*left, *kept):
        folder.mkdir()
    try:
        cgroups.remove_leftovers(place)
        assert not any(folder.exists() for folder in left)
        assert all(folder.exists() for folder in kept)
    finally:
        for folder in kept:
            folder.rmdir()


def test_a_stopped_box_is_ended_too(maker: Maker, ground: Ground):
    def body() -> list:
        with maker.container(ground).spawn(lambda: os.kill(os.getpid(), signal.SIGSTOP)) as box:
            status = box.wait(0.2)
        return [status, descendants_of_this()]

    assert maker.run(body) == [None, []]


def test_the_tree_is_found_without_proc():
    """Where there is no /proc, `ps` tells who belongs to whom."""

    def body() -> bool:
        child = forked(time.sleep, 30)
        try:
            listed = {found[:3] for found in processes._table_by_ps()}
            return (child, os.getpid(), os.getpgid(child)) in listed
        finally:
            os.kill(child, signal.SIGKILL)

    assert other_process("as we are", body)
