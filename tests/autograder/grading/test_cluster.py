"""A batch graded by Dask's workers: the same bytes as here, whoever dies meanwhile, and nobody who would grade otherwise.

Dask's threads are kept out of this process, which others copy: a cluster is a process of its own, and so is each grader.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.grading import course as grading_course
from autograder.grading.course import Wish, grade_course
from autograder.records.identity import course_key
from autograder.records.receipts import Receipts
from autograder.sandbox import processes
from tests.autograder.grading import a_batch
from tests.autograder.submissions import LAB, ROOT, SOURCE

NUMBER = 6
CLUSTER = """
import json, sys
from distributed import LocalCluster
with LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
    workers = [nanny.process.process.pid for nanny in cluster.workers.values()]
    print(json.dumps({"address": cluster.scheduler_address, "workers": workers}), flush=True)
    sys.stdin.read()
"""
NO_TEXT = """
import sys
from pathlib import Path
from distributed import wait
from autograder.grading import cluster
with cluster._quiet(), cluster._client(cluster._library(), sys.argv[1]) as client, client.as_current():
    for sent in (client.submit(Path, "x", pure=False), client.submit(str, '{"done": "[]"}', pure=False)):
        wait(sent)
        try:
            cluster._result(sent, client, "", "{}")
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
"""


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> tuple[Path, Path]:
    """A course with its key, and what was handed in."""
    above = tmp_path_factory.mktemp("cluster")
    course = a_batch.released(above / "course")
    course_key(course)
    a_batch.hand_in(above / "handed in", NUMBER)
    return course, above / "handed in"


@pytest.fixture(scope="module")
def one_job(given, tmp_path_factory) -> dict[str, object]:
    """What a course keeps when this process grades."""
    course = a_batch.copied(given[0], tmp_path_factory.mktemp("one job") / "course")
    assert len(list(grade_course(SOURCE, course, [given[1]], Wish()))) == NUMBER
    return a_batch.kept(course)


@dataclass(frozen=True)
class Cluster:
    """A scheduler and its workers, in a process of their own that can be killed."""

    process: subprocess.Popen[str]
    address: str
    workers: list[int]


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, str(workers)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Cluster(process, **json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(a_batch.PATIENCE_S)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Cluster]:
    with cluster(2) as started:
        yield started


@pytest.fixture
def course(given, tmp_path) -> Path:
    return a_batch.copied(given[0], tmp_path / "course")


def graders_of(cluster: Cluster) -> list[int]:
    """The graders that its workers have started."""
    return [process.pid for process in processes.below(cluster.process.pid) if b"import serve" in _command(process.pid)]


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def graded(course: Path, given: tuple[Path, Path], *words: str) -> tuple[int, str]:
    """The status of a grader, and what it says."""
    with a_batch.alone() as place:
        return a_batch.Copy(course, given[1], *words, temporary=place.temporary).ended()


def test_two_workers_give_the_bytes_of_one_job_and_keep_nothing_running(given, one_job, course, two_workers):
    status, said = graded(course, given, "--dask", two_workers.address)
    assert status == 0, said
    assert a_batch.kept(course) == one_job
    a_batch.until(lambda: not graders_of(two_workers), "a grader lives on")
    assert graded(course, given, "--dask", two_workers.address)[1].count("(as before)") == NUMBER


@pytest.mark.slow
def test_shards_of_a_batch_are_graded_by_workers_too(given, one_job, course, two_workers):
    for number in (1, 2):
        status, said = graded(course, given, "--dask", two_workers.address, "--shard", f"{number}/2")
        assert (status, said.count(" / 18")) == (0, NUMBER // 2), said
    assert a_batch.kept(course) == one_job


def test_a_worker_that_is_killed_half_way_changes_nothing(given, one_job, course):
    with a_batch.alone() as place, cluster(2) as started:
        grader = a_batch.Copy(course, given[1], "--dask", started.address, temporary=place.temporary)
        first_of(grader)
        os.kill(started.workers[0], signal.SIGKILL)
        status, said = grader.ended()
        assert status == 0, said
        assert a_batch.kept(course) == one_job
        a_batch.until(lambda: not graders_of(started), "what the killed worker had started lives on")


def first_of(grader: a_batch.Copy) -> str:
    """The first line about a student."""
    said = ""
    while not (line := grader.said.readline()).startswith("student"):
        said += line
        assert line, said
    return line


def test_what_is_no_text_does_not_come_back(two_workers):
    command = [sys.executable, "-c", NO_TEXT, two_workers.address]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    assert [line.partition(" (")[0].partition(": ")[0] for line in said] == ["Failed", "ValueError"], said
    assert "no text came back" in said[0]
    assert "not a result" in said[1]


def test_ctrl_c_ends_the_graders_of_the_cluster(given, course, two_workers):
    with a_batch.alone() as place:
        grader = a_batch.Copy(course, given[1], "--dask", two_workers.address, temporary=place.temporary)
        first_of(grader)
        status, said = grader.ended(by=signal.SIGINT)
        assert status == 130
        assert said.endswith("stopped; what was graded is kept, and the next run goes on from there\n")
        assert "Traceback" not in said
    a_batch.until(lambda: not graders_of(two_workers), "a grader of the stopped batch lives on")
    assert 0 < len(Receipts(course).all(LAB).receipts) < NUMBER


def test_a_worker_with_another_environment_is_refused_before_anything_is_graded(given, course, tmp_path):
    other = tmp_path / "numpy-9.9.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 9.9.9\n", encoding="utf-8")
    with cluster(0) as started, worker(started.address, tmp_path):
        status, said = graded(course, given, "--dask", started.address)
    assert status == 1, said
    assert said.splitlines()[-1].startswith("Error: the worker tcp://")
    assert "would not grade as this machine does: numpy is 9.9.9 there, " in said.splitlines()[-1]
    assert Receipts(course).all(LAB).receipts == {}


@pytest.mark.slow
def test_a_worker_without_the_autograder_is_named(given, course, tmp_path):
    (tmp_path / "autograder.py").write_text("raise ImportError('not this one')\n", encoding="utf-8")
    with cluster(0) as started, worker(started.address, tmp_path):
        status, said = graded(course, given, "--dask", started.address)
    assert status == 1, said
    assert "cannot grade: ImportError('not this one')" in said.splitlines()[-1]


@contextlib.contextmanager
def worker(address: str, first: Path) -> Iterator[None]:
    """A worker whose imports are looked for in `first` before anywhere else; gives when the scheduler has it."""
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(first)]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "distributed.cli.dask_worker", address, *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(first), str(ROOT)])},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while "Registered to" not in (line := process.stderr.readline()):
                assert line, "the worker has ended"
            yield
        finally:
            process.kill()


@pytest.mark.slow
def test_a_scheduler_that_is_lost_is_said_and_what_was_graded_is_kept(given, one_job, course):
    with a_batch.alone() as place, cluster(1) as started:
        grader = a_batch.Copy(course, given[1], "--dask", started.address, temporary=place.temporary)
        first_of(grader)
        started.process.kill()
        status, said = grader.ended()
    assert status == 1, said
    assert said.splitlines()[-1].startswith(
        f"Error: the scheduler at {started.address} is gone; what was graded is kept"
    )
    assert 0 < len(Receipts(course).all(LAB).receipts) < NUMBER
    assert graded(course, given)[0] == 0
    assert a_batch.kept(course) == one_job


def test_what_is_not_there_is_said_in_a_line(given, course, monkeypatch):
    def error(*words: str) -> str:
        status, said = graded(course, given, *words)
        assert (status, "Traceback" in said) == (1, False), said
        return said.splitlines()[-1]

    assert "exclude each other" in error("--dask", "tcp://127.0.0.1:9", "--jobs", "2")
    monkeypatch.setattr(grading_course.cluster, "CONNECT_S", 0.5)
    assert error("--dask", "tcp://127.0.0.1:9").startswith("Error: no Dask scheduler answers at tcp://127.0.0.1:9")
    assert error("--dask", "nonsense://x").startswith("Error: no Dask scheduler answers at nonsense://x")
    monkeypatch.undo()
    with cluster(0) as started:
        assert f"the scheduler at {started.address} has no workers" in error("--dask", started.address)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert error("--dask", "tcp://127.0.0.1:9").endswith("install the course's extra `dask`")
