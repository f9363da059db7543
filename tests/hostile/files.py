"""Files that are no notebooks, notebooks of other formats, archives that bomb or climb, and names that spreadsheets run."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable

from autograder.evidence import State
from tests.hostile.entry import NOTHING, Entry, Files, Link
from tests.hostile.ground import Ground
from tests.hostile.workshop import LAB, Notebook, changed, handed_in, packed, solved, text_of

UNREADABLE = (State.UNREADABLE,)


def corpus() -> list[Entry]:
    return [*_no_notebooks(), *_formats(), *_archives(), *_names()]


def unreadable(name: str, content: bytes, file: str = f"{LAB}.ipynb") -> Entry:
    """An entry of a file that nothing can be made of."""
    return Entry(name, lambda ground: {file: content}, NOTHING, UNREADABLE)


def _no_notebooks() -> list[Entry]:
    return [
        unreadable("an empty file", b""),
        unreadable("NUL bytes", bytes(4096)),
        unreadable("a picture under a notebook's name", b"\x89PNG\r\n\x1a\n" + bytes(100)),
        unreadable("a web page under a notebook's name", b"<!DOCTYPE html><html><body>lab</body></html>"),
        unreadable("JSON that is no notebook", b'{"answers": [1, 2, 3]}'),
        unreadable("a notebook without cells", b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'),
        unreadable("JSON nested too deeply", b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
        unreadable("a million cells", b'{"cells": [' + b"{}," * 999_999 + b'{}], "nbformat": 4}'),
        unreadable("a PDF", b"%PDF-1.7\n", "lab.pdf"),
        Entry("an empty folder", lambda ground: {"timestamp.txt": b"2026-11-30 12:00:00 UTC"}, NOTHING, UNREADABLE),
        Entry(
            "a link to another's notebook",
            lambda ground: {f"{LAB}.ipynb": Link(ground.course / "source" / LAB / f"{LAB}.ipynb")},
            NOTHING,
            UNREADABLE,
        ),
    ]


def _formats() -> list[Entry]:
    return [
        Entry("format 3", lambda ground: handed_in(_format_3())),
        changed("a kernel of another language", _kernel("ir", "R")),
        changed("a kernel that is not there", _kernel("my-own-env", "python")),
        Entry("in UTF-16", lambda ground: handed_in(json.dumps(solved()).encode("utf-16"))),
        Entry("with a byte order mark", lambda ground: handed_in(b"\xef\xbb\xbf" + packed(solved()))),
        Entry("cut off in the last cell", lambda ground: handed_in(_cut_off())),
        Entry("a comma too many", lambda ground: handed_in(packed(solved()).replace(b"\n ],", b",\n ],", 1))),
        Entry("a script instead of a notebook", lambda ground: {f"{LAB}.py": _script()}),
        Entry("another name", lambda ground: {"Lab 99 (final) (2).ipynb": packed(solved())}),
        Entry("no ending", lambda ground: {f"{LAB}.ipynb.txt": packed(solved())}),
    ]


def _archives() -> list[Entry]:
    return [
        Entry("an honest zip", lambda ground: {"lab.zip": _zip({f"{LAB}.ipynb": packed(solved())})}),
        Entry(
            "a zip that bombs", lambda ground: {"lab.zip": _zip({f"{LAB}.ipynb": bytes(2**28)})}, NOTHING, UNREADABLE
        ),
        Entry("a zip of zips that bomb", _matryoshka, NOTHING, UNREADABLE),
        Entry("a zip that climbs", _climbing, NOTHING, UNREADABLE),
        Entry("a zip of a link", _zipped_link, NOTHING, UNREADABLE),
        Entry("a tar with a device, a link and an absolute path", _tar, NOTHING, UNREADABLE),
        Entry("gzip that bombs", lambda ground: {"lab.tar.gz": gzip.compress(bytes(2**28), 9)}, NOTHING, UNREADABLE),
        Entry("a zip that is none", lambda ground: {"lab.zip": b"PK\x03\x04 and nothing more"}, NOTHING, UNREADABLE),
    ]


def _names() -> list[Entry]:
    names = [
        "Smith, Jr",
        'O"Neil; "Al"',
        '=HYPERLINK("http:⁄⁄x","y")',
        "+1-2",
        "@SUM(A1)",
        "-- drop table grade",
        "naïve 名字",
    ]
    whole: Callable[[Ground], Files] = lambda ground: handed_in(solved())  # noqa: E731
    return [Entry(f"the name {name}", whole, student=name) for name in names]


def _kernel(name: str, language: str) -> Callable[[Notebook], None]:
    def change(notebook: Notebook) -> None:
        notebook["metadata"]["kernelspec"] = {"name": name, "display_name": name, "language": language}
        notebook["metadata"]["language_info"] = {"name": language}

    return change


def _format_3() -> bytes:
    cells = []
    for cell in solved()["cells"]:
        if cell["cell_type"] == "code":
            code = {"input": text_of(cell), "language": "python", "outputs": [], "prompt_number": 1, "collapsed": False}
            cells.append({"cell_type": "code", "metadata": {}} | code)
        else:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": text_of(cell)})
    sheets = [{"cells": cells, "metadata": {}}]
    return json.dumps({"worksheets": sheets, "metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0}).encode()


def _cut_off() -> bytes:
    """Everything up to the middle of the last check line, which the lab has itself."""
    whole = packed(solved())
    return whole[: whole.rindex(b"check.follow") + 6]


def _script() -> bytes:
    cells = solved()["cells"]
    parts = [f"# In[{n}]:\n\n\n{text_of(cell)}" for n, cell in enumerate(cells) if cell["cell_type"] == "code"]
    return ("#!/usr/bin/env python\n# coding: utf-8\n\n" + "\n\n\n".join(parts) + "\n").encode()


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed_:
        for name, content in members.items():
            packed_.writestr(name, content)
    return out.getvalue()


def _matryoshka(ground: Ground) -> Files:
    content = bytes(2**26)
    for level in range(6):
        content = _zip({f"{level}-{copy}.zip": content for copy in range(4)} if level else {f"{LAB}.ipynb": content})
    return {"lab.zip": content}


def _climbing(ground: Ground) -> Files:
    ways = [
        "../../../gradebook.db",
        str(ground.outside / "climbed.ipynb"),
        "..\\..\\climbed.ipynb",
        "C:\\climbed.ipynb",
    ]
    return {"lab.zip": _zip({way: packed(solved()) for way in ways})}


def _zipped_link(ground: Ground) -> Files:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo(f"{LAB}.ipynb")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, str(ground.course / "source" / LAB / f"{LAB}.ipynb"))
    return {"lab.zip": out.getvalue()}


def _tar(ground: Ground) -> Files:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind, target in (
            ("a.ipynb", tarfile.SYMTYPE, str(ground.course / "gradebook.db")),
            ("b.ipynb", tarfile.CHRTYPE, ""),
            (str(ground.outside / "c.ipynb"), tarfile.REGTYPE, ""),
            ("../../d.ipynb", tarfile.REGTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return {"lab.tar": out.getvalue()}
