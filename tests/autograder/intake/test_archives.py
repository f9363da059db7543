"""Archives are read in memory, member by member; bombs, links and names that lead elsewhere are refused with a reason."""

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake import Unreadable, archives
from autograder.intake.archives import OF_A_STUDENT, Limits
from autograder.intake.found import look

SMALL = Limits(members=5, total=40_000, member=30_000)


def zipped(*entries, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as packed:
        for name, content in entries:
            packed.writestr(name, content)
    return buffer.getvalue()


def with_mode(name, mode, content=b"/etc/passwd"):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info, content


def tarred(*infos, mode="w"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as packed:
        for info, content in infos:
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tar_entry(name, kind=tarfile.REGTYPE, content=b"x"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    return info, content if kind == tarfile.REGTYPE else b""


def refusals(archive, limits=OF_A_STUDENT):
    return {"/".join(member.parts): member.refused for member in archives.members(archive, limits)}


def reason(call):
    with pytest.raises(Unreadable) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "parts", "why"),
    [
        ("../../evil.ipynb", "evil.ipynb", "leads out of the archive"),
        ("a/../../evil.ipynb", "a/evil.ipynb", "leads out of the archive"),
        ("/etc/evil.ipynb", "etc/evil.ipynb", "absolute"),
        ("C:\\evil.ipynb", "C:/evil.ipynb", "absolute"),
        ("..\\evil.ipynb", "evil.ipynb", "leads out of the archive"),
        ("./good.ipynb", "good.ipynb", ""),
        ("good/..x.ipynb", "good/..x.ipynb", ""),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name, parts, why):
    found = refusals(zipped((name, b"{}")))
    assert list(found) == [parts]
    assert why in found[parts]
    assert bool(found[parts]) == bool(why)


def test_a_name_with_a_nul_is_refused():
    packed = zipped(("goodXevil.ipynb", b"{}")).replace(b"goodX", b"good\0")
    assert list(refusals(packed).values()) == ["its name holds a NUL"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(kind):
    packed = zipped(with_mode("a.ipynb", kind | 0o644), ("b.ipynb", b"{}"))
    found = refusals(packed)
    assert found["a.ipynb"] in ("a symbolic link", "a device or the like, not a file")
    assert found["b.ipynb"] == ""
    assert "symbolic link" in reason(lambda: archives.read(packed, 0, OF_A_STUDENT)) or kind != stat.S_IFLNK


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.FIFOTYPE, "a device"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(kind, why):
    packed = tarred(tar_entry("a.ipynb", kind), tar_entry("b.ipynb"))
    found = refusals(packed)
    assert found["a.ipynb"].startswith(why)
    assert found["b.ipynb"] == ""
    assert archives.read(packed, 1, OF_A_STUDENT) == b"x"
    assert why in reason(lambda: archives.read(packed, 0, OF_A_STUDENT))


def test_a_member_that_shrank_as_only_a_bomb_does_is_refused(monkeypatch):
    monkeypatch.setattr(archives, "HONEST_SIZE", 100_000)
    packed = zipped(("bomb.ipynb", b"\0" * 1_000_000), ("good.ipynb", b"{}"))
    found = refusals(packed)
    assert "refused as a bomb" in found["bomb.ipynb"]
    assert found["good.ipynb"] == ""
    assert "bomb" in reason(lambda: archives.read(packed, 0, OF_A_STUDENT))


def test_too_many_members_too_much_of_them_and_too_large_ones_are_refused():
    assert "it holds 6 files" in reason(lambda: archives.members(zipped(*[(f"{i}", b"") for i in range(6)]), SMALL))
    large = zipped(("a", b"x" * 25_000), ("b", b"x" * 25_000))
    assert "unpacked it would have" in reason(lambda: archives.members(large, SMALL))
    assert "at most" in refusals(zipped(("a", b"x" * 35_000)), SMALL)["a"]


def test_a_table_of_contents_that_is_itself_a_bomb_is_not_read():
    packed = zipped(*[(f"{i:0400d}", b"") for i in range(20)])
    assert "table of contents" in reason(lambda: archives.members(packed, Limits(5, 10**6, 10**6)))


def test_a_member_that_is_longer_than_it_says_is_refused():
    packed = bytearray(zipped(("a", b"x" * 1000)))
    at = packed.rfind(b"PK\x01\x02")
    packed[at + 24 : at + 28] = struct.pack("<L", 10)
    why = reason(lambda: archives.read(bytes(packed), 0, OF_A_STUDENT))
    assert "longer than its archive says" in why or "damaged" in why


def test_an_encrypted_member_is_refused():
    packed = bytearray(zipped(("a", b"x")))
    at = packed.rfind(b"PK\x01\x02")
    packed[at + 8] |= 1
    assert refusals(bytes(packed)) == {"a": "encrypted"}


def test_a_method_that_is_not_read_is_refused():
    assert "number 14" in refusals(zipped(("a", b"x"), method=zipfile.ZIP_LZMA))["a"]


def test_a_damaged_member_is_refused():
    packed = bytearray(zipped(("a", bytes(range(256)) * 20), method=zipfile.ZIP_STORED))
    packed[100] ^= 255
    assert "damaged in its archive" in reason(lambda: archives.read(bytes(packed), 0, OF_A_STUDENT))


def test_of_two_members_of_one_name_the_later_counts():
    with pytest.warns(UserWarning, match="Duplicate name"):
        packed = zipped(("a", b"old"), ("a", b"new"))
    first, second = archives.members(packed, OF_A_STUDENT)
    assert (first.refused, second.refused) == ("replaced by a later one", "")
    assert archives.read(packed, second.number, OF_A_STUDENT) == b"new"


def test_a_tar_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(archives, "OF_A_STUDENT", SMALL)
    packed = tarred(tar_entry("a", content=b"\0" * 10**6), mode="w:gz")
    assert len(packed) < SMALL.total
    assert "more than" in reason(lambda: archives.members(packed, SMALL))


def test_names_in_utf_8_are_read_as_such_without_the_flag():
    packed = zipped(("Zoë.ipynb", b"{}"))
    for mark in (b"PK\x01\x02", b"PK\x03\x04"):
        at = packed.rfind(mark) + (9 if mark == b"PK\x01\x02" else 7)
        packed = packed[:at] + bytes([packed[at] & ~8]) + packed[at + 1 :]
    assert list(refusals(packed)) == ["Zoë.ipynb"]


def test_archives_in_archives_are_opened_once(tmp_path):
    inner = zipped(("work.ipynb", b'{"who": 1}'), ("deeper.zip", zipped(("x.ipynb", b"{}"))))
    (tmp_path / "all.zip").write_bytes(zipped(("ada/work.zip", inner), ("ben/w.ipynb", b'{"who": 2}')))
    ada, ben = look("lab", [tmp_path / "all.zip"]).submissions
    assert (ada.read(), ben.read()) == (b'{"who": 1}', b'{"who": 2}')
    assert any("not opened" in note for note in ada.notes)


def test_nothing_is_written_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.zip").write_bytes(
        zipped(("../evil.ipynb", b"{}"), ("ada/work.ipynb", b"{}"), ("ben/w.zip", zipped(("w.ipynb", b"{}"))))
    )
    found = look("lab", [tmp_path / "all.zip"])
    assert [one.read() for one in found.submissions if not one.problem] == [b"{}", b"{}"]
    assert [path.name for path in tmp_path.iterdir()] == ["all.zip"]
    assert [path.name for path in tmp_path.parent.iterdir()].count("evil.ipynb") == 0


@given(st.binary(max_size=200), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8))
def test_any_bytes_are_an_archive_or_unreadable(garbage, changes):
    good = zipped(("a/b.ipynb", b"{}" * 50), ("c.ipynb", b"{}"))
    changed = bytearray(good)
    for at, value in changes:
        changed[at % len(changed)] = value
    for content in (garbage, bytes(changed), good[: len(garbage)], zlib.compress(garbage)):
        try:
            for member in archives.members(content, OF_A_STUDENT):
                archives.read(content, member.number, OF_A_STUDENT)
        except Unreadable:
            continue


def test_a_path_is_read_as_bytes_are(tmp_path: Path):
    content = zipped(("a", b"x"))
    (tmp_path / "a.zip").write_bytes(content)
    assert archives.members(tmp_path / "a.zip", OF_A_STUDENT) == archives.members(content, OF_A_STUDENT)
    assert archives.read(tmp_path / "a.zip", 0, OF_A_STUDENT) == b"x"
