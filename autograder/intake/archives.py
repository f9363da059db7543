"""Archives, read without unpacking: nothing is written anywhere, and what does not look like an honest file is refused.

A download of a whole class may be large, what one student packed may not. Refused, with the reason: names that lead out of
the archive, links and devices, encrypted members, sizes and ratios that only a bomb has.
"""

import io
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.intake import Unreadable
from autograder.intake.words import shortened

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")
MOST_RATIO, HONEST_SIZE = 300, 20 * 2**20
"""No honest file above this size shrinks by more than this factor."""


@dataclass(frozen=True)
class Limits:
    """How much an archive may hold."""

    members: int
    total: int  # bytes
    member: int


OF_A_CLASS = Limits(members=20_000, total=8 * 2**30, member=100 * 2**20)
OF_A_STUDENT = Limits(members=1_000, total=200 * 2**20, member=100 * 2**20)


@dataclass(frozen=True)
class Member:
    """A file in an archive. `refused` says why it cannot be read, "" when it can."""

    number: int
    parts: tuple[str, ...]
    size: int
    modified: datetime | None = None
    refused: str = ""


def is_archive(name: str) -> bool:
    """Whether a file of this name would be opened."""
    return name.lower().endswith(SUFFIXES)


def members(archive: Path | bytes, limits: Limits) -> list[Member]:
    """The files in an archive, folders left out. Raises Unreadable when it cannot be opened or is refused as a whole."""
    found = _tar_members(archive, limits) if _is_tar(archive) else _zip_members(archive, limits)
    if len(found) > limits.members:
        raise Unreadable(f"it holds {len(found):,} files; at most {limits.members:,} are read")
    if (total := sum(member.size for member in found)) > limits.total:
        raise Unreadable(
            f"unpacked it would have {total / 2**20:,.0f} MB; at most {limits.total / 2**20:,.0f} are read"
        )
    last = {member.parts: member.number for member in found}
    return [
        member if last[member.parts] == member.number or member.refused else _refuse(member, "replaced by a later one")
        for member in found
    ]


def read(archive: Path | bytes, number: int, limits: Limits) -> bytes:
    """The bytes of one member. Raises Unreadable when it is refused, damaged, or longer than it says."""
    try:
        if _is_tar(archive):
            found = {member.number: member for member in _tar_members(archive, limits)}
            if (refused := found[number].refused) or not (size := found[number].size):
                return _nothing(refused)
            with _tar(archive) as tar, tar.extractfile(tar.getmembers()[number]) as file:  # type: ignore[union-attr]
                return file.read(size)
        _look_at_directory(archive, limits)
        with _zip(archive) as packed:
            info = packed.infolist()[number]
            if refused := _zip_member(number, info, limits).refused:
                return _nothing(refused)
            with packed.open(info) as file:
                content = file.read(info.file_size + 1)
    except Unreadable:
        raise
    except (KeyError, IndexError):
        raise Unreadable("the archive has changed since it was looked at") from None
    except Exception as error:  # zipfile and tarfile raise what their parts raise
        raise Unreadable(f"damaged in its archive ({shortened(str(error), 60)})") from None
    if len(content) > info.file_size:
        raise Unreadable("longer than its archive says")
    return content


def _nothing(refused: str) -> bytes:
    if refused:
        raise Unreadable(refused)
    return b""


def _zip_members(archive: Path | bytes, limits: Limits) -> list[Member]:
    _look_at_directory(archive, limits)
    with _zip(archive) as packed:
        return [_zip_member(number, info, limits) for number, info in enumerate(packed.infolist()) if not info.is_dir()]


def _zip_member(number: int, info: zipfile.ZipInfo, limits: Limits) -> Member:
    parts, refused = _parts(_name(info))
    mode = info.external_attr >> 16
    kind = stat.S_IFMT(mode) if info.create_system == 3 else 0
    if kind and kind != stat.S_IFREG:
        refused = "a symbolic link" if kind == stat.S_IFLNK else "a device or the like, not a file"
    elif info.flag_bits & 1:
        refused = refused or "encrypted"
    elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        refused = refused or f"packed by a method that is not read here (number {info.compress_type})"
    refused = refused or _size_fault(info.file_size, info.compress_size, limits)
    try:
        modified = datetime(*info.date_time)
    except ValueError:
        modified = None
    return Member(number, parts, info.file_size, modified, refused)


