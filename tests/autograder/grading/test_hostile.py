"""The hostile corpus against the grader: none gains, none hangs, nothing is reached, and honest students lose nothing.

Once at the best level that this machine gives, once as a user without rights, once with namespaces switched off; the last two
with a few telling notebooks, and in `make check-all` with all for which a sandbox makes a difference.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from functools import cache

import pytest

from autograder.sandbox import probe
from course_lib.checks import labs, variants
from tests.autograder.sandbox.boxes import other_process
from tests.hostile import batch, reaching
from tests.hostile.corpus import KINDS, corpus
from tests.hostile.entry import FULL, NOTHING, Entry
from tests.hostile.ground import ground
from tests.hostile.rows import Row, summary, table
from tests.hostile.side_by_side import dealt, graded
from tests.hostile.workshop import FOLDER, released, text_of

SANDBOXED = ("endings", "searches", "wire", "reaching")
"""The kinds for which a sandbox makes a difference; the others are graded once."""
TELLING = (
    "an honest student (0)",
    "a segfault in an answer",
    "signals to the parent, the group and everyone",
    "children that detach themselves and stay",
    "stops itself in a cell",
    "a table of eight gigabytes in an answer",
    "the process's own memory is searched",
    "hidden inputs sent from copy to copy",
    "outcomes queued before they are asked for",
    "the gradebook is read and the key is printed",
    "a link, a hard link and a descriptor to another's notebook",
    "points written into the gradebook",
    "rights, limits and namespaces of one's own",
    "TCP, by number and by name",
    "Unix sockets, abstract and in a folder",
)
"""Those that a level without this or that layer would be the first to let through."""


@dataclass(frozen=True)
class Setting:
    """Who grades, without what, and which notebooks."""

    user: str
    without: tuple[str, ...]
    entries: tuple[Entry, ...]


def telling() -> tuple[Entry, ...]:
    return tuple(entry for entry in corpus() if entry.name in TELLING)


SETTINGS = {
    "best": Setting("as we are", (), tuple(corpus())),
    "unprivileged": Setting("as nobody", (), telling()),
    "without namespaces": Setting("as we are", ("namespaces",), telling()),
    "unprivileged, all": Setting("as nobody", (), tuple(corpus(SANDBOXED))),
    "without namespaces, all": Setting("as we are", ("namespaces",), tuple(corpus(SANDBOXED))),
}
WHOLE_MARKED = [pytest.param(name, marks=pytest.mark.slow if name.endswith("all") else ()) for name in SETTINGS]
HELD_BACK_BY_THE_SANDBOX = ("the gradebook is read", "points written", "TCP", "UDP", "Unix sockets")


def rows_of(entries: list[Entry], user: str, without: tuple[str, ...]) -> list[Row]:
    """What comes of entries, graded by a process of this user's."""
    released()
    rows = other_process(user, lambda: [asdict(row) for row in graded(entries, probe(without))], seconds=1200)
    return [Row(**row) for row in rows]


@cache
def whole(name: str) -> list[Row]:
    setting = SETTINGS[name]
    rows = rows_of(list(setting.entries), setting.user, setting.without)
    print(f"\n{table(rows)}\n{summary(rows)}")
    return rows


@pytest.fixture(params=WHOLE_MARKED)
def rows(request: pytest.FixtureRequest) -> list[Row]:
    return whole(request.param)


def test_every_notebook_gets_its_grade_and_reaches_nothing(rows: list[Row]):
    assert {row.name: row.faults for row in rows if row.faults} == {}


def test_no_notebook_gains_a_point(rows: list[Row]):
    assert [row.name for row in rows if row.gained] == []


def test_an_honest_student_gets_the_honest_score_whoever_came_before(rows: list[Row]):
    plain = [row for row in rows if row.name.startswith("an honest student")]
    assert len(plain) >= len(rows) // 16 + 1
    assert {(row.got, row.state) for row in plain} == {(sum(FULL.values()), "graded")}