def _size_fault(size: int, packed: int, limits: Limits) -> str:
    if size > limits.member:
        return f"it has {size / 2**20:,.0f} MB; at most {limits.member / 2**20:,.0f} are read"
    if size > HONEST_SIZE and size > MOST_RATIO * max(packed, 1):
        return f"it shrank {size // max(packed, 1):,} times when it was packed: refused as a bomb"
    return ""


def _name(info: zipfile.ZipInfo) -> str:
    """A member's name; without the flag that it is UTF-8, it is read as UTF-8 all the same where it can be."""
    name = info.orig_filename
    if info.flag_bits & 0x800 or name.isascii():
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def _parts(name: str) -> tuple[tuple[str, ...], str]:
    """The parts of a member's name, made harmless, and why it is refused: "" for an honest one."""
    plain = name.replace("\\", "/")
    parts = tuple(part for part in plain.split("/") if part not in ("", ".", ".."))
    if "\0" in plain:
        return tuple(part.replace("\0", "�") for part in parts), "its name holds a NUL"
    if plain.startswith("/") or re.match(r"[A-Za-z]:", plain):
        return parts, "its name is an absolute path"
    return parts, "its name leads out of the archive (..)" if ".." in plain.split("/") else ""


def _look_at_directory(archive: Path | bytes, limits: Limits) -> None:
    """Refuses a zip whose directory alone is too large, before it is read."""
    with _opened(archive) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 66_000))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at >= 0 and len(tail) >= at + 22:
        (directory,) = struct.unpack("<L", tail[at + 12 : at + 16])
        if directory > limits.members * 512:
            raise Unreadable(f"its table of contents has {directory / 2**20:,.0f} MB: unpack it, if you trust it")


def _zip(archive: Path | bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(archive) if isinstance(archive, bytes) else archive)
    except Exception as error:  # zipfile raises what its parts raise
        raise Unreadable(f"no archive that can be opened ({shortened(str(error), 60)})") from None


def _opened(archive: Path | bytes) -> AbstractContextManager:
    return io.BytesIO(archive) if isinstance(archive, bytes) else open(archive, "rb")


def _is_tar(archive: Path | bytes) -> bool:
    try:
        with _opened(archive) as file:
            head = file.read(512)
    except OSError as error:
        raise Unreadable(f"it cannot be read ({error.strerror})") from None
    return head[257:262] == b"ustar" or head[:2] == b"\x1f\x8b"


def _tar_members(archive: Path | bytes, limits: Limits) -> list[Member]:
    found = []
    try:
        with _tar(archive) as tar:
            for number, info in enumerate(tar.getmembers()):
                if info.isdir():
                    continue
                parts, refused = _parts(info.name)
                if info.issym() or info.islnk():
                    refused = "a symbolic link" if info.issym() else "a link"
                elif not info.isreg() or info.issparse():
                    refused = "a device or the like, not a file"
                refused = refused or _size_fault(info.size, info.size, limits)
                modified = datetime.fromtimestamp(info.mtime) if 0 < info.mtime < 2**32 else None
                found.append(Member(number, parts, info.size, modified, refused))
    except (tarfile.TarError, ValueError, OSError, EOFError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"no archive that can be opened ({shortened(str(error), 60)})") from None
    return found


def _tar(archive: Path | bytes) -> tarfile.TarFile:
    """A tar archive, held in memory as far as a student's may go."""
    most = OF_A_STUDENT.total
    with _opened(archive) as file:
        content = file.read(most + 1)
    if content[:2] == b"\x1f\x8b":
        try:
            content = zlib.decompressobj(31).decompress(content, most + 1)
        except zlib.error as error:
            raise Unreadable(f"no archive that can be opened ({error})") from None
    if len(content) > most:
        raise Unreadable(f"unpacked it has more than {most / 2**20:,.0f} MB: unpack it yourself and name the folder")
    try:
        return tarfile.open(fileobj=io.BytesIO(content), mode="r:")
    except (tarfile.TarError, ValueError, OSError, EOFError) as error:
        raise Unreadable(f"no archive that can be opened ({shortened(str(error), 60)})") from None


def _refuse(member: Member, reason: str) -> Member:
    return Member(member.number, member.parts, member.size, member.modified, reason)