@pytest.mark.parametrize("name", WHOLE_MARKED)
def test_every_notebook_is_graded_once_at_the_level_that_was_asked_for(name: str):
    setting, rows = SETTINGS[name], whole(name)
    assert sorted(row.name for row in rows) == sorted(entry.name for entry in setting.entries)
    report = other_process(setting.user, lambda: probe(setting.without).level)
    assert {row.level for row in rows} == {report}
    assert report != "A" or not setting.without


def test_the_telling_notebooks_are_of_every_kind_that_a_sandbox_holds_back():
    assert len(telling()) == len(TELLING)
    for kind in SANDBOXED:
        assert {entry.name for entry in KINDS[kind].corpus()} & set(TELLING), kind


def test_the_corpus_is_large_and_every_notebook_in_it_has_a_name_of_its_own():
    entries = corpus()
    others = [entry for entry in entries if not entry.name.startswith("an honest student")]
    assert len(others) >= 150
    assert sum(not entry.honest for entry in others) >= 90
    assert len({entry.name for entry in entries}) == len({entry.known_as for entry in entries}) == len(entries)
    assert sorted(entry.name for part in dealt(entries, 3) for entry in part) == sorted(entry.name for entry in entries)


def test_the_lab_tells_right_from_wrong():
    lab = labs.load(FOLDER)
    assert {check.name: check.points for check in lab.checks.values()} == FULL
    assert {name: 0.0 for name in lab.checks} == NOTHING
    stubs = [text_of(cell) for cell in released()["cells"] if cell["cell_type"] == "code"]
    results = variants.run(stubs, lab, lambda check: check.graded_cases(7))
    assert {result.score for result in results.values()} == {0.0}


def test_what_only_the_sandbox_holds_back_is_noticed_where_nothing_does():
    """These attacks must succeed, or the corpus would prove nothing. They do no harm, and are made by a user without rights."""
    chosen = [entry for entry in reaching.corpus() if entry.name.startswith(HELD_BACK_BY_THE_SANDBOX)]
    assert len(chosen) == len(HELD_BACK_BY_THE_SANDBOX)
    found = {row.name: row.faults for row in rows_of(chosen, "as nobody", ("kernel", "namespaces", "root"))}
    assert {name for name, faults in found.items() if not faults} == set()
    assert any("gradebook was leaked" in fault for fault in found["the gradebook is read and the key is printed"])
    assert any("was reached" in fault for fault in found["TCP, by number and by name"])


def test_a_wrong_expectation_is_a_fault_of_its_row():
    """The other way round: what the corpus expects is looked at, point by point and state by state."""
    honest = next(entry for entry in corpus() if entry.name.startswith("an honest student"))
    wrong = [
        replace(honest, name="less", points=FULL | {"softmax": 3.0}),
        replace(honest, name="more", points=FULL | {"softmax": 5.0}),
        replace(honest, name="state", states=()),
        replace(honest, name="shows", shows=("no notebook shows this",)),
        replace(honest, name="never", never=("softmax",)),
    ]
    rows = {row.name: row.faults for row in rows_of(wrong, "as we are", ())}
    assert {name: len(faults) for name, faults in rows.items()} == dict.fromkeys(rows, 1)


def test_the_ground_notices_what_is_written_taken_away_and_said():
    with ground() as here:
        assert here.trespasses() == []
        (here.outside / "new").write_text("x", encoding="utf-8")
        (here.course / "gradebook.db").write_bytes(b"")
        (here.course / "secret.json").unlink()
        socket.create_connection(here.ears["tcp"].getsockname()).close()
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as out:
            out.sendto(b"x", here.ears["udp"].getsockname())
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as out:
            out.connect(here.ears["abstract"].getsockname())
        noticed = " ".join(here.trespasses())
        for word in (
            "new was written",
            "gradebook.db was changed",
            "secret.json was removed",
            "tcp",
            "udp",
            "abstract",
        ):
            assert word in noticed
        assert here.leaks(f"… {here.markers['key']} …") == ["key"]


def test_a_process_that_was_left_is_noticed():
    known = batch.below(os.getpid())
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        time.sleep(0.05)
        assert any(str(left.pid) in one for one in batch.left(known))
    finally:
        left.kill()
        left.wait()
    assert batch.left(known) == []
